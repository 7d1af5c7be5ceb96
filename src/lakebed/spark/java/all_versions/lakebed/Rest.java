package lakebed;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Statements that Spark parses once a clause is taken out of them. Python says where the clause is,
 * and Spark parses the rest and the parts of the clause, each at its place in the statement.
 */
final class Rest {
  private final DeltaParserBase parser;
  private final Map found;
  private final Map facts;
  private final Object context;

  private Rest(DeltaParserBase parser, Map found, Object context) {
    this.parser = parser;
    this.found = found;
    this.facts = (Map) found.get("facts");
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
      return new Rest(parser, found, context).parsed();
    } catch (ParseException error) {
      return null;
    }
  }

  private LogicalPlan parsed() throws ParseException {
    LogicalPlan rest = parsed((Map) found.get("rest"));
    return Creates.withProperties(rest, (Map) facts.get("properties"), parser.session);
  }

  private LogicalPlan parsed(Map piece) throws ParseException {
    return parser.bySpark((String) piece.get("text"), parser.only(context, marks(piece)));
  }

  private static List marks(Map piece) {
    return (List) piece.get("marks");
  }
}
