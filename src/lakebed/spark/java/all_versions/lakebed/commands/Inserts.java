package lakebed.commands;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lakebed.bridge.Bridge;
import lakebed.bridge.Internals;
import lakebed.errors.Errors;
import lakebed.tables.DeltaTable;
import org.apache.spark.sql.catalyst.AliasIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.DeleteAction;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.Product;
import scala.collection.immutable.Seq;

/**
 * INSERT statements that Spark parses, but does not run on tables of sources: with IF NOT EXISTS,
 * REPLACE USING, REPLACE ON or DEFAULT. What Spark does not know of goes into the options of the
 * relation, which stay with it. REPLACE ON compares two tables, and goes the way of MERGE.
 */
public final class Inserts {
  private static final String PREFIX = "__lakebed_";
  private static final String IF_NOT_EXISTS = PREFIX + "if_not_exists";
  private static final String REPLACE_USING = PREFIX + "replace_using";
  private static final String REPLACE_ON = PREFIX + "replace_on";
  public static final String EVOLVES = PREFIX + "evolves";
  /** An element of the statement from 4.2 on. */
  private static final String CRITERIA = "replaceCriteriaOpt";
  private static final Option NONE = Option.empty();

  private final SparkSession session;
  private final InsertIntoStatement insert;
  private final DeltaTable table;
  private final Map facts = new LinkedHashMap();

  private Inserts(SparkSession session, InsertIntoStatement insert, DeltaTable table) {
    this.session = session;
    this.insert = insert;
    this.table = table;
  }

  /** A parsed statement in which what is about its table waits for that. */
  public static LogicalPlan marked(LogicalPlan plan) {
    if (plan instanceof UnresolvedWith) {
      LogicalPlan child = ((UnresolvedWith) plan).child();
      LogicalPlan made = marked(child);
      return made == child ? plan : (LogicalPlan) Internals.with(plan, "child", made);
    }
    if (plan instanceof Union) {
      List children = Internals.list(plan.children());
      boolean isChanged = false;
      for (int i = 0; i < children.size(); i++) {
        LogicalPlan made = marked((LogicalPlan) children.get(i));
        isChanged |= made != children.set(i, made);
      }
      return isChanged ? (LogicalPlan) plan.withNewChildren(Internals.seq(children)) : plan;
    }
    return plan instanceof InsertIntoStatement
        ? hidden(Defaults.marked((InsertIntoStatement) plan))
        : plan;
  }

  /** From 4.2 on Spark parses REPLACE ON, and would look for its columns in the query alone. */
  private static InsertIntoStatement hidden(InsertIntoStatement insert) {
    Object criteria = value(Internals.get(insert, CRITERIA, NONE));
    if (criteria == null || !isA(criteria, "InsertReplaceOn")) {
      return insert;
    }
    Product on = (Product) criteria;
    Map facts = Bridge.map(new Object[] {"alias", value(on.productElement(1))});
    facts.put(CRITERIA, criteria);
    LogicalPlan rows =
        ReplacedRows.of(insert.query(), facts, (Expression) on.productElement(0));
    return with(insert, CRITERIA, NONE, rows);
  }

  /** The same for Spark, where it is not about a Delta table. */
  private static LogicalPlan shown(InsertIntoStatement insert) {
    ReplacedRows rows = replaced(insert.query());
    Object criteria = rows == null ? null : rows.facts().get(CRITERIA);
    return criteria == null
        ? insert
        : with(insert, CRITERIA, Option.apply(criteria), withoutFacts(insert.query()));
  }

  /** Null without any. What a WITH before the statement names is around its query by now. */
  private static ReplacedRows replaced(LogicalPlan query) {
    while (query instanceof WithCTE) {
      query = ((WithCTE) query).plan();
    }
    return query instanceof ReplacedRows ? (ReplacedRows) query : null;
  }

  /** The query without its `ReplacedRows`. Its name is outside of what a WITH names. */
  private static LogicalPlan withoutFacts(LogicalPlan query) {
    if (query instanceof ReplacedRows) {
      return ((ReplacedRows) query).query();
    }
    LogicalPlan inner = withoutFacts(((WithCTE) query).plan());
    if (!(inner instanceof SubqueryAlias)) {
      return (LogicalPlan) Internals.with(query, "plan", inner);
    }
    Object unnamed = Internals.with(query, "plan", ((SubqueryAlias) inner).child());
    return (LogicalPlan) Internals.with(inner, "child", unnamed);
  }

  private static boolean isA(Object value, String name) {
    return value.getClass().getSimpleName().equals(name);
  }

  private static InsertIntoStatement with(
      InsertIntoStatement insert, String name, Object value, LogicalPlan query) {
    return (InsertIntoStatement) Internals.with(
        (InsertIntoStatement) Internals.with(insert, name, value), "query", query);
  }

  /** The statement as Spark and `ResolveCommands` run it, once its table is known. */
  static LogicalPlan resolved(SparkSession session, InsertIntoStatement insert) {
    if (!insert.table().resolved()) {
      return insert;
    }
    DeltaTable table = ResolveCommands.table(insert.table());
    if (table == null) {
      return shown(Defaults.withoutMarks(insert));
    }
    InsertIntoStatement filled = new Defaults(session, insert, table).filled();
    Inserts all = new Inserts(session, filled, table);
    if (filled != insert) {
      // SQL alone has the word, and stores nulls in partition columns without a value.
      all.facts.put(PREFIX + "sql", "true");
      LogicalPlan changed = all.withFacts(filled);
      all = new Inserts(session, (InsertIntoStatement) changed, table);
    }
    return all.resolved();
  }

  private LogicalPlan resolved() {
    Object criteria = value(Internals.get(insert, CRITERIA, NONE));
    if (criteria != null && isA(criteria, "InsertReplaceUsing")) {
      List names = Internals.list((Seq) ((Product) criteria).productElement(0));
      return replaceUsing(with(insert, CRITERIA, NONE, insert.query()), names);
    }
    ReplacedRows rows = replaced(insert.query());
    if (rows != null) {
      LogicalPlan query = withoutFacts(insert.query());
      return rows.condition() == null
          ? replaceUsing(with(query), (List) rows.facts().get("using"))
          : replaceOn(rows.condition(), (String) rows.facts().get("alias"), query);
    }
    return insert.ifPartitionNotExists() ? ifNotExists() : insert;
  }

  private static Object value(Object option) {
    return ((Option) option).isDefined() ? ((Option) option).get() : null;
  }

  private InsertIntoStatement with(LogicalPlan query) {
    return (InsertIntoStatement) Internals.with(insert, "query", query);
  }

  private LogicalPlan ifNotExists() {
    if (insert.partitionSpec().size() != table.partitionColumns().size()) {
      throw Errors.syntax("SQL", "IF NOT EXISTS needs a value for each partition column");
    }
    Map values = new LinkedHashMap();
    Map given = Bridge.java(insert.partitionSpec());
    for (Object name : given.keySet()) {
      values.put(name, value(given.get(name)));
    }
    facts.put(IF_NOT_EXISTS, Bridge.json(values));
    return withFacts((InsertIntoStatement) Internals.with(
        insert, "ifPartitionNotExists", Boolean.FALSE));
  }

  private LogicalPlan replaceUsing(InsertIntoStatement statement, List names) {
    facts.put(REPLACE_USING, Bridge.json(names));
    return withFacts((InsertIntoStatement) Internals.with(statement, "overwrite", Boolean.TRUE));
  }

  private LogicalPlan withFacts(InsertIntoStatement statement) {
    return (LogicalPlan) Internals.with(statement, "table", relation(statement.table()));
  }

  private LogicalPlan relation(LogicalPlan target) {
    while (target instanceof SubqueryAlias) {
      target = ((SubqueryAlias) target).child();
    }
    DataSourceV2Relation relation = (DataSourceV2Relation) target;
    return withOptions(relation, relation.options(), facts);
  }

  /** A relation, resolved or not, with more options. */
  public static LogicalPlan withOptions(
      LogicalPlan relation, CaseInsensitiveStringMap old, Map more) {
    Map all = new LinkedHashMap(old.asCaseSensitiveMap());
    all.putAll(more);
    return (LogicalPlan) Internals.with(
        (Product) relation, "options", new CaseInsensitiveStringMap(all));
  }

  /** A MERGE that only says which rows of the table meet one of the query. */
  private LogicalPlan replaceOn(Expression condition, String alias, LogicalPlan query) {
    if (!insert.partitionSpec().isEmpty()) {
      throw Errors.syntax("SQL", "REPLACE ON takes no PARTITION");
    }
    Map rows = Bridge.map(new Object[] {
        "by_name", Boolean.valueOf(insert.byName()),
        "columns", Internals.list(insert.userSpecifiedCols())});
    facts.put(REPLACE_ON, Bridge.json(rows));
    boolean evolves = Boolean.TRUE.equals(
        Internals.get(insert, "withSchemaEvolution", Boolean.FALSE));
    if (evolves) {
      facts.put(EVOLVES, "true");
    }
    LogicalPlan relation = relation(insert.table());
    Seq none = Internals.seq(new ArrayList());
    Seq actions = Internals.seq(Arrays.asList(new Object[] {new DeleteAction(NONE)}));
    return new MergeIntoTable(
        new SubqueryAlias(name((DataSourceV2Relation) relation, alias), relation), query,
        condition, actions, none, none, false);
  }

  /** What a statement says beyond Spark's plan of it. */
  static Map clauses(LogicalPlan target) {
    Map found = new LinkedHashMap();
    Map options = ResolveCommands.relation(target).options().asCaseSensitiveMap();
    for (Object key : options.keySet()) {
      if (((String) key).startsWith(PREFIX)) {
        found.put(((String) key).substring(PREFIX.length()), options.get(key));
      }
    }
    return found;
  }

  private static AliasIdentifier name(DataSourceV2Relation relation, String alias) {
    List qualifier = new ArrayList();
    if (alias != null || relation.identifier().isEmpty()) {
      return new AliasIdentifier(alias, Internals.seq(qualifier));
    }
    if (relation.catalog().isDefined()) {
      qualifier.add(((CatalogPlugin) relation.catalog().get()).name());
    }
    Identifier name = (Identifier) relation.identifier().get();
    qualifier.addAll(Arrays.asList((Object[]) name.namespace()));
    return new AliasIdentifier(name.name(), Internals.seq(qualifier));
  }
}
