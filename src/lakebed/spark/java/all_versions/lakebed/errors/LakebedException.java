package lakebed.errors;

import java.util.Map;

/** An error of Lakebed for which Spark has no class of its own. */
public class LakebedException extends RuntimeException implements DetailedError {
  private static final long serialVersionUID = 1L;

  private final ErrorDetails details;

  public LakebedException(String message, ErrorDetails details, Throwable cause) {
    super(message, cause);
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
