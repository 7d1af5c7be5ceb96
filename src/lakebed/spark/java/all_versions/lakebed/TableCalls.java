package lakebed;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import lakebed.bridge.Bridge;
import lakebed.errors.Errors;
import org.apache.spark.connect.proto.Project;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.connect.common.ProtoUtils;
import org.apache.spark.sql.connect.planner.SparkConnectPlanner;
import org.apache.spark.sql.connect.plugin.RelationPlugin;
import org.sparkproject.connect.protobuf.Any;
import org.sparkproject.connect.protobuf.InvalidProtocolBufferException;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * Calls of `DeltaTable` that a client of Spark Connect sends to its server. A call travels as a
 * relation: a `Project` whose input is the DataFrame that the call is given, whose first expression
 * is the call as JSON, and whose other expressions are the Columns in it. Its rows are the answer.
 */
public class TableCalls implements RelationPlugin {
  private static final String KIND = "lakebed/call";
  private static final int DEPTH = 1024;

  public Optional transform(byte[] relation, SparkConnectPlanner planner) {
    Project call;
    try {
      Any any = Any.parseFrom(relation);
      if (!any.getTypeUrl().equals(KIND)) {
        return Optional.empty();
      }
      call = (Project) ProtoUtils.parseWithRecursionLimit(
          any.getValue().toByteArray(), Project.parser(), DEPTH);
    } catch (InvalidProtocolBufferException error) {
      throw new IllegalArgumentException(error);
    }
    // To analyze a call would have to make it: only Python knows its columns.
    if (planner.executeHolderOpt().isEmpty()) {
      throw Errors.analysis(
          "UNSUPPORTED_FEATURE",
          "a call of DeltaTable can be executed, but not analyzed");
    }
    return Optional.of(answer(call, planner).logicalPlan());
  }

  private static Dataset answer(Project call, SparkConnectPlanner planner) {
    Dataset source = null;
    if (call.hasInput()) {
      source = Dataset.ofRows(planner.session(), planner.transformRelation(call.getInput()));
    }
    List columns = new ArrayList();
    for (int i = 1; i < call.getExpressionsCount(); i++) {
      columns.add(ExpressionUtils.column(planner.transformExpression(call.getExpressions(i))));
    }
    String json = call.getExpressions(0).getLiteral().getString();
    Object[] request = new Object[] {"call", json};
    Object[] given = new Object[] {source, columns};
    return (Dataset) Bridge.ask("call", Bridge.map(request), planner.session(), given);
  }

  /**
   * A Column in which names such as `mark`.`0` are columns of a DataFrame by their positions.
   */
  public static Column bound(Column column, String mark, Dataset frame) {
    Expression tree = frame.sparkSession().expression(column);
    return ExpressionUtils.column(
        (Expression) tree.transform(new Binding(mark, frame.queryExecution().analyzed().output())));
  }

  private static class Binding extends AbstractPartialFunction {
    private final String mark;
    private final Seq output;

    Binding(String mark, Seq output) {
      this.mark = mark;
      this.output = output;
    }

    public boolean isDefinedAt(Object tree) {
      if (!(tree instanceof UnresolvedAttribute)) {
        return false;
      }
      Seq parts = ((UnresolvedAttribute) tree).nameParts();
      return parts.length() == 2 && mark.equals(parts.apply(0));
    }

    public Object applyOrElse(Object tree, Function1 otherwise) {
      if (!isDefinedAt(tree)) {
        return otherwise.apply(tree);
      }
      String place = (String) ((UnresolvedAttribute) tree).nameParts().apply(1);
      return (Attribute) output.apply(Integer.parseInt(place));
    }
  }
}
