package io.delta.exceptions;

import java.util.ConcurrentModificationException;
import java.util.Map;
import lakebed.errors.DetailedError;
import lakebed.errors.ErrorDetails;

/** Another commit came first. The name is delta-spark's, which programs and clients know. */
public abstract class DeltaConcurrentModificationException extends ConcurrentModificationException
    implements DetailedError {
  private static final long serialVersionUID = 1L;

  private final ErrorDetails details;

  protected DeltaConcurrentModificationException(String message, ErrorDetails details) {
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
