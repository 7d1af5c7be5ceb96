package lakebed.commands;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lakebed.bridge.Bridge;
import lakebed.bridge.Internals;
import lakebed.errors.Errors;
import lakebed.tables.DeltaCatalogBase;
import lakebed.tables.DeltaTable;
import lakebed.tables.StagedDeltaTable;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.analysis.UnresolvedPartitionSpec;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogUtils$;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.ShowColumns;
import org.apache.spark.sql.catalyst.plans.logical.ShowCreateTable;
import org.apache.spark.sql.catalyst.plans.logical.ShowPartitions;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.UnsetTableProperties;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.execution.command.CreateTableLikeCommand;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * What changes a Delta table becomes a command that Python runs, with the parts of the statement as
 * Datasets and Columns.
 */
public class ResolveCommands extends Rule {
  private static final StructType NO_ROWS = new StructType();

  private final SparkSession session;

  public ResolveCommands(SparkSession session) {
    this.session = session;
  }

  public TreeNode apply(TreeNode plan) {
    if (plan instanceof Union) {
      return inserts((Union) plan);
    }
    TreeNode found = rowChange(plan);
    found = found == null ? write(plan) : found;
    found = found == null ? definition((LogicalPlan) plan) : found;
    return found == null ? plan : found;
  }

  // --- rows ---

  private LogicalPlan rowChange(TreeNode plan) {
    if (plan instanceof DeleteFromTable) {
      LogicalPlan target = ((DeleteFromTable) plan).table();
      DeltaTable table = table(target);
      return table == null ? null : new RowChanges(session, table, target).delete(
          (DeleteFromTable) plan);
    }
    if (plan instanceof UpdateTable) {
      LogicalPlan target = ((UpdateTable) plan).table();
      DeltaTable table = table(target);
      return table == null ? null : new RowChanges(session, table, target).update(
          (UpdateTable) plan);
    }
    if (plan instanceof MergeIntoTable) {
      LogicalPlan target = ((MergeIntoTable) plan).targetTable();
      DeltaTable table = table(target);
      return table == null ? null : new RowChanges(session, table, target).merge(
          (MergeIntoTable) plan);
    }
    return null;
  }

  static DeltaTable table(LogicalPlan plan) {
    DataSourceV2Relation relation = relation(plan);
    Object found = relation == null ? null : relation.table();
    return found instanceof DeltaTable && !(found instanceof StagedDeltaTable)
        ? (DeltaTable) found
        : null;
  }

  /** What a statement changes, below its alias and below what pads CHAR columns; or null. */
  static DataSourceV2Relation relation(LogicalPlan plan) {
    while (plan instanceof SubqueryAlias || padsColumns(plan)) {
      plan = (LogicalPlan) plan.children().head();
    }
    return plan instanceof DataSourceV2Relation ? (DataSourceV2Relation) plan : null;
  }

  /** Whether this is the projection that Spark puts over tables with CHAR columns. */
  private static boolean padsColumns(LogicalPlan plan) {
    if (!(plan instanceof Project)
        || !(((Project) plan).child() instanceof DataSourceV2Relation)) {
      return false;
    }
    Seq columns = ((Project) plan).projectList();
    for (int i = 0; i < columns.length(); i++) {
      Object column = columns.apply(i);
      boolean isPadded = column instanceof Alias
          && ((Alias) column).child() instanceof StaticInvoke
          && ((StaticInvoke) ((Alias) column).child()).functionName().equals("readSidePadding");
      if (!(column instanceof Attribute) && !isPadded) {
        return false;
      }
    }
    return true;
  }

  // --- writes ---

  /** FROM ... INSERT ... INSERT ...: a union of writes, which see one version of the source. */
  private LogicalPlan inserts(Union plan) {
    int others = 0;
    List requests = new ArrayList();
    List given = new ArrayList();
    for (int i = 0; i < plan.children().length(); i++) {
      LogicalPlan made = write((LogicalPlan) plan.children().apply(i));
      if (made == null) {
        if (!((LogicalPlan) plan.children().apply(i)).resolved()) {
          return plan;
        }
        others++;
        continue;
      }
      requests.add(((DeltaCommand) made).request());
      given.add(((DeltaCommand) made).given());
    }
    if (requests.isEmpty()) {
      return plan;
    }
    if (others > 0) {
      throw Errors.analysis(
          "UNSUPPORTED_FEATURE",
          "one statement inserts either into Delta tables alone,"
              + " or into none");
    }
    Map request = Bridge.map(new Object[] {"inserts", requests});
    return DeltaCommand.of(session, "insert_many", request, given, NO_ROWS);
  }

  private LogicalPlan write(TreeNode plan) {
    if (plan instanceof AppendData) {
      AppendData found = (AppendData) plan;
      return write(plan, found.query(), found.writeOptions(), found.isByName(), "append", null);
    }
    if (plan instanceof OverwriteByExpression) {
      OverwriteByExpression found = (OverwriteByExpression) plan;
      Expression replaced = found.deleteExpr();
      return write(
          plan, found.query(), found.writeOptions(), found.isByName(), "overwrite", replaced);
    }
    if (plan instanceof OverwritePartitionsDynamic) {
      OverwritePartitionsDynamic found = (OverwritePartitionsDynamic) plan;
      return write(plan, found.query(), found.writeOptions(), found.isByName(), "dynamic", null);
    }
    return null;
  }

  /** Rows whose columns go by name. */
  static LogicalPlan append(SparkSession session, DeltaTable table, LogicalPlan query) {
    Map request = table.request();
    request.put("mode", "append");
    request.put("by_name", Boolean.TRUE);
    request.put("evolves", Boolean.FALSE);
    request.put("is_sql", Boolean.FALSE);
    List given = new ArrayList();
    given.add(Dataset$.MODULE$.ofRows(session, query));
    given.add(null);
    return DeltaCommand.of(session, "insert", request, given, NO_ROWS);
  }

  private LogicalPlan write(
      TreeNode plan,
      LogicalPlan query,
      scala.collection.immutable.Map options,
      boolean isByName,
      String mode,
      Expression replaced) {
    // Janino finds two getters of that name.
    LogicalPlan relation = (LogicalPlan) Internals.get(plan, "table", null);
    DeltaTable table = table(relation);
    if (table == null || !query.resolved()) {
      return null;
    }
    Map request = table.request();
    Map all = new LinkedHashMap(table.options);
    all.putAll(Bridge.java(options));
    request.put("options", all);
    request.put("mode", mode);
    request.put("by_name", Boolean.valueOf(isByName));
    request.put("evolves", Internals.get(plan, "withSchemaEvolution", Boolean.FALSE));
    Map clauses = Inserts.clauses(relation);
    request.put("clauses", clauses);
    request.put("is_sql", Boolean.valueOf(
        plan.origin().sqlText().isDefined() || clauses.containsKey("sql")));
    List given = new ArrayList();
    given.add(Dataset$.MODULE$.ofRows(session, query));
    given.add(replaced == null ? null : new Names(relation, null, null, null).column(replaced));
    return DeltaCommand.of(session, "insert", request, given, NO_ROWS);
  }

  // --- definitions ---

  private LogicalPlan definition(LogicalPlan plan) {
    if (plan instanceof ShowColumns) {
      DeltaTable table = resolved(((ShowColumns) plan).child());
      return table == null
          ? null
          : new DeltaCommand(session, "show_columns", table.request(), null, plan.output());
    }
    if (plan instanceof ShowCreateTable) {
      DeltaTable table = resolved(((ShowCreateTable) plan).child());
      if (table == null) {
        return null;
      }
      Map request = table.request();
      request.put("parts", parts(((ShowCreateTable) plan).child()));
      return new DeltaCommand(session, "show_create", request, null, plan.output());
    }
    if (plan instanceof ShowPartitions) {
      DeltaTable table = resolved(((ShowPartitions) plan).table());
      return table == null ? null : showPartitions(table, ((ShowPartitions) plan).pattern());
    }
    if (plan instanceof CreateTableLikeCommand) {
      return createLike((CreateTableLikeCommand) plan);
    }
    if (plan instanceof UnsetTableProperties) {
      return unset((UnsetTableProperties) plan);
    }
    if (ResolveReads.addsCheck(plan)) {
      return addCheck(plan);
    }
    if (plan.getClass().getSimpleName().equals("CreateTableLike")) {
      return createLikeOfNewerSpark(plan);
    }
    return null;
  }

  /** Spark would not say that a property is not there. */
  private LogicalPlan unset(UnsetTableProperties plan) {
    DeltaTable table = resolved(plan.table());
    if (table == null) {
      return null;
    }
    Map request = table.request();
    request.put("keys", Internals.list(plan.propertyKeys()));
    request.put("if_exists", Boolean.valueOf(plan.ifExists()));
    return DeltaCommand.of(session, "unset_properties", request, null, NO_ROWS);
  }

  /** A column for each partition column. */
  private LogicalPlan showPartitions(DeltaTable table, Option given) {
    StructType schema = table.storedSchema();
    StructType rows = new StructType();
    List columns = table.partitionColumns();
    for (int i = 0; i < columns.size(); i++) {
      rows = rows.add(schema.apply((String) columns.get(i)));
    }
    Map values = new LinkedHashMap();
    if (given.isDefined()) {
      values.putAll(Bridge.java(((UnresolvedPartitionSpec) given.get()).spec()));
    }
    Map request = table.request();
    request.put("columns", columns);
    request.put("values", values);
    return DeltaCommand.of(session, "show_partitions", request, null, rows);
  }

  private static DeltaTable resolved(LogicalPlan child) {
    if (!(child instanceof ResolvedTable)) {
      return null;
    }
    Object table = ((ResolvedTable) child).table();
    return table instanceof DeltaTable ? (DeltaTable) table : null;
  }

  /** From 4.1 on Spark parses it, and would check the rows with a scan of its own. */
  private LogicalPlan addCheck(LogicalPlan plan) {
    LogicalPlan child = (LogicalPlan) plan.children().head();
    while (!child.children().isEmpty()) {
      child = (LogicalPlan) child.children().head();
    }
    DeltaTable table = table(child);
    if (table == null) {
      return null;
    }
    Object check = plan.productElement(1);
    Map request = table.request();
    request.put("constraint", Internals.get(check, "name", null));
    request.put("condition", Internals.get(check, "condition", null));
    return DeltaCommand.of(session, "add_check", request, null, NO_ROWS);
  }

  private LogicalPlan createLike(CreateTableLikeCommand plan) {
    TableIdentifier source = plan.sourceTable();
    boolean isDelta = plan.provider().isDefined()
        ? "delta".equalsIgnoreCase((String) plan.provider().get())
        : isDelta(source);
    if (!isDelta) {
      return null;
    }
    Object location = plan.fileFormat().locationUri().isDefined()
        ? plan.fileFormat().locationUri().get().toString()
        : null;
    return createLike(
        parts(plan.targetTable()),
        parts(source),
        location,
        plan.properties(),
        Boolean.valueOf(plan.ifNotExists()));
  }

  private LogicalPlan createLike(
      List target,
      List source,
      Object location,
      scala.collection.immutable.Map properties,
      Object ifNotExists) {
    Map request = Bridge.map(new Object[] {
        "parts", target,
        "source", source,
        "location", location,
        "properties", Bridge.java(properties),
        "if_not_exists", ifNotExists});
    return DeltaCommand.of(session, "create_like", request, null, NO_ROWS);
  }

  /** A plan of 4.2 and newer: names, location, provider, storage, properties, IF NOT EXISTS. */
  private LogicalPlan createLikeOfNewerSpark(LogicalPlan plan) {
    if (!(plan.productElement(0) instanceof ResolvedIdentifier)) {
      return null;
    }
    LogicalPlan source = (LogicalPlan) plan.productElement(1);
    Option provider = (Option) plan.productElement(3);
    boolean isDelta = provider.isDefined()
        ? "delta".equalsIgnoreCase((String) provider.get())
        : resolved(source) != null;
    List names = parts(source);
    if (names == null || (!isDelta && resolved(source) == null)) {
      return null;
    }
    Option location = (Option) plan.productElement(2);
    List target =
        DeltaCatalogBase.parts(((ResolvedIdentifier) plan.productElement(0)).identifier());
    if (!isDelta) {
      return otherFormat(plan, target, names, location, provider);
    }
    return createLike(
        target,
        names,
        location.isDefined() ? location.get() : null,
        (scala.collection.immutable.Map) plan.productElement(5),
        plan.productElement(6));
  }

  /** The command of Spark's session catalog, which knows the columns of Delta tables. */
  private static LogicalPlan otherFormat(
      LogicalPlan plan, List target, List source, Option location, Option provider) {
    CatalogStorageFormat empty = CatalogStorageFormat.empty();
    Option uri = location.isDefined()
        ? Option.apply(CatalogUtils$.MODULE$.stringToURI((String) location.get()))
        : Option.empty();
    return new CreateTableLikeCommand(
        identifier(target),
        identifier(source),
        (CatalogStorageFormat) Internals.with(empty, "locationUri", uri),
        provider,
        (scala.collection.immutable.Map) plan.productElement(5),
        ((Boolean) plan.productElement(6)).booleanValue());
  }

  private static TableIdentifier identifier(List parts) {
    Object name = parts.get(parts.size() - 1);
    return parts.size() > 1
        ? new TableIdentifier(
            (String) name, (Option) Option.apply((Object) parts.get(parts.size() - 2)))
        : new TableIdentifier((String) name);
  }

  /** Of a table or view; null for what is neither. */
  private static List parts(LogicalPlan plan) {
    Object name = Internals.get(plan, "identifier", null);
    return name instanceof Identifier ? DeltaCatalogBase.parts((Identifier) name) : null;
  }

  private boolean isDelta(TableIdentifier name) {
    if (session.sessionState().catalog().isTempView(name)
        || !session.sessionState().catalog().tableExists(name)) {
      return false;
    }
    try {
      CatalogTable entry = session.sessionState().catalog().getTableMetadata(name);
      return entry.provider().isDefined()
          && "delta".equalsIgnoreCase((String) entry.provider().get());
    } catch (NoSuchNamespaceException error) {
      return false;
    } catch (NoSuchTableException error) {
      return false;
    }
  }

  private static List parts(TableIdentifier name) {
    return name.database().isDefined()
        ? Arrays.asList(new Object[] {name.database().get(), name.table()})
        : Arrays.asList(new Object[] {name.table()});
  }
}
