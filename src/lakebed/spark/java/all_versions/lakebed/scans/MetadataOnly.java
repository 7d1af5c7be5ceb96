package lakebed.scans;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap$;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * A rule of Spark's optimizer: asks a Delta file index for count, min and max over all its rows.
 *
 * Spark's own Janino compiles this in the driver; Janino knows no lambdas and erases generics. What
 * can be refused without asking Python is refused here: a call of Python takes a millisecond.
 */
public class MetadataOnly extends Rule {
  private static final String HIDDEN = "__lakebed_kept_rows";

  public TreeNode apply(TreeNode plan) {
    LogicalPlan whole = (LogicalPlan) plan;
    if (!contains(whole) || whole.isStreaming() || !isEnabled()) {
      return plan;
    }
    return rewrite(whole);
  }

  private boolean isEnabled() {
    return isOn("spark.lakebed.metadataOnly.enabled")
        && isOn("spark.databricks.delta.optimizeMetadataQuery.enabled")
        // With these a scan leaves out rows that the log counts.
        && !conf().ignoreMissingFiles()
        && !conf().ignoreCorruptFiles();
  }

  private boolean isOn(String setting) {
    return "true".equalsIgnoreCase(conf().getConfString(setting, "true"));
  }

  /** Whether there is an aggregate without grouping over an index of ours. */
  private static boolean contains(LogicalPlan plan) {
    if (plan instanceof Aggregate && new Question((Aggregate) plan).isOurs()) {
      return true;
    }
    List children = CollectionConverters.asJava(plan.children());
    for (int i = 0; i < children.size(); i++) {
      if (contains((LogicalPlan) children.get(i))) {
        return true;
      }
    }
    return false;
  }

  private static LogicalPlan rewrite(LogicalPlan plan) {
    if (plan instanceof Aggregate) {
      Question question = new Question((Aggregate) plan);
      if (question.isOurs()) {
        return question.answered();
      }
    }
    return (LogicalPlan) plan.mapChildren(new AbstractFunction1() {
      public Object apply(Object child) {
        return rewrite((LogicalPlan) child);
      }
    });
  }

  /** An aggregate, what it asks for, and the filters between it and the relation. */
  private static class Question {
    private final Aggregate aggregate;
    private final List functions = new ArrayList();
    private final List columns = new ArrayList();
    private final StringBuilder request = new StringBuilder();
    private final List filters = new ArrayList();
    private HadoopFsRelation relation = null;
    private boolean hidesDeleted = false;

    Question(Aggregate aggregate) {
      this.aggregate = aggregate;
    }

    boolean isOurs() {
      if (!aggregate.groupingExpressions().isEmpty() || aggregate.isStreaming()) {
        return false;
      }
      LogicalPlan bottom = bottom();
      if (bottom == null) {
        return false;
      }
      relation = (HadoopFsRelation) ((LogicalRelation) bottom).relation();
      return collect(aggregate.aggregateExpressions())
          && !functions.isEmpty()
          && descend(aggregate.child())
          && describe()
          && !mayLeaveOutFiles();
    }

    LogicalPlan answered() {
      Object[] rows;
      try {
        rows = (Object[]) ((BiFunction) relation.location()).apply(
            request.toString(), CollectionConverters.asScala(filters).toSeq());
      } catch (RuntimeException error) {
        LoggerFactory.getLogger("lakebed").warn("no answer from the log of a table", error);
        return aggregate;
      }
      return rows == null ? aggregate : local((InternalRow) rows[0]);
    }

    /** The expressions of the aggregate over one row with the values of its functions. */
    private LogicalPlan local(InternalRow row) {
      List output = new ArrayList();
      for (int i = 0; i < functions.size(); i++) {
        output.add(((AggregateExpression) functions.get(i)).resultAttribute());
      }
      List rows = new ArrayList();
      rows.add(row);
      LogicalPlan values = new LocalRelation(seq(output), seq(rows), false, Option.empty());
      List shown = new ArrayList();
      List expressions = CollectionConverters.asJava(aggregate.aggregateExpressions());
      for (int i = 0; i < expressions.size(); i++) {
        shown.add(valueOf((Expression) expressions.get(i)));
      }
      return (LogicalPlan) ConvertToLocalRelation$.MODULE$.apply(
          (LogicalPlan) new Project(seq(shown), values));
    }

    private static Expression valueOf(Expression expression) {
      if (expression instanceof AggregateExpression) {
        return ((AggregateExpression) expression).resultAttribute();
      }
      return (Expression) expression.mapChildren(new AbstractFunction1() {
        public Object apply(Object child) {
          return valueOf((Expression) child);
        }
      });
    }

    private LogicalPlan bottom() {
      LogicalPlan at = aggregate.child();
      while (at instanceof Project || at instanceof Filter) {
        at = (LogicalPlan) at.children().head();
      }
      if (!(at instanceof LogicalRelation) || at.isStreaming()) {
        return null;
      }
      Object source = ((LogicalRelation) at).relation();
      if (!(source instanceof HadoopFsRelation)) {
        return null;
      }
      Object location = ((HadoopFsRelation) source).location();
      // Its class comes from another class loader.
      boolean isOurs = location.getClass().getName().equals("lakebed.scans.DeltaFiles");
      return isOurs ? at : null;
    }

    // --- functions ---

    private boolean collect(Seq expressions) {
      List all = CollectionConverters.asJava(expressions);
      for (int i = 0; i < all.size(); i++) {
        Expression each = (Expression) all.get(i);
        boolean isFunction = each instanceof AggregateExpression;
        if (isFunction ? !take((AggregateExpression) each) : !collect(each.children())) {
          return false;
        }
      }
      return true;
    }

    private boolean take(AggregateExpression expression) {
      AggregateFunction function = expression.aggregateFunction();
      if (expression.isDistinct() || expression.filter().isDefined()) {
        return false;
      }
      boolean isCount = function instanceof Count;
      if (!isCount && !(function instanceof Min) && !(function instanceof Max)) {
        return false;
      }
      Seq arguments = function.children();
      Object argument = arguments.length() == 1 ? arguments.head() : null;
      boolean isAnyRow = argument instanceof Literal && ((Literal) argument).value() != null;
      if (!(argument instanceof Attribute) && !(isCount && isAnyRow)) {
        return false;
      }
      functions.add(expression);
      columns.add(argument instanceof Attribute ? argument : null);
      return true;
    }

    private boolean describe() {
      for (int i = 0; i < functions.size(); i++) {
        AggregateFunction function = ((AggregateExpression) functions.get(i)).aggregateFunction();
        Attribute column = (Attribute) columns.get(i);
        boolean isCount = function instanceof Count;
        if (!isCount && !hasExactBounds(column)) {
          return false;
        }
        String kind = isCount ? "count" : function instanceof Min ? "min" : "max";
        request.append(i == 0 ? "" : "\0").append(column == null ? "rows" : kind);
        request.append("\0").append(column == null ? "" : column.name());
      }
      return true;
    }

    private boolean hasExactBounds(Attribute column) {
      DataType type = column.dataType();
      return type.equals(DataTypes.LongType)
          || type.equals(DataTypes.IntegerType)
          || type.equals(DataTypes.DateType)
          || type.equals(DataTypes.ShortType)
          || type.equals(DataTypes.ByteType)
          || type instanceof DecimalType
          || (type.equals(DataTypes.StringType) && isPartition(column));
    }

    // --- the way to the relation ---

    private boolean descend(LogicalPlan start) {
      LogicalPlan at = start;
      while (!(at instanceof LogicalRelation)) {
        boolean passes = at instanceof Project ? pass((Project) at) : pass((Filter) at);
        if (!passes) {
          return false;
        }
        at = (LogicalPlan) at.children().head();
      }
      return sortFilters();
    }

    /** Follows columns to what they are below a projection. */
    private boolean pass(Project project) {
      Map known = new HashMap();
      List list = CollectionConverters.asJava(project.projectList());
      for (int i = 0; i < list.size(); i++) {
        NamedExpression each = (NamedExpression) list.get(i);
        known.put(each.exprId(), each instanceof Alias ? ((Alias) each).child() : each);
      }
      for (int i = 0; i < columns.size(); i++) {
        if (columns.get(i) == null) {
          continue;
        }
        Object below = known.get(((Attribute) columns.get(i)).exprId());
        if (!(below instanceof Attribute)) {
          return false;
        }
        columns.set(i, below);
      }
      // The optimizer moves filters below projections; one that is above would need to be renamed.
      return filters.isEmpty();
    }

    private boolean pass(Filter filter) {
      split(filter.condition());
      return true;
    }

    private void split(Expression condition) {
      if (condition instanceof And) {
        split(((And) condition).left());
        split(((And) condition).right());
      } else {
        filters.add(condition);
      }
    }

    /** Keeps the filters on partitions. All others but that of deletion vectors need the rows. */
    private boolean sortFilters() {
      for (int i = filters.size() - 1; i >= 0; i--) {
        Expression filter = (Expression) filters.get(i);
        List references = CollectionConverters.asJava(filter.references().toSeq());
        if (!filter.deterministic()
            || references.isEmpty()
            || SubqueryExpression.hasSubquery(filter)) {
          return false;
        }
        if (hasHidden(references)) {
          hidesDeleted = true;
          filters.remove(i);
        } else if (!arePartitions(references)) {
          return false;
        }
      }
      // Where files have vectors their rows are hidden by a filter; else something is not as known.
      return hidesDeleted == isField(HIDDEN, relation.partitionSchema());
    }

    private static boolean hasHidden(List attributes) {
      for (int i = 0; i < attributes.size(); i++) {
        if (HIDDEN.equals(((Attribute) attributes.get(i)).name())) {
          return true;
        }
      }
      return false;
    }

    private boolean arePartitions(List attributes) {
      for (int i = 0; i < attributes.size(); i++) {
        if (!isPartition((Attribute) attributes.get(i))) {
          return false;
        }
      }
      return true;
    }

    private boolean isPartition(Attribute column) {
      return isField(column.name(), relation.partitionSchema());
    }

    private static boolean isField(String name, StructType schema) {
      String[] names = schema.fieldNames();
      for (int i = 0; i < names.length; i++) {
        if (names[i].equalsIgnoreCase(name)) {
          return true;
        }
      }
      return false;
    }

    private boolean mayLeaveOutFiles() {
      scala.collection.immutable.Map options =
          CaseInsensitiveMap$.MODULE$.apply(relation.options());
      return options.contains("ignoreMissingFiles") || options.contains("ignoreCorruptFiles");
    }

    private static Seq seq(List values) {
      return CollectionConverters.asScala(values).toSeq();
    }
  }
}
