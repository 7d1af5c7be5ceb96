package io.delta.exceptions;

import lakebed.errors.ErrorDetails;

/** Another commit removed files that the operation has read. */
public class ConcurrentDeleteReadException extends DeltaConcurrentModificationException {
  private static final long serialVersionUID = 1L;

  public ConcurrentDeleteReadException(String message) {
    this(
        message,
        ErrorDetails.conflict(
            "CONCURRENT_DELETE_READ", "DELTA_CONCURRENT_DELETE_READ.WITHOUT_HINT"));
  }

  public ConcurrentDeleteReadException(String message, ErrorDetails details) {
    super(message, details);
  }
}
