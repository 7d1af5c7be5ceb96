package io.delta.exceptions;

import lakebed.errors.ErrorDetails;

/** Another commit removed files that the operation removes. */
public class ConcurrentDeleteDeleteException extends DeltaConcurrentModificationException {
  private static final long serialVersionUID = 1L;

  public ConcurrentDeleteDeleteException(String message) {
    this(
        message,
        ErrorDetails.conflict(
            "CONCURRENT_DELETE_DELETE", "DELTA_CONCURRENT_DELETE_DELETE.WITHOUT_HINT"));
  }

  public ConcurrentDeleteDeleteException(String message, ErrorDetails details) {
    super(message, details);
  }
}
