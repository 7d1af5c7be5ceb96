package lakebed.parser;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import lakebed.bridge.Internals;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.analysis.NamedParameter;
import org.apache.spark.sql.catalyst.analysis.PosParameter;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.classic.SparkSession;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * Values of the parameters of Lakebed's own statements. They stay expressions: a value that became
 * a part of the text could be read as SQL, and Spark would replace variables such as ${env:HOME}.
 */
public final class Parameters extends AbstractPartialFunction {
  private final Map byName = new HashMap();
  private final Map byPosition = new HashMap();
  /** Those that were found; null if they are not asked for. */
  private List seen;

  /**
   * Expressions for the markers of a statement. Those without a value stay parameters, which
   * Spark's analyser binds (4.0) or refuses.
   *
   * @param markers each has a position, and a name if it is not a question mark
   * @param names of the values, as far as they have some
   */
  public static Seq bound(List markers, List names, List values) {
    List found = new ArrayList();
    int marks = 0;
    for (int i = 0; i < markers.size(); i++) {
      Map marker = (Map) markers.get(i);
      String name = (String) marker.get("name");
      int place = name == null ? marks++ : names.indexOf(name);
      if (place >= 0 && place < values.size()) {
        Object value = values.get(place);
        found.add(value instanceof Alias ? ((Alias) value).child() : value);
      } else if (name == null) {
        found.add(new PosParameter(((Number) marker.get("position")).intValue()));
      } else {
        found.add(new NamedParameter(name));
      }
    }
    return Internals.seq(found);
  }

  /**
   * An expression of a statement.
   *
   * @param names and positions of the markers in the text, with a value for each
   */
  public static Column column(
      SparkSession session, String text, List names, List positions, List values) {
    try {
      Expression parsed = session.sessionState().sqlParser().parseExpression(text);
      Parameters all = new Parameters(names, positions, values);
      return ExpressionUtils.column((Expression) parsed.transformUp(all));
    } catch (ParseException error) {
      Internals.raise(error);
      return null;
    }
  }

  /** The rows of a query in a statement. */
  public static Dataset query(
      SparkSession session, String text, List names, List positions, List values) {
    try {
      LogicalPlan parsed = session.sessionState().sqlParser().parsePlan(text);
      Parameters all = new Parameters(names, positions, values);
      return Dataset$.MODULE$.ofRows(
          session, (LogicalPlan) parsed.transformAllExpressions(all));
    } catch (ParseException error) {
      Internals.raise(error);
      return null;
    }
  }

  /** The parameters of an expression; there are none in null. */
  public static List in(Expression expression) {
    final Parameters all = new Parameters(new ArrayList(), new ArrayList(), new ArrayList());
    all.seen = new ArrayList();
    if (expression != null) {
      expression.transformUp(all);
    }
    return all.seen;
  }

  /** The expression with values in the place of its parameters. */
  public static Expression bound(Expression expression, List parameters, List values) {
    Parameters all = new Parameters(new ArrayList(), new ArrayList(), new ArrayList());
    for (int i = 0; i < parameters.size(); i++) {
      Object parameter = parameters.get(i);
      if (parameter instanceof NamedParameter) {
        all.byName.put(((NamedParameter) parameter).name(), values.get(i));
      } else {
        Integer position = Integer.valueOf(((PosParameter) parameter).pos());
        all.byPosition.put(position, values.get(i));
      }
    }
    return (Expression) expression.transformUp(all);
  }

  private Parameters(List names, List positions, List values) {
    for (int i = 0; i < values.size(); i++) {
      if (names.get(i) == null) {
        byPosition.put(Integer.valueOf(((Number) positions.get(i)).intValue()), values.get(i));
      } else {
        byName.put(names.get(i), values.get(i));
      }
    }
  }

  public boolean isDefinedAt(Object found) {
    return found instanceof NamedParameter
        || found instanceof PosParameter
        || found instanceof SubqueryExpression;
  }

  public Object applyOrElse(Object found, Function1 otherwise) {
    if (found instanceof SubqueryExpression) {
      SubqueryExpression query = (SubqueryExpression) found;
      return query.withNewPlan((LogicalPlan) query.plan().transformAllExpressions(this));
    }
    if (seen != null && (found instanceof NamedParameter || found instanceof PosParameter)) {
      seen.add(found);
    }
    Object value = null;
    if (found instanceof NamedParameter) {
      value = byName.get(((NamedParameter) found).name());
    } else if (found instanceof PosParameter) {
      value = byPosition.get(Integer.valueOf(((PosParameter) found).pos()));
    }
    return value == null ? otherwise.apply(found) : value;
  }
}
