package lakebed.streams;

import java.util.Map;
import lakebed.bridge.Bridge;
import lakebed.bridge.Internals;
import lakebed.tables.DeltaTable;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD$;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** Each micro-batch is one commit, with the id of the query and the number of the batch. */
public class DeltaSink implements Sink {
  private final SparkSession session;
  private final DeltaTable table;
  private final Seq partitions;
  private final OutputMode mode;

  /** An error if Spark could not write any batch, before the query starts. */
  public DeltaSink(SparkSession session, DeltaTable table, Seq partitions, OutputMode mode) {
    this.session = session;
    this.table = table;
    this.partitions = partitions;
    this.mode = mode;
    Bridge.ask("check_sink", request(), session, null);
  }

  private Map request() {
    Map request = table.request();
    request.put("partition_by", Internals.list(partitions));
    request.put("mode", mode.toString());
    return request;
  }

  public void addBatch(long batch, Dataset given) {
    org.apache.spark.sql.classic.Dataset rows = (org.apache.spark.sql.classic.Dataset) given;
    // As Spark's foreachBatch does: the rows of this batch as a plan without a stream.
    LogicalPlan plan = (LogicalPlan) Internals.invoke(LogicalRDD$.MODULE$, "fromDataset",
        new Object[] {rows.queryExecution().toRdd(), rows, Boolean.FALSE});
    Map request = request();
    request.put("batch", Long.valueOf(batch));
    request.put("query", session.sparkContext().getLocalProperty("sql.streaming.queryId"));
    request.put("reads", BatchReads.of(rows));
    Bridge.ask("add_batch", request, rows.sparkSession(),
        Dataset$.MODULE$.ofRows(rows.sparkSession(), plan));
  }

  public String name() {
    return "delta";
  }

  @SuppressWarnings("deprecation")
  public StructType schema() {
    return new StructType();
  }

  public java.util.Set capabilities() {
    return java.util.Collections.emptySet();
  }

  public String toString() {
    return "DeltaSink[" + table.path() + "]";
  }
}
