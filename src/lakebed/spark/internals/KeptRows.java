package lakebed;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Scans that leave out deleted rows: how they are made, and a rule of Spark's optimizer for them.
 *
 * In such a scan `_metadata` is a column of the relation, because Spark finds it nowhere else once
 * there is a projection on top. Spark would then make columns for all of its parts in every query;
 * the rule takes it away again where nobody reads it.
 *
 * Spark's own Janino compiles this in the driver; Janino knows no lambdas and erases generics. That
 * it is Java spares some two hundred calls from Python for a scan.
 */
public class KeptRows extends Rule {
  /** The kept rows of a relation with the columns of these names, and hidden `_metadata`. */
  public Dataset named(
      SparkSession session, Dataset relation, Column kept, String rowIndex, String names) {
    LogicalRelation bottom = (LogicalRelation) relation.queryExecution().analyzed();
    List shown = new ArrayList();
    String[] parts = names.split("\0", -1);
    for (int i = 0; i < parts.length; i++) {
      shown.add(column(bottom, parts[i]));
    }
    return scan(session, bottom, kept, rowIndex, shown);
  }

  /** The same with columns that are computed. */
  public Dataset computed(
      SparkSession session, Dataset relation, Column kept, String rowIndex, Column[] columns) {
    LogicalRelation bottom = (LogicalRelation) relation.queryExecution().analyzed();
    List shown = new ArrayList();
    for (int i = 0; i < columns.length; i++) {
      shown.add(session.expression(columns[i]));
    }
    return scan(session, bottom, kept, rowIndex, shown);
  }

  private static Dataset scan(
      SparkSession session, LogicalRelation bottom, Column kept, String rowIndex, List shown) {
    Attribute hidden = (Attribute) bottom.metadataOutput().head();
    StructType fields = (StructType) hidden.dataType();
    Attribute read = hidden.withDataType(withoutRowIndex(fields));
    LogicalRelation exposed = withOutput(bottom, (Seq) bottom.output().appended(read));
    shown.add(alias(metadata(fields, read, column(bottom, rowIndex)), hidden.name()));
    LogicalPlan rows = new Filter(session.expression(kept), exposed);
    LogicalPlan project = new Project(seq(shown), rows);
    LogicalPlan analyzed =
        (LogicalPlan) session.sessionState().analyzer().execute((LogicalPlan) project);
    return Dataset.ofRows(session, hidingLast(analyzed));
  }

  private static Attribute column(LogicalRelation relation, String name) {
    List output = CollectionConverters.asJava(relation.output());
    for (int i = 0; i < output.size(); i++) {
      if (((Attribute) output.get(i)).name().equals(name)) {
        return (Attribute) output.get(i);
      }
    }
    throw new IllegalArgumentException("the relation has no column " + name);
  }

  /** Spark reads no row index as a part of `_metadata` where it is a column of its own. */
  private static StructType withoutRowIndex(StructType fields) {
    List others = new ArrayList();
    for (int i = 0; i < fields.fields().length; i++) {
      if (!fields.fields()[i].name().equals("row_index")) {
        others.add(fields.fields()[i]);
      }
    }
    return new StructType((StructField[]) others.toArray(new StructField[others.size()]));
  }

  private static Expression metadata(StructType fields, Attribute read, Attribute rowIndex) {
    List parts = new ArrayList();
    int place = 0;
    for (int i = 0; i < fields.fields().length; i++) {
      String name = fields.fields()[i].name();
      parts.add(Literal$.MODULE$.apply(name));
      parts.add(name.equals("row_index")
          ? (Expression) rowIndex
          : new GetStructField(read, place++, Option.apply(name)));
    }
    return new CreateNamedStruct(seq(parts));
  }

  private static Expression alias(Expression value, String name) {
    return new Alias(
        value,
        name,
        NamedExpression$.MODULE$.newExprId(),
        CollectionConverters.asScala(new ArrayList()).toSeq(),
        Option.empty(),
        CollectionConverters.asScala(new ArrayList()).toSeq());
  }

  private static LogicalPlan hidingLast(LogicalPlan plan) {
    Attribute last = (Attribute) plan.output().last();
    MetadataBuilder marks = new MetadataBuilder().withMetadata(last.metadata());
    marks.putString("__metadata_col", "_metadata");
    List hidden = new ArrayList();
    hidden.add(last.withMetadata(marks.build()));
    Project top = new Project((Seq) plan.output().dropRight(1), plan);
    top.setTagValue(Project.hiddenOutputTag(), seq(hidden));
    return top;
  }

  private static Seq seq(List values) {
    return CollectionConverters.asScala(values).toSeq();
  }

  // --- the rule ---

  public TreeNode apply(TreeNode plan) {
    return contains((LogicalPlan) plan) ? rewrite((LogicalPlan) plan) : plan;
  }

  private static boolean contains(LogicalPlan plan) {
    if (plan instanceof LogicalRelation) {
      return hidden((LogicalRelation) plan) != null;
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
    if (plan instanceof Project) {
      LogicalRelation relation = unread((Project) plan);
      if (relation != null) {
        return without(plan, relation);
      }
    }
    return (LogicalPlan) plan.mapChildren(new AbstractFunction1() {
      public Object apply(Object child) {
        return rewrite((LogicalPlan) child);
      }
    });
  }

  /** The relation below a projection and filters, if none of them reads its `_metadata`. */
  private static LogicalRelation unread(Project project) {
    List above = new ArrayList();
    LogicalPlan at = project;
    while (at instanceof Filter || at == project) {
      above.add(at);
      at = (LogicalPlan) at.children().head();
    }
    Attribute hidden = at instanceof LogicalRelation ? hidden((LogicalRelation) at) : null;
    for (int i = 0; hidden != null && i < above.size(); i++) {
      AttributeSet read = ((LogicalPlan) above.get(i)).references();
      if (read.contains((NamedExpression) hidden)) {
        return null;
      }
    }
    return hidden == null ? null : (LogicalRelation) at;
  }

  private static LogicalPlan without(LogicalPlan plan, final LogicalRelation relation) {
    if (plan == relation) {
      return withOutput(relation, (Seq) relation.output().dropRight(1));
    }
    return (LogicalPlan) plan.mapChildren(new AbstractFunction1() {
      public Object apply(Object child) {
        return without((LogicalPlan) child, relation);
      }
    });
  }

  /** A copy with other columns. The constructor has more arguments in newer versions. */
  private static LogicalRelation withOutput(LogicalRelation relation, Seq output) {
    Object[] arguments = new Object[relation.productArity()];
    for (int i = 0; i < arguments.length; i++) {
      arguments[i] = relation.productElement(i);
    }
    arguments[1] = output;
    return (LogicalRelation) relation.makeCopy(arguments);
  }

  /** The column `_metadata` at the end of what a relation of ours shows. */
  private static Attribute hidden(LogicalRelation relation) {
    if (!(relation.relation() instanceof HadoopFsRelation)) {
      return null;
    }
    Object location = ((HadoopFsRelation) relation.relation()).location();
    Seq output = relation.output();
    // Its class comes from another class loader.
    if (!location.getClass().getName().equals("lakebed.DeltaFiles") || output.isEmpty()) {
      return null;
    }
    Attribute last = (Attribute) output.last();
    return last.metadata().contains("__file_source_metadata_col") ? last : null;
  }
}
