package lakebed.parser;

import lakebed.bridge.Internals;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.errors.QueryCompilationErrors;
import scala.collection.immutable.Seq;

/**
 * EXECUTE IMMEDIATE ... INTO takes a query. Spark would run any other statement first, and refuse
 * it then. It parses the text in the thread of this rule, before which the rule is applied.
 */
public class GuardImmediate extends Rule {
  private static final ThreadLocal IS_INTO = new ThreadLocal();

  public TreeNode apply(TreeNode plan) {
    if (plan.containsPattern(TreePattern.EXECUTE_IMMEDIATE())) {
      // Versions of Spark have two classes for it, with the variables in the same place.
      Object third = plan.productArity() > 2 ? plan.productElement(2) : null;
      IS_INTO.set(Boolean.valueOf(third instanceof Seq && !((Seq) third).isEmpty()));
    }
    return plan;
  }

  /** A statement that failed before its text was parsed must not be held against the next one. */
  private static boolean isOfImmediate() {
    StackTraceElement[] trace = Thread.currentThread().getStackTrace();
    for (int i = 0; i < trace.length; i++) {
      if (trace[i].getClassName().contains("ExecuteImmediate")) {
        return true;
      }
    }
    return false;
  }

  /** The plan that was parsed, unless it has to be a query and is none. */
  static LogicalPlan checked(LogicalPlan plan, String text) {
    boolean isInto = Boolean.TRUE.equals(IS_INTO.get());
    IS_INTO.remove();
    boolean isCommand = plan instanceof Command || plan instanceof InsertIntoStatement;
    if (isInto && isCommand && isOfImmediate()) {
      Internals.raise(QueryCompilationErrors.invalidStatementForExecuteInto(text));
    }
    return plan;
  }
}
