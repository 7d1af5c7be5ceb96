package lakebed.parser;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import lakebed.bridge.Bridge;
import lakebed.bridge.Internals;
import lakebed.commands.Creates;
import lakebed.commands.Inserts;
import org.apache.spark.sql.catalyst.analysis.UnresolvedStar;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.CompoundBody;
import org.apache.spark.sql.catalyst.plans.logical.CompoundPlanStatement;
import org.apache.spark.sql.catalyst.plans.logical.ExceptionHandler;
import org.apache.spark.sql.catalyst.plans.logical.IfElseStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SearchedCaseStatement;
import org.apache.spark.sql.catalyst.plans.logical.SimpleCaseStatement;
import org.apache.spark.sql.catalyst.plans.logical.SingleStatement;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.internal.VariableSubstitution;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Scripts, BEGIN ... END, that have statements which Spark does not know. Spark parses the script
 * with a placeholder for each of them, and the plans of the statements take their places.
 */
public final class Scripts {
  private static final Pattern BEGIN = Pattern.compile(
      "(?:\\s|--[^\\n]*(?:\\n|$)|/\\*.*?\\*/)*+(?:(?:\\w+|`[^`]+`)\\s*:\\s*)?BEGIN\\b.*",
      Pattern.CASE_INSENSITIVE | Pattern.DOTALL);
  private static final Pattern DESCRIBE = Pattern.compile(
      "\\bDESC(?:RIBE)?\\s+(?:HISTORY|DETAIL)\\b", Pattern.CASE_INSENSITIVE);

  /** Spark parses it and never runs it: the star has no columns. */
  private static final String PLACEHOLDER = "SELECT *";

  private final DeltaParserBase parser;
  private final Object context;
  private final Map plans = new IdentityHashMap();

  private Scripts(DeltaParserBase parser, Object context) {
    this.parser = parser;
    this.context = context;
  }

  /** Whether a script that Spark has parsed has statements that Spark takes for others. */
  static boolean hasOthers(LogicalPlan plan, String text) {
    return plan instanceof CompoundBody
        && DESCRIBE.matcher(text).find();
  }

  /** A script that Spark has parsed, with the format of tables that it creates by path. */
  public static LogicalPlan withProviders(LogicalPlan plan) {
    return new Scripts(null, null).filled(plan);
  }

  /**
   * The plan of a script; null for other texts, and if it has none of Lakebed's statements.
   *
   * @param context the values of parameters, as the parser takes them
   */
  static LogicalPlan parsed(DeltaParserBase parser, String text, Object context)
      throws ParseException {
    if (!BEGIN.matcher(text).matches()) {
      return null;
    }
    String script = new VariableSubstitution().substitute(text);
    Map request = Bridge.map(new Object[] {"text", script});
    Map answer = Bridge.askForMap("script", request, parser.session);
    List statements = chosen(parser, (List) answer.get("statements"));
    if (statements.isEmpty()) {
      return null;
    }
    LogicalPlan plan = parser.bySpark(withPlaceholders(script, statements), context);
    return new Scripts(parser, context).placed(plan, statements);
  }

  /** Those that Spark takes for something else, or cannot parse. */
  private static List chosen(DeltaParserBase parser, List found) {
    List chosen = new ArrayList();
    for (int i = 0; i < found.size(); i++) {
      if (parser.isUnknown((String) ((Map) found.get(i)).get("text"))) {
        chosen.add(found.get(i));
      }
    }
    return chosen;
  }

  /** What follows keeps its place where it can, for the messages of errors. */
  private static String withPlaceholders(String script, List statements) {
    StringBuilder made = new StringBuilder();
    int done = 0;
    for (int i = 0; i < statements.size(); i++) {
      Map statement = (Map) statements.get(i);
      String text = (String) statement.get("text");
      // Python counts characters, and Java their halves.
      int start = script.offsetByCodePoints(0, ((Number) statement.get("position")).intValue());
      made.append(script, done, start).append(PLACEHOLDER);
      for (int at = PLACEHOLDER.length(); at < text.length(); at++) {
        made.append(text.charAt(at) == '\n' ? '\n' : ' ');
      }
      done = start + text.length();
    }
    return made.append(script.substring(done)).toString();
  }

  private LogicalPlan placed(LogicalPlan plan, List statements) throws ParseException {
    List places = new ArrayList();
    List all = singles(plan, new ArrayList());
    for (int i = 0; i < all.size(); i++) {
      if (isPlaceholder(((SingleStatement) all.get(i)).parsedPlan())) {
        places.add(all.get(i));
      }
    }
    if (places.size() != statements.size()) {
      // The script has a SELECT * of its own that lacks a FROM.
      return null;
    }
    Collections.sort(places, new Comparator() {
      public int compare(Object one, Object other) {
        return start(one) - start(other);
      }
    });
    for (int i = 0; i < places.size(); i++) {
      String text = (String) ((Map) statements.get(i)).get("text");
      LogicalPlan own = parser.statement(text, context);
      // Where it is none of Lakebed's after all, Spark says what is wrong with it.
      plans.put(places.get(i), own == null ? parser.bySpark(text, context) : own);
    }
    return filled(plan);
  }

  private static int start(Object statement) {
    Option start = ((SingleStatement) statement).origin().startIndex();
    return ((Number) start.get()).intValue();
  }

  private static boolean isPlaceholder(LogicalPlan plan) {
    if (!(plan instanceof Project) || !(((Project) plan).child() instanceof OneRowRelation)) {
      return false;
    }
    Seq columns = ((Project) plan).projectList();
    return columns.length() == 1 && columns.head() instanceof UnresolvedStar;
  }

  private static List singles(LogicalPlan plan, List found) {
    if (plan instanceof SingleStatement) {
      found.add(plan);
    } else if (plan instanceof CompoundBody) {
      // Its children lack the handlers.
      CompoundBody body = (CompoundBody) plan;
      singles(body.collection(), found);
      singles(body.handlers(), found);
    } else if (plan instanceof ExceptionHandler) {
      singles(((ExceptionHandler) plan).body(), found);
    } else if (plan instanceof CompoundPlanStatement) {
      singles(plan.children(), found);
      if (plan instanceof SimpleCaseStatement) {
        // Its children lack the ELSE.
        singles(((SimpleCaseStatement) plan).elseBody().toList(), found);
      }
    }
    return found;
  }

  private static void singles(Seq plans, List found) {
    for (int i = 0; i < plans.length(); i++) {
      singles((LogicalPlan) plans.apply(i), found);
    }
  }

  private LogicalPlan filled(LogicalPlan plan) {
    if (plan instanceof SingleStatement) {
      LogicalPlan parsed = ((SingleStatement) plan).parsedPlan();
      LogicalPlan own = (LogicalPlan) plans.get(plan);
      LogicalPlan found = own == null ? Creates.withProvider(Inserts.marked(parsed)) : own;
      return found == parsed ? plan : at(plan.origin(), found);
    }
    if (plan instanceof CompoundBody) {
      CompoundBody body = (CompoundBody) plan;
      return body.copy(
          filled(body.collection()), body.label(), body.isScope(), filled(body.handlers()),
          body.conditions());
    }
    if (plan instanceof ExceptionHandler) {
      ExceptionHandler handler = (ExceptionHandler) plan;
      return handler.copy(
          handler.exceptionHandlerTriggers(), (CompoundBody) filled(handler.body()),
          handler.handlerType());
    }
    return plan instanceof CompoundPlanStatement ? withBranches(plan) : plan;
  }

  /** What has an ELSE: `withNewChildren` of Spark confuses it with the branch before. */
  private LogicalPlan withBranches(LogicalPlan plan) {
    if (plan instanceof IfElseStatement) {
      IfElseStatement found = (IfElseStatement) plan;
      return found.copy(
          found.conditions(), filled(found.conditionalBodies()), filled(found.elseBody()));
    }
    if (plan instanceof SearchedCaseStatement) {
      SearchedCaseStatement found = (SearchedCaseStatement) plan;
      return found.copy(
          found.conditions(), filled(found.conditionalBodies()), filled(found.elseBody()));
    }
    if (plan instanceof SimpleCaseStatement) {
      SimpleCaseStatement found = (SimpleCaseStatement) plan;
      return found.copy(
          found.caseVariableExpression(), found.conditionExpressions(),
          filled(found.conditionalBodies()), filled(found.elseBody()));
    }
    return (LogicalPlan) plan.withNewChildren(filled(plan.children()));
  }

  private Option filled(Option body) {
    return body.isEmpty() ? body : Option.apply(filled((LogicalPlan) body.get()));
  }

  /** A statement takes its place in the text, which errors name, from the thread. */
  private static LogicalPlan at(Origin origin, LogicalPlan plan) {
    Origin before = CurrentOrigin.get();
    CurrentOrigin.set(origin);
    try {
      return new SingleStatement(plan);
    } finally {
      CurrentOrigin.set(before);
    }
  }

  private Seq filled(Seq all) {
    List found = new ArrayList();
    for (int i = 0; i < all.length(); i++) {
      found.add(filled((LogicalPlan) all.apply(i)));
    }
    return Internals.seq(found);
  }
}
