package lakebed.tables;

import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructType;

/** The table that a statement changes. Its columns come from the log alone: nothing reads it. */
public class DeltaTarget extends DeltaTable {
  public DeltaTarget(
      SparkSession session, String name, String path, Map options, CatalogTable entry) {
    super(session, name, path, options, entry);
  }

  public StructType schema() {
    return storedSchema();
  }
}
