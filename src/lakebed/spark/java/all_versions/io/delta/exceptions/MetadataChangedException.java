package io.delta.exceptions;

import lakebed.errors.ErrorDetails;

/** Another commit changed the schema or the properties of the table. */
public class MetadataChangedException extends DeltaConcurrentModificationException {
  private static final long serialVersionUID = 1L;

  public MetadataChangedException(String message) {
    this(
        message,
        ErrorDetails.conflict("METADATA_CHANGED", "DELTA_METADATA_CHANGED"));
  }

  public MetadataChangedException(String message, ErrorDetails details) {
    super(message, details);
  }
}
