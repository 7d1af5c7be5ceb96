package lakebed.errors;

import java.io.Serializable;
import java.util.Collections;
import java.util.Map;

/** What an error of Lakebed tells beside its message: Lakebed's code, and delta-spark's names. */
public final class ErrorDetails implements Serializable {
  private static final long serialVersionUID = 1L;

  private final String code;
  private final String condition;
  private final String sqlState;
  private final Map parameters;

  ErrorDetails(String code, String condition, String sqlState, Map parameters) {
    this.code = code;
    this.condition = condition;
    this.sqlState = sqlState;
    this.parameters = parameters;
  }

  /** For what has no other name than Lakebed's. */
  public static ErrorDetails of(String code) {
    return new ErrorDetails(code, code, "KD000", Collections.emptyMap());
  }

  /** Also for who creates one of delta-spark's exceptions with a message alone. */
  public static ErrorDetails conflict(String code, String condition) {
    return new ErrorDetails(code, condition, "2D521", Collections.emptyMap());
  }

  public String getCode() {
    return code;
  }

  public String getCondition() {
    return condition;
  }

  public String getSqlState() {
    return sqlState;
  }

  public Map getParameters() {
    return Collections.unmodifiableMap(parameters);
  }
}
