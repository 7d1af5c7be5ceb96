package io.delta.exceptions;

import lakebed.errors.ErrorDetails;

/** Another commit changed the protocol of the table. */
public class ProtocolChangedException extends DeltaConcurrentModificationException {
  private static final long serialVersionUID = 1L;

  public ProtocolChangedException(String message) {
    this(
        message,
        ErrorDetails.conflict("PROTOCOL_CHANGED", "DELTA_PROTOCOL_CHANGED"));
  }

  public ProtocolChangedException(String message, ErrorDetails details) {
    super(message, details);
  }
}
