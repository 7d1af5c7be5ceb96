package lakebed.commands;

import java.util.HashSet;
import java.util.Map;
import lakebed.bridge.Bridge;
import lakebed.bridge.Internals;
import lakebed.parser.Scripts;
import lakebed.tables.DeltaTable;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.plans.logical.CompoundBody;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.execution.datasources.CreateTable;
import scala.Option;
import scala.Product;
import scala.collection.immutable.Seq;

/** Plans that create tables, and do not say that these are Delta tables. */
public final class Creates {
  private Creates() {}

  /** A path such as delta.`/data/orders` says the format by itself. */
  public static LogicalPlan withProvider(LogicalPlan plan) {
    if (plan instanceof CompoundBody) {
      return Scripts.withProviders(plan);
    }
    int spec = plan.productArity() == 0 ? -1 : Internals.place(plan, "tableSpec");
    if (spec < 0 || !(plan.productElement(0) instanceof UnresolvedIdentifier)) {
      return plan;
    }
    Seq parts = ((UnresolvedIdentifier) plan.productElement(0)).nameParts();
    boolean isPath = parts.length() == 2
        && "delta".equalsIgnoreCase((String) parts.head())
        && ((String) parts.last()).contains("/");
    Product given = (Product) plan.productElement(spec);
    int provider = Internals.place(given, "provider");
    if (!isPath || provider < 0 || ((Option) given.productElement(provider)).isDefined()) {
      return plan;
    }
    return (LogicalPlan) Internals.with(
        plan, "tableSpec", Internals.with(given, "provider", Option.apply("delta")));
  }

  /** With more properties for the new Delta table; null if it is not one. */
  public static LogicalPlan withProperties(
      LogicalPlan given, Map properties, SparkSession session) {
    LogicalPlan plan = withProvider(given);
    int spec = plan.productArity() == 0 ? -1 : Internals.place(plan, "tableSpec");
    if (spec < 0) {
      return null;
    }
    Product made = (Product) plan.productElement(spec);
    Option provider = (Option) made.productElement(Internals.place(made, "provider"));
    Object format = provider.isDefined()
        ? provider.get()
        : session.sessionState().conf().defaultDataSourceName();
    if (!"delta".equalsIgnoreCase((String) format)) {
      return null;
    }
    Object old = Internals.get(made, "properties", null);
    Map all = Bridge.java((scala.collection.Map) old);
    all.putAll(properties);
    return (LogicalPlan) Internals.with(
        plan, "tableSpec", Internals.with(made, "properties", Internals.map(all)));
  }

  /**
   * `df.write.mode("append").saveAsTable(name)` without a format means the table that is there.
   * Null for all other plans.
   */
  static LogicalPlan appended(SparkSession session, LogicalPlan plan) {
    if (!(plan instanceof CreateTable)) {
      return null;
    }
    CreateTable found = (CreateTable) plan;
    Object provider = found.tableDesc().provider().isDefined()
        ? found.tableDesc().provider().get()
        : null;
    String usual = session.sessionState().conf().defaultDataSourceName();
    boolean isAppend = found.mode() == SaveMode.Append && found.query().isDefined();
    if (!isAppend || !usual.equals(provider)) {
      return null;
    }
    TableIdentifier name = found.tableDesc().identifier();
    String database = name.database().isDefined()
        ? (String) name.database().get()
        : session.sessionState().catalog().getCurrentDatabase();
    try {
      TableCatalog catalog =
          (TableCatalog) session.sessionState().catalogManager().catalog("spark_catalog");
      Identifier ident = Identifier.of(new String[] {database}, name.table());
      Table table = catalog.loadTable(ident, new HashSet());
      return table instanceof DeltaTable
          ? ResolveCommands.append(session, (DeltaTable) table, (LogicalPlan) found.query().get())
          : null;
    } catch (NoSuchTableException error) {
      return null;
    }
  }
}
