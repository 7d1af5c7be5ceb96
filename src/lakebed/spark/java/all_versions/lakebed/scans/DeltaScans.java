package lakebed.scans;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.QueryPlanningTracker$;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.datasources.DataSource$;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * A rule of Spark's optimizer that gives each scan of a Delta table the version that it reads.
 *
 * An analyzed plan has the table (`TableFiles`), an optimized plan the files of one version
 * (`DeltaFiles`), and a filter on deleted rows where that version has any. All scans of a table in
 * one query, in subqueries too, read the same version: Spark's tracker of the query tells what
 * belongs together.
 *
 * Spark's own Janino compiles this in the driver; Janino knows no lambdas and erases generics.
 */
public class DeltaScans extends Rule {
  private static final String SOURCE = "lakebed";
  public static final String FOLLOWS = "lakebed.follows";
  private static final String COPIED = "lakebed.copied";

  private final Map queries = Collections.synchronizedMap(new WeakHashMap());

  /** Once for the extensions of a session, which the sessions derived from it share. */
  public void install(SparkSession session) {
    SparkSessionExtensions extensions = session.extensions();
    List known = CollectionConverters.asJava(extensions.buildOptimizerRules(session));
    for (int i = 0; i < known.size(); i++) {
      if (known.get(i) instanceof DeltaScans) {
        return;
      }
    }
    final DeltaScans rule = this;
    extensions.injectOptimizerRule(new AbstractFunction1() {
      public Object apply(Object each) {
        return rule;
      }
    });
  }

  // --- the rule ---

  public TreeNode apply(TreeNode plan) {
    if (!contains((LogicalPlan) plan)) {
      return plan;
    }
    return ((LogicalPlan) plan).transformUpWithSubqueries(new Reading(versions()));
  }

  /** The versions that the query of this thread reads. */
  private Map versions() {
    Option tracker = QueryPlanningTracker$.MODULE$.get();
    if (tracker.isEmpty()) {
      return new HashMap();
    }
    synchronized (queries) {
      Map found = (Map) queries.get(tracker.get());
      if (found == null) {
        found = Collections.synchronizedMap(new HashMap());
        queries.put(tracker.get(), found);
      }
      return found;
    }
  }

  private static boolean contains(LogicalPlan plan) {
    if (plan instanceof LogicalRelation) {
      return table(plan) != null;
    }
    if (plan instanceof DataSourceV2Relation) {
      return isUnread(plan);
    }
    return anyContains(plan.children()) || anyContains(plan.subqueries());
  }

  private static boolean anyContains(Seq plans) {
    for (int i = 0; i < plans.length(); i++) {
      if (contains((LogicalPlan) plans.apply(i))) {
        return true;
      }
    }
    return false;
  }

  /** The index of a relation whose version is not decided yet; null for all other plans. */
  private static TableFiles table(Object plan) {
    if (!(plan instanceof LogicalRelation)
        || !(((LogicalRelation) plan).relation() instanceof HadoopFsRelation)) {
      return null;
    }
    Object location = ((HadoopFsRelation) ((LogicalRelation) plan).relation()).location();
    return location instanceof TableFiles ? (TableFiles) location : null;
  }

  /** Whether a relation is asked for ids of rows. */
  private static boolean isTracked(Object plan) {
    List columns = CollectionConverters.asJava(((LogicalRelation) plan).output());
    for (int i = 0; i < columns.size(); i++) {
      Attribute each = (Attribute) columns.get(i);
      if (each.metadata().contains("__file_source_metadata_col")
          && TrackedParquet.isTracked(each.dataType())) {
        return true;
      }
    }
    return false;
  }

  private static class Reading extends AbstractPartialFunction {
    private final Map versions;

    Reading(Map versions) {
      this.versions = versions;
    }

    public boolean isDefinedAt(Object plan) {
      return table(plan) != null || isUnread(plan);
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
      TableFiles table = table(plan);
      if (table != null) {
        return scan((LogicalRelation) plan, table.files(versions, isTracked(plan)));
      }
      return isUnread(plan) ? readAgain((DataSourceV2Relation) plan) : otherwise.apply(plan);
    }
  }

  // --- workers: Spark keeps the files of a Python data source with the relation ---

  /** A relation of workers that follows its table, and that this query has not copied yet. */
  private static boolean isUnread(Object plan) {
    if (!(plan instanceof DataSourceV2Relation)) {
      return false;
    }
    CaseInsensitiveStringMap options = ((DataSourceV2Relation) plan).options();
    return options.containsKey(FOLLOWS) && !options.containsKey(COPIED);
  }

  /** A copy whose source plans the scan for this query. */
  @SuppressWarnings("deprecation")
  private static LogicalPlan readAgain(DataSourceV2Relation relation) {
    Map options = new HashMap(relation.options().asCaseSensitiveMap());
    options.put(COPIED, "true");
    CaseInsensitiveStringMap given = new CaseInsensitiveStringMap(options);
    TableProvider provider = (TableProvider) DataSource$.MODULE$
        .lookupDataSourceV2(SOURCE, SQLConf$.MODULE$.get())
        .get();
    Object[] arguments = new Object[relation.productArity()];
    for (int i = 0; i < arguments.length; i++) {
      Object each = relation.productElement(i);
      arguments[i] = each instanceof CaseInsensitiveStringMap ? given : each;
    }
    arguments[0] = provider.getTable(relation.table().schema(), new Transform[0], options);
    return (LogicalPlan) relation.makeCopy(arguments);
  }

  // --- scans ---

  /** The rows of these files, with the columns of the relation. */
  private static LogicalPlan scan(LogicalRelation relation, DeltaFiles files) {
    HadoopFsRelation source = (HadoopFsRelation) relation.relation();
    if (files.kept() == null && files.rowIds() == null) {
      HadoopFsRelation chosen = over(source, files, source.dataSchema(), source.partitionSchema());
      return copy(relation, chosen, relation.output());
    }
    return computed(relation, source, files);
  }

  /** Without deleted rows, and with what is computed of `_metadata`. */
  private static LogicalPlan computed(
      LogicalRelation relation, HadoopFsRelation source, DeltaFiles files) {
    RowIds ids = files.rowIds();
    StructField index = files.kept() == null ? ids.rowIndex() : files.hidden()[0];
    StructType data = source.dataSchema().add(index);
    StructType partitions = source.partitionSchema();
    Attribute rowIndex = attribute(index);
    List added = new ArrayList();
    added.add(rowIndex);
    if (files.kept() != null) {
      partitions = partitions.add(files.hidden()[1]);
      added.add(attribute(files.hidden()[1]));
    }
    if (ids != null) {
      data = with(data, ids.stored(), added);
      partitions = with(partitions, ids.ofFiles(), added);
    }
    HadoopFsRelation chosen = over(source, files, data, partitions);
    SparkSession session = (SparkSession) source.sparkSession();
    List read = new ArrayList();
    List shown = new ArrayList();
    List given = CollectionConverters.asJava(relation.output());
    for (int i = 0; i < given.size(); i++) {
      Attribute column = (Attribute) given.get(i);
      boolean isMetadata = column.metadata().contains("__file_source_metadata_col");
      Attribute below = isMetadata ? asStored(column) : column;
      if (!isMetadata || ((StructType) below.dataType()).length() > 0) {
        read.add(below);
      }
      shown.add(
          isMetadata ? (Object) metadata(session, column, below, rowIndex, ids) : column);
    }
    read.addAll(added);
    LogicalPlan rows = copy(relation, chosen, seq(read));
    LogicalPlan kept = files.kept() == null
        ? rows
        : new Filter(session.expression(files.kept()), rows);
    LogicalPlan columns = new Project(seq(shown), kept);
    LogicalPlan resolved = (LogicalPlan) session.sessionState().analyzer().execute(columns);
    // Spark has done this to the rest of the plan already, before it comes to this rule.
    return (LogicalPlan) ReplaceExpressions$.MODULE$.apply(resolved);
  }

  private static StructType with(StructType schema, StructField[] fields, List attributes) {
    for (int i = 0; i < fields.length; i++) {
      schema = schema.add(fields[i]);
      attributes.add(attribute(fields[i]));
    }
    return schema;
  }

  /** Spark reads no row index as a part of `_metadata` where it is a column of its own. */
  private static Attribute asStored(Attribute column) {
    StructField[] fields = ((StructType) column.dataType()).fields();
    List others = new ArrayList();
    for (int i = 0; i < fields.length; i++) {
      if (!isComputed(fields[i].name())) {
        others.add(fields[i]);
      }
    }
    StructField[] kept = (StructField[]) others.toArray(new StructField[others.size()]);
    return column.withDataType(new StructType(kept)).newInstance();
  }

  private static boolean isComputed(String name) {
    return name.equals("row_index") || Arrays.asList(TrackedParquet.FIELDS).contains(name);
  }

  private static Expression metadata(
      SparkSession session, Attribute column, Attribute read, Attribute rowIndex, RowIds ids) {
    StructField[] fields = ((StructType) column.dataType()).fields();
    List parts = new ArrayList();
    int place = 0;
    for (int i = 0; i < fields.length; i++) {
      String name = fields[i].name();
      parts.add(Literal$.MODULE$.apply(name));
      if (name.equals("row_index")) {
        parts.add(rowIndex);
      } else if (isComputed(name)) {
        parts.add(session.expression(ids.value(name)));
      } else {
        parts.add(new GetStructField(read, place++, Option.apply(name)));
      }
    }
    return new Alias(
        new CreateNamedStruct(seq(parts)),
        column.name(),
        column.exprId(),
        column.qualifier(),
        Option.apply(column.metadata()),
        seq(new ArrayList()));
  }

  private static Attribute attribute(StructField field) {
    return new AttributeReference(
        field.name(),
        field.dataType(),
        field.nullable(),
        field.metadata(),
        NamedExpression$.MODULE$.newExprId(),
        seq(new ArrayList()));
  }

  private static HadoopFsRelation over(
      HadoopFsRelation source, Object files, StructType data, StructType partitions) {
    return new HadoopFsRelation(
        (org.apache.spark.sql.execution.datasources.FileIndex) files,
        partitions,
        data,
        source.bucketSpec(),
        files instanceof DeltaFiles && source.fileFormat() instanceof TrackedParquet
            ? new ParquetFileFormat()
            : source.fileFormat(),
        source.options(),
        (SparkSession) source.sparkSession());
  }

  /** The constructor has more arguments in newer versions of Spark. */
  private static LogicalRelation copy(LogicalRelation plan, HadoopFsRelation relation, Seq output) {
    Object[] arguments = new Object[plan.productArity()];
    for (int i = 0; i < arguments.length; i++) {
      arguments[i] = plan.productElement(i);
    }
    arguments[0] = relation;
    arguments[1] = output;
    return (LogicalRelation) plan.makeCopy(arguments);
  }

  private static Seq seq(List values) {
    return CollectionConverters.asScala(values).toSeq();
  }

  // --- commands: a DataFrame that is read more than once must give the same rows each time ---

  /** The indexes in the plan of a DataFrame that follow their tables, each once. */
  public Object[] following(Dataset frame) {
    Following found = new Following();
    ((LogicalPlan) frame.queryExecution().analyzed()).transformUpWithSubqueries(found);
    return found.tables.keySet().toArray();
  }

  /** The DataFrame with other indexes in their place. */
  public Dataset replaced(SparkSession session, Dataset frame, List tables, List replacements) {
    Map pairs = new IdentityHashMap();
    for (int i = 0; i < tables.size(); i++) {
      pairs.put(tables.get(i), replacements.get(i));
    }
    LogicalPlan plan = (LogicalPlan) frame.queryExecution().analyzed();
    return Dataset.ofRows(
        session, (LogicalPlan) plan.transformUpWithSubqueries(new Replacing(pairs)));
  }

  private static class Following extends AbstractPartialFunction {
    final Map tables = new IdentityHashMap();

    public boolean isDefinedAt(Object plan) {
      TableFiles table = table(plan);
      if (table != null && table.follows()) {
        tables.put(table, Boolean.TRUE);
      }
      return false;
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
      isDefinedAt(plan);
      return otherwise.apply(plan);
    }
  }

  private static class Replacing extends AbstractPartialFunction {
    private final Map pairs;

    Replacing(Map pairs) {
      this.pairs = pairs;
    }

    public boolean isDefinedAt(Object plan) {
      return table(plan) != null && pairs.containsKey(table(plan));
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
      if (!isDefinedAt(plan)) {
        return otherwise.apply(plan);
      }
      LogicalRelation relation = (LogicalRelation) plan;
      HadoopFsRelation source = (HadoopFsRelation) relation.relation();
      Object files = pairs.get(table(plan));
      return copy(
          relation,
          over(source, files, source.dataSchema(), source.partitionSchema()),
          relation.output());
    }
  }

  // --- caches ---

  /** Cached data of the table in a folder is computed again when it is next read. */
  public void recache(SparkSession session, String root) {
    if (!session.sharedState().cacheManager().isEmpty()) {
      session.sharedState().cacheManager().recacheByPath(session, root);
    }
  }
}
