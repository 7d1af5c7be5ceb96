package lakebed.tables;

import java.util.HashMap;
import java.util.Map;
import lakebed.bridge.Bridge;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.types.StructType;

/** A table in the making: name, definition and rows go to Python together, for one commit. */
public class StagedDeltaTable extends DeltaTable implements StagedTable {
  private final StructType schema;
  private final Transform[] partitions;
  private final Map definition;
  private Dataset rows;

  StagedDeltaTable(
      SparkSession session,
      String name,
      StructType schema,
      Transform[] partitions,
      Map definition) {
    super(session, name, null, new HashMap(), null);
    this.schema = schema;
    this.partitions = partitions;
    this.definition = definition;
  }

  public StructType schema() {
    return schema;
  }

  public Transform[] partitioning() {
    return partitions;
  }

  public Map properties() {
    return new HashMap();
  }

  /** Remembers the rows; nothing is written before all of the table is known. */
  public void write(String mode, Map options, Dataset given) {
    rows = given;
    definition.put("options", options);
  }

  public void commitStagedChanges() {
    Bridge.ask("create", definition, session, rows);
  }

  public void abortStagedChanges() {}

  /** From 4.3 on two interfaces have it. */
  public CustomTaskMetric[] reportDriverMetrics() {
    return new CustomTaskMetric[0];
  }
}
