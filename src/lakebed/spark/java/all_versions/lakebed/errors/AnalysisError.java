package lakebed.errors;

import java.util.Map;
import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.trees.Origin;
import scala.Option;

/** An error of Lakebed that PySpark shows as AnalysisException. */
class AnalysisError extends AnalysisException implements DetailedError {
  private static final long serialVersionUID = 1L;

  private final ErrorDetails details;

  AnalysisError(String message, ErrorDetails details) {
    super(
        message,
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.apply(details.getCondition()),
        Errors.scalaMap(details),
        new QueryContext[0]);
    this.details = details;
  }

  public String getCode() {
    return details.getCode();
  }

  /** A copy with the position would be of Spark's own class, which does not know the condition. */
  public AnalysisException withPosition(Origin origin) {
    return this;
  }

  public String getSqlState() {
    return details.getSqlState();
  }

  public Map getMessageParameters() {
    return details.getParameters();
  }
}
