package lakebed.commands;

import java.util.HashMap;
import java.util.Map;
import lakebed.errors.Errors;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionDef;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionRef;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InheritAnalysisRules;
import org.apache.spark.sql.catalyst.expressions.With;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/**
 * Resolved expressions without the forms that cannot hold an unresolved column again. BETWEEN and
 * NULLIF evaluate an operand once by `With`, which asks its operands for their types at all times.
 */
final class Inlined extends AbstractPartialFunction {
  private static final Inlined ALL = new Inlined();

  private Inlined() {}

  static Expression of(Expression expression) {
    return expression.resolved() ? (Expression) expression.transformUp(ALL) : expression;
  }

  static LogicalPlan of(LogicalPlan plan) {
    return plan.resolved() ? (LogicalPlan) plan.transformAllExpressions(ALL) : plan;
  }

  public boolean isDefinedAt(Object found) {
    return found instanceof With || found instanceof InheritAnalysisRules;
  }

  public Object applyOrElse(Object found, Function1 otherwise) {
    if (found instanceof With) {
      return inlined((With) found);
    }
    // What it stands for; the function that the statement called is only kept to be shown.
    return found instanceof InheritAnalysisRules
        ? (Expression) ((Expression) found).children().head()
        : otherwise.apply(found);
  }

  private static Expression inlined(With found) {
    Map operands = new HashMap();
    for (int i = 0; i < found.defs().length(); i++) {
      CommonExpressionDef each = (CommonExpressionDef) found.defs().apply(i);
      Expression operand = (Expression) each.children().head();
      if (!operand.deterministic()) {
        throw Errors.analysis(
            "INVALID_ARGUMENT",
            operand.sql() + " is not deterministic, and a statement"
                + " that changes rows would evaluate it twice; compute it in a query first, and use"
                + " that as the source of a MERGE");
      }
      operands.put(each.id(), operand);
    }
    return (Expression) found.child().transformUp(new References(operands));
  }

  /** Puts the operands of a `With` where it refers to them. */
  private static final class References extends AbstractPartialFunction {
    private final Map operands;

    References(Map operands) {
      this.operands = operands;
    }

    public boolean isDefinedAt(Object found) {
      return found instanceof CommonExpressionRef
          && operands.containsKey(((CommonExpressionRef) found).id());
    }

    public Object applyOrElse(Object found, Function1 otherwise) {
      return isDefinedAt(found)
          ? operands.get(((CommonExpressionRef) found).id())
          : otherwise.apply(found);
    }
  }
}
