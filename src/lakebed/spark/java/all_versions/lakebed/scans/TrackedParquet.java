package lakebed.scans;

import java.util.List;
import lakebed.bridge.Internals;
import org.apache.spark.sql.catalyst.expressions.FileSourceConstantMetadataStructField$;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * The format of tables with row tracking in analyzed plans: `_metadata` has the ids of rows too.
 *
 * `DeltaScans` puts Spark's own format in its place, and computes the ids, before a plan runs:
 * executors do not have this class.
 */
public class TrackedParquet extends ParquetFileFormat {
  private static final long serialVersionUID = 1L;
  /** In the order that delta-spark has them. */
  static final String[] FIELDS = {
    "row_id", "base_row_id", "default_row_commit_version", "row_commit_version"
  };

  public Seq metadataSchemaFields() {
    List fields = Internals.list(super.metadataSchemaFields());
    for (int i = 0; i < FIELDS.length; i++) {
      fields.add(FileSourceConstantMetadataStructField$.MODULE$.apply(
          FIELDS[i], (DataType) LongType$.MODULE$, true));
    }
    return Internals.seq(fields);
  }

  /** Whether a column with the facts of files has one of these fields. */
  static boolean isTracked(DataType metadata) {
    if (metadata instanceof StructType) {
      for (int i = 0; i < FIELDS.length; i++) {
        if (((StructType) metadata).getFieldIndex(FIELDS[i]).isDefined()) {
          return true;
        }
      }
    }
    return false;
  }
}
