package lakebed.errors;

import java.util.Map;

/** An error of Lakebed that PySpark shows as UnsupportedOperationException. */
class UnsupportedError extends UnsupportedOperationException implements DetailedError {
  private static final long serialVersionUID = 1L;

  private final ErrorDetails details;

  UnsupportedError(String message, ErrorDetails details) {
    super(message);
    this.details = details;
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
