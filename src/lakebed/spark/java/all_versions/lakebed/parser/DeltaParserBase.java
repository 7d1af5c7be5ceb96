package lakebed.parser;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import lakebed.bridge.Bridge;
import lakebed.bridge.Internals;
import lakebed.commands.Creates;
import lakebed.commands.DeltaCommand;
import lakebed.commands.Inserts;
import lakebed.errors.Errors;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkSqlParser;
import org.apache.spark.sql.internal.VariableSubstitution;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * Spark's parser and the statements that it does not know, such as OPTIMIZE. `DeltaParser` adds
 * what versions of Spark have of their own.
 */
abstract class DeltaParserBase extends SparkSqlParser {
  /** Spark would read DESCRIBE HISTORY t as the column t of a table that is called history. */
  private static final Pattern OURS = Pattern.compile(
      "(?:\\s|--[^\\n]*(?:\\n|$)|/\\*.*?\\*/)*+"
          + "(?:(?:OPTIMIZE|VACUUM|RESTORE|REORG|GENERATE|FSCK|CONVERT|COPY|UNDROP)\\b"
          + "|DESC(?:RIBE)?\\s+(?:HISTORY|DETAIL)\\b).*",
      Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

  private static final List NO_VALUES = new ArrayList();

  protected final SparkSession session;
  protected final ParserInterface spark;

  DeltaParserBase(SparkSession session, ParserInterface spark) {
    this.session = session;
    this.spark = spark;
  }

  public LogicalPlan parsePlan(String text) {
    return parsed(text, null);
  }

  /** @param context the values of parameters; null without any */
  protected LogicalPlan parsed(String text, Object context) {
    try {
      return GuardImmediate.checked(unchecked(text, context), text);
    } catch (StackOverflowError error) {
      throw Errors.nestedTooDeep("SQL", "the statement");
    }
  }

  private LogicalPlan unchecked(String text, Object context) {
    LogicalPlan own = OURS.matcher(text).matches() ? statement(text, context) : null;
    if (own != null) {
      return own;
    }
    try {
      LogicalPlan plan = Inserts.marked(bySpark(text, context));
      own = Scripts.hasOthers(plan, text) ? Scripts.parsed(this, text, context) : null;
      return own == null ? Creates.withProvider(plan) : own;
    } catch (ParseException error) {
      return unknown(text, context, error);
    }
  }

  private LogicalPlan unknown(String text, Object context, ParseException error) {
    LogicalPlan own = statement(text, context);
    try {
      own = own == null ? Scripts.parsed(this, text, context) : own;
    } catch (ParseException other) {
      // It is about the rest of the script.
      Internals.raise(other);
    }
    if (own == null) {
      Internals.raise(error);
    }
    return own;
  }

  /** What Spark makes of a text. */
  protected LogicalPlan bySpark(String text, Object context) throws ParseException {
    return spark.parsePlan(text);
  }

  /** Whether Spark cannot parse a statement, or takes it for another one. */
  boolean isUnknown(String text) {
    if (OURS.matcher(text).matches()) {
      return true;
    }
    try {
      spark.parsePlan(text);
      return false;
    } catch (ParseException error) {
      return true;
    }
  }

  /** The command for a statement of Lakebed's; null if it is none. */
  protected LogicalPlan statement(String text, Object context) {
    return statement(text, context, NO_VALUES, NO_VALUES);
  }

  /** The values for a part of a statement that has some of its question marks. */
  protected Object only(Object context, List marks) {
    return context;
  }

  /**
   * The command for a statement that Python knows; null if it does not.
   *
   * @param names of the values of its parameters, as far as they have some
   */
  protected LogicalPlan statement(String text, Object context, List names, List values) {
    String substituted = new VariableSubstitution().substitute(text);
    Map request = Bridge.map(new Object[] {"text", substituted});
    Map found = Bridge.askForMap("parse", request, session);
    if (!Boolean.TRUE.equals(found.get("known"))) {
      return null;
    }
    if (found.containsKey("rest")) {
      return Rest.parsed(this, found, context);
    }
    List markers = (List) found.get("markers");
    request.put("markers", markers);
    Seq arguments = Parameters.bound(markers, names, values);
    String schema = (String) found.get("schema");
    if (schema == null) {
      // The columns depend on what is in files, which values of parameters may name.
      schema = (String) Bridge.ask("columns", request, session, Internals.list(arguments));
    }
    StructType rows = schema.isEmpty()
        ? new StructType()
        : schema.startsWith("{")
            ? (StructType) DataType.fromJson(schema)
            : StructType.fromDDL(schema);
    return DeltaCommand.of(session, "run", request, null, rows).withArguments(arguments);
  }

  public Expression parseExpression(String text) {
    try {
      return spark.parseExpression(text);
    } catch (ParseException error) {
      Internals.raise(error);
      return null;
    }
  }

  public TableIdentifier parseTableIdentifier(String text) {
    try {
      return spark.parseTableIdentifier(text);
    } catch (ParseException error) {
      Internals.raise(error);
      return null;
    }
  }

  public FunctionIdentifier parseFunctionIdentifier(String text) {
    try {
      return spark.parseFunctionIdentifier(text);
    } catch (ParseException error) {
      Internals.raise(error);
      return null;
    }
  }

  public Seq parseMultipartIdentifier(String text) {
    try {
      return spark.parseMultipartIdentifier(text);
    } catch (ParseException error) {
      Internals.raise(error);
      return null;
    }
  }

  public LogicalPlan parseQuery(String text) {
    try {
      return spark.parseQuery(text);
    } catch (ParseException error) {
      Internals.raise(error);
      return null;
    }
  }

  public StructType parseRoutineParam(String text) {
    try {
      return spark.parseRoutineParam(text);
    } catch (ParseException error) {
      Internals.raise(error);
      return null;
    }
  }

  public StructType parseTableSchema(String text) {
    try {
      return spark.parseTableSchema(text);
    } catch (ParseException error) {
      Internals.raise(error);
      return null;
    }
  }

  public DataType parseDataType(String text) {
    try {
      return spark.parseDataType(text);
    } catch (ParseException error) {
      Internals.raise(error);
      return null;
    }
  }
}
