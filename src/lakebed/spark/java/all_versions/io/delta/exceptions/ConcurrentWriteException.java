package io.delta.exceptions;

import lakebed.errors.ErrorDetails;

/** Another commit wrote to the table after it was read. */
public class ConcurrentWriteException extends DeltaConcurrentModificationException {
  private static final long serialVersionUID = 1L;

  public ConcurrentWriteException(String message) {
    this(
        message,
        ErrorDetails.conflict("CONCURRENT_WRITE", "DELTA_CONCURRENT_WRITE"));
  }

  public ConcurrentWriteException(String message, ErrorDetails details) {
    super(message, details);
  }
}
