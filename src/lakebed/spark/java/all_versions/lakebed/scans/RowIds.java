package lakebed.scans;

import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** How the fields of `_metadata` that are about row tracking are computed from a scan. */
public class RowIds {
  private final StructField rowIndex;
  private final StructType stored;
  private final StructType ofFiles;
  private final Map values;

  /** Only to make others with `of`. */
  public RowIds() {
    this(null, null, null, null);
  }

  private RowIds(StructField rowIndex, StructType stored, StructType ofFiles, Map values) {
    this.rowIndex = rowIndex;
    this.stored = stored;
    this.ofFiles = ofFiles;
    this.values = values;
  }

  /**
   * `rowIndex` has one field, the index of a row in its file; `stored` are the columns in which
   * files keep ids, and `ofFiles` hidden partition columns. `values` has a Column for each name in
   * `TrackedParquet.FIELDS`.
   */
  public RowIds of(StructType rowIndex, StructType stored, StructType ofFiles, Map values) {
    return new RowIds(rowIndex.fields()[0], stored, ofFiles, values);
  }

  StructField rowIndex() {
    return rowIndex;
  }

  StructField[] stored() {
    return stored.fields();
  }

  StructField[] ofFiles() {
    return ofFiles.fields();
  }

  /** Null for other fields. */
  Column value(String name) {
    return (Column) values.get(name);
  }
}
