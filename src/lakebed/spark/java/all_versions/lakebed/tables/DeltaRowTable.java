package lakebed.tables;

import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;

/**
 * The table for readers that ask the catalog whether its rows can be changed, such as AUTO CDC of
 * Declarative Pipelines. Targets of statements are loaded with the privileges that they need, as
 * another class: Spark would rewrite DELETE, UPDATE and MERGE on this one before Lakebed's rule
 * could.
 */
public class DeltaRowTable extends DeltaTable implements SupportsRowLevelOperations {
  public DeltaRowTable(
      SparkSession session, String name, String path, Map options, CatalogTable entry) {
    super(session, name, path, options, entry);
  }

  public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
    throw new UnsupportedOperationException(
        info.command() + " on " + name + " was not handed to Lakebed");
  }
}
