package lakebed.commands;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import lakebed.bridge.Bridge;
import lakebed.bridge.Internals;
import lakebed.errors.Errors;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.ExpressionWithUnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.analysis.Parameter;
import org.apache.spark.sql.catalyst.analysis.Star;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.UnresolvedWindowExpression;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * SQL texts that are expressions: conditions that users give to methods, and what the metadata of
 * tables has. The parser of a session would replace variables such as ${env:HOME} in them first.
 */
public final class TableExpressions {
  private TableExpressions() {}

  public static Column column(String text) {
    return ExpressionUtils.column(parsed(text));
  }

  /** What an expression is made of, as JSON; Python decides whether a table may have it. */
  public static String parts(SparkSession session, String text) throws JsonProcessingException {
    List functions = new ArrayList();
    List names = new ArrayList();
    List others = new ArrayList();
    collect(parsed(text), functions, names, others);
    List replaced = functions.isEmpty() ? new ArrayList() : replaced(session);
    Map found = Bridge.map(new Object[] {
        "functions", functions, "names", names, "others", others, "replaced", replaced});
    return new ObjectMapper().writeValueAsString(found);
  }

  static Expression parsed(String text) {
    try {
      return CatalystSqlParser$.MODULE$.parseExpression(text);
    } catch (StackOverflowError error) {
      throw Errors.nestedTooDeep("PREDICATE", "the expression");
    } catch (Throwable error) {
      // A ParseException is a checked one, which Scala does not declare.
      Internals.raise(error);
      return null;
    }
  }

  private static void collect(Expression each, List functions, List names, List others) {
    if (each instanceof UnresolvedFunction) {
      functions.add(Internals.list(((UnresolvedFunction) each).nameParts()));
    } else if (each instanceof UnresolvedAttribute) {
      names.add(Internals.list(((UnresolvedAttribute) each).nameParts()));
    } else {
      String other = other(each);
      if (other != null) {
        others.add(other);
      }
    }
    Seq children = each.children();
    for (int i = 0; i < children.length(); i++) {
      collect((Expression) children.apply(i), functions, names, others);
    }
  }

  /** What is neither a function by its name nor an operator of the grammar. */
  private static String other(Expression each) {
    if (each instanceof SubqueryExpression) {
      return "a subquery";
    }
    if (each instanceof WindowExpression || each instanceof UnresolvedWindowExpression) {
      return "a window";
    }
    if (each instanceof AggregateExpression || each instanceof AggregateFunction) {
      return "the aggregate function " + each.prettyName();
    }
    if (each instanceof Star) {
      return "*";
    }
    if (each instanceof Parameter) {
      return "a parameter";
    }
    return each instanceof ExpressionWithUnresolvedIdentifier ? "IDENTIFIER" : null;
  }

  /** Functions of the session that are not Spark's own, or that hide one of these. */
  private static List replaced(SparkSession session) {
    FunctionRegistry builtin = FunctionRegistry$.MODULE$.builtin();
    FunctionRegistry own = session.sessionState().functionRegistry();
    List all = Internals.list(own.listFunction());
    TreeSet found = new TreeSet();
    for (int i = 0; i < all.size(); i++) {
      FunctionIdentifier name = (FunctionIdentifier) all.get(i);
      Option known = builtin.lookupFunctionBuilder(name);
      if (known.isEmpty() || known.get() != own.lookupFunctionBuilder(name).get()) {
        found.add(name.funcName());
      }
    }
    return new ArrayList(found);
  }
}
