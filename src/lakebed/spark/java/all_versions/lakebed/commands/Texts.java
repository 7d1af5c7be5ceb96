package lakebed.commands;

import java.util.List;
import lakebed.bridge.Internals;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.PrettyAttribute;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.NullType$;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/**
 * Conditions as the history of a table shows them: as Spark prints expressions, which is what
 * delta-spark records, but for the numbers of columns, which mean nothing outside of one query.
 */
public class Texts extends AbstractPartialFunction {
  /** Null where a function is only known by its name: what it prints then is not what it means. */
  public String of(Expression expression) {
    return hasNames(expression) ? null : ((Expression) expression.transformUp(this)).toString();
  }

  /** As SQL, with the values of literals that Spark has cast. */
  public String sql(Expression expression) {
    return ((Expression) expression.transformUp(new Folded())).sql();
  }

  private static boolean hasNames(Expression expression) {
    if (expression instanceof UnresolvedFunction) {
      return true;
    }
    for (int i = 0; i < expression.children().length(); i++) {
      if (hasNames((Expression) expression.children().apply(i))) {
        return true;
      }
    }
    return false;
  }

  public boolean isDefinedAt(Object found) {
    return found instanceof AttributeReference
        || found instanceof UnresolvedAttribute
        || isCastOfLiteral(found);
  }

  public Object applyOrElse(Object found, Function1 otherwise) {
    if (found instanceof AttributeReference) {
      AttributeReference column = (AttributeReference) found;
      return new PrettyAttribute(column.name(), column.dataType());
    }
    if (found instanceof UnresolvedAttribute) {
      List parts = Internals.list(((UnresolvedAttribute) found).nameParts());
      return new PrettyAttribute(joined(parts), (DataType) NullType$.MODULE$);
    }
    return isCastOfLiteral(found) ? folded((Cast) found) : otherwise.apply(found);
  }

  private static String joined(List parts) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < parts.size(); i++) {
      text.append(i == 0 ? "" : ".").append(parts.get(i));
    }
    return text.toString();
  }

  private static boolean isCastOfLiteral(Object found) {
    return found instanceof Cast
        && ((Cast) found).resolved()
        && ((Cast) found).child() instanceof Literal;
  }

  private static Expression folded(Cast cast) {
    try {
      return new Literal(cast.eval(InternalRow.empty()), cast.dataType());
    } catch (RuntimeException error) {
      // The statement itself will say that the value cannot be converted.
      return cast;
    }
  }

  private static class Folded extends AbstractPartialFunction {
    public boolean isDefinedAt(Object found) {
      return isCastOfLiteral(found);
    }

    public Object applyOrElse(Object found, Function1 otherwise) {
      return isCastOfLiteral(found) ? folded((Cast) found) : otherwise.apply(found);
    }
  }
}
