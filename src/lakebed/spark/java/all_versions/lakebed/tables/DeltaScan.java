package lakebed.tables;

import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;

/** Tells columns and nothing else. */
public class DeltaScan implements Scan, ScanBuilder {
  private final StructType schema;

  public DeltaScan(StructType schema) {
    this.schema = schema;
  }

  public Scan build() {
    return this;
  }

  public StructType readSchema() {
    return schema;
  }
}
