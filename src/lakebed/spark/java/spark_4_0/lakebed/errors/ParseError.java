package lakebed.errors;

import java.util.Map;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin$;
import scala.Option;

/** An error of Lakebed that PySpark shows as ParseException. */
class ParseError extends ParseException implements DetailedError {
  private static final long serialVersionUID = 1L;

  private final String text;
  private final ErrorDetails details;

  ParseError(String message, ErrorDetails details) {
    // Spark fills in the message of one of its own conditions, which `getMessage` replaces.
    super(
        Option.empty(),
        CurrentOrigin$.MODULE$.get(),
        CurrentOrigin$.MODULE$.get(),
        "PARSE_EMPTY_STATEMENT",
        Errors.noParameters());
    this.text = message;
    this.details = details;
  }

  public String getMessage() {
    return text;
  }

  public ParseException withCommand(String command) {
    return this;
  }

  public String getCode() {
    return details.getCode();
  }

  public String getCondition() {
    return details.getCondition();
  }

  @SuppressWarnings("deprecation")
  public String getErrorClass() {
    return details.getCondition();
  }

  public String getSqlState() {
    return details.getSqlState();
  }

  public Map getMessageParameters() {
    return details.getParameters();
  }
}
