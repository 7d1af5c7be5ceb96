package io.delta.exceptions;

import lakebed.errors.ErrorDetails;

/** Another commit added files that the operation would have read. */
public class ConcurrentAppendException extends DeltaConcurrentModificationException {
  private static final long serialVersionUID = 1L;

  public ConcurrentAppendException(String message) {
    this(
        message,
        ErrorDetails.conflict(
            "CONCURRENT_APPEND", "DELTA_CONCURRENT_APPEND.WITHOUT_HINT"));
  }

  public ConcurrentAppendException(String message, ErrorDetails details) {
    super(message, details);
  }
}
