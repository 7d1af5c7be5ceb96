package io.delta.exceptions;

import lakebed.errors.ErrorDetails;

/** Another commit has the same application transaction. */
public class ConcurrentTransactionException extends DeltaConcurrentModificationException {
  private static final long serialVersionUID = 1L;

  public ConcurrentTransactionException(String message) {
    this(
        message,
        ErrorDetails.conflict("CONCURRENT_TRANSACTION", "DELTA_CONCURRENT_TRANSACTION"));
  }

  public ConcurrentTransactionException(String message, ErrorDetails details) {
    super(message, details);
  }
}
