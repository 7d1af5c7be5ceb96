package lakebed.parser;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import lakebed.bridge.Bridge;
import lakebed.bridge.Internals;
import lakebed.commands.Creates;
import lakebed.commands.Inserts;
import lakebed.commands.ReplacedRows;
import org.apache.spark.sql.catalyst.AliasIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAlias;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedStar;
import org.apache.spark.sql.catalyst.analysis.UnresolvedSubqueryColumnAliases;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Statements that Spark parses once a clause is taken out of them. Python says where the clause is,
 * and Spark parses the rest and the parts of the clause, each at its place in the statement.
 */
final class Rest {
  private final DeltaParserBase parser;
  private final Map facts;
  private final Map rest;
  private final Map parts;
  private final Object context;

  private Rest(DeltaParserBase parser, Map found, Object context) {
    this.parser = parser;
    this.facts = (Map) found.get("facts");
    this.rest = (Map) found.get("rest");
    this.parts = (Map) found.get("parts");
    this.context = context;
  }

  /**
   * The plan of the whole statement; null if Spark's error about it is the better one.
   *
   * @param found what Python says of the statement
   * @param context the values of parameters, as the parser takes them
   */
  static LogicalPlan parsed(DeltaParserBase parser, Map found, Object context) {
    try {
      Rest all = new Rest(parser, found, context);
      LogicalPlan plan = all.parsed(all.rest);
      return found.get("kind").equals("create")
          ? Creates.withProperties(plan, (Map) all.facts.get("properties"), parser.session)
          : Inserts.marked(all.completed(plan));
    } catch (ParseException error) {
      return null;
    }
  }

  private LogicalPlan parsed(Map piece) throws ParseException {
    Object values = parser.only(context, (List) piece.get("marks"));
    return parser.bySpark((String) piece.get("text"), values);
  }

  private LogicalPlan completed(LogicalPlan plan) throws ParseException {
    if (plan instanceof UnresolvedWith) {
      LogicalPlan child = completed(((UnresolvedWith) plan).child());
      return child == null ? null : (LogicalPlan) Internals.with(plan, "child", child);
    }
    if (plan instanceof MergeIntoTable) {
      LogicalPlan source = relation(parsed((Map) parts.get("source")));
      return source == null ? null : (LogicalPlan) Internals.with(plan, "sourceTable", source);
    }
    if (plan instanceof OverwriteByExpression) {
      return replaceWhere((OverwriteByExpression) plan);
    }
    return plan instanceof InsertIntoStatement ? insert((InsertIntoStatement) plan) : null;
  }

  /** The relation after FROM; null if there is more to the query. */
  private static LogicalPlan relation(LogicalPlan query) {
    if (!(query instanceof Project)) {
      return null;
    }
    Seq columns = ((Project) query).projectList();
    return columns.length() == 1 && columns.head() instanceof UnresolvedStar
        ? ((Project) query).child()
        : null;
  }

  private LogicalPlan insert(InsertIntoStatement plan) throws ParseException {
    LogicalPlan query = aliased(
        plan.query(), (String) facts.get("source_alias"), (List) facts.get("source_columns"));
    Map condition = (Map) parts.get("condition");
    if (condition != null || facts.containsKey("using")) {
      query = ReplacedRows.of(query, facts, condition == null ? null : expression(condition));
    }
    LogicalPlan made = (LogicalPlan) Internals.with(plan, "query", query);
    if (facts.get("columns") != null) {
      made = (LogicalPlan) Internals.with(
          made, "userSpecifiedCols", Internals.seq((List) facts.get("columns")));
    }
    if (Boolean.TRUE.equals(facts.get("by_name"))) {
      made = (LogicalPlan) Internals.with(made, "byName", Boolean.TRUE);
    }
    return evolving(made, plan.table());
  }

  /** How Spark before 4.2 has REPLACE WHERE; columns of the query go by position there. */
  private LogicalPlan replaceWhere(OverwriteByExpression plan) {
    LogicalPlan made = plan;
    List columns = (List) facts.get("columns");
    if (columns != null) {
      List all = Arrays.asList(new Object[] {new UnresolvedStar(Option.empty())});
      LogicalPlan named = aliased(plan.query(), "rows", columns);
      made = (LogicalPlan) Internals.with(
          made, "query", new Project(Internals.seq(all), named));
    }
    if (columns != null || Boolean.TRUE.equals(facts.get("by_name"))) {
      made = (LogicalPlan) Internals.with(made, "isByName", Boolean.TRUE);
    }
    return evolving(made, (LogicalPlan) Internals.get(plan, "table", null));
  }

  private LogicalPlan evolving(LogicalPlan plan, LogicalPlan table) {
    if (!Boolean.TRUE.equals(facts.get("evolves"))) {
      return plan;
    }
    if (Internals.place(plan, "withSchemaEvolution") >= 0) {
      return (LogicalPlan) Internals.with(plan, "withSchemaEvolution", Boolean.TRUE);
    }
    if (!(table instanceof UnresolvedRelation)) {
      return null;
    }
    Map evolves = Bridge.map(new Object[] {Inserts.EVOLVES, "true"});
    return (LogicalPlan) Internals.with(
        plan, "table",
        Inserts.withOptions(table, ((UnresolvedRelation) table).options(), evolves));
  }

  private static LogicalPlan aliased(LogicalPlan query, String alias, List columns) {
    if (alias == null) {
      return query;
    }
    LogicalPlan named = columns == null
        ? query
        : new UnresolvedSubqueryColumnAliases(Internals.seq(columns), query);
    return new SubqueryAlias(
        new AliasIdentifier(alias, Internals.seq(new ArrayList())), named);
  }

  /** The one column of a query. */
  private Expression expression(Map piece) throws ParseException {
    Expression found = (Expression) ((Project) parsed(piece)).projectList().head();
    return found instanceof UnresolvedAlias
        ? ((UnresolvedAlias) found).child()
        : found instanceof Alias ? ((Alias) found).child() : found;
  }
}
