package lakebed.tables;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.SupportsDynamicOverwrite;
import org.apache.spark.sql.connector.write.SupportsOverwriteV2;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.InsertableRelation;

/**
 * A write that Spark plans by itself, which only happens to tables in the making (`StagedTable`):
 * `ResolveCommands` takes all others.
 */
public class DeltaWrite
    implements V1Write, SupportsOverwriteV2, SupportsDynamicOverwrite, InsertableRelation {
  private final DeltaTable table;
  private final Map options;

  public DeltaWrite(DeltaTable table, Map options) {
    this.table = table;
    this.options = new HashMap(options);
  }

  public Write build() {
    return this;
  }

  public WriteBuilder truncate() {
    return this;
  }

  public WriteBuilder overwrite(Predicate[] predicates) {
    throw new UnsupportedOperationException("an overwrite was not handed to Lakebed");
  }

  public WriteBuilder overwriteDynamicPartitions() {
    throw new UnsupportedOperationException("an overwrite was not handed to Lakebed");
  }

  public InsertableRelation toInsertableRelation() {
    return this;
  }

  public void insert(Dataset rows, boolean overwrite) {
    table.write(overwrite ? "overwrite" : "append", options, rows);
  }
}
