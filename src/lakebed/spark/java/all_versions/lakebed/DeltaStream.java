package lakebed;

import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/** A table as a stream: Python says where it ends and which files are in between. */
public class DeltaStream implements Source, SupportsAdmissionControl, SupportsTriggerAvailableNow {
  private final SparkSession session;
  private final DeltaTable table;
  /** Where a query ends that takes what is there when it starts; null for one that goes on. */
  private String last = null;

  public DeltaStream(SparkSession session, DeltaTable table) {
    this.session = session;
    this.table = table;
  }

  public StructType schema() {
    return table.schema();
  }

  public Option getOffset() {
    throw new UnsupportedOperationException("latestOffset is asked instead");
  }

  public void prepareForTriggerAvailableNow() {
    last = latest(null, null);
  }

  public Offset latestOffset(Offset start, ReadLimit limit) {
    String found = latest(start == null ? null : start.json(), last);
    return found == null ? start : new At(found);
  }

  private String latest(String start, String most) {
    Map request = table.request();
    request.put("start", start);
    request.put("most", most);
    return (String) Bridge.ask("latest_offset", request, session, null);
  }

  public Dataset getBatch(Option start, org.apache.spark.sql.execution.streaming.Offset end) {
    Map request = table.request();
    request.put("start", start.isEmpty() ? null : ((Offset) start.get()).json());
    request.put("end", end.json());
    Dataset rows = (Dataset) Bridge.ask("batch", request, session, null);
    LogicalPlan plan = ((org.apache.spark.sql.classic.Dataset) rows).queryExecution().analyzed();
    return Dataset$.MODULE$.ofRows(session, ResolveReads.asStream(plan));
  }

  public void commit(Offset end) {}

  public void commit(org.apache.spark.sql.execution.streaming.Offset end) {}

  public Offset initialOffset() {
    throw new IllegalStateException("a stream of a Delta table has no offset before its first");
  }

  public Offset deserializeOffset(String json) {
    return new At(json);
  }

  public void stop() {}

  public String toString() {
    return "DeltaSource[" + table.path() + "]";
  }

  /** An offset as Python writes it. */
  static class At extends org.apache.spark.sql.execution.streaming.Offset {
    private final String json;

    At(String json) {
      this.json = json;
    }

    public String json() {
      return json;
    }
  }
}
