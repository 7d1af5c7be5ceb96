package lakebed.streams;

import java.lang.ref.WeakReference;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import lakebed.bridge.Bridge;
import lakebed.bridge.Internals;
import lakebed.commands.ResolveReads;
import lakebed.errors.Errors;
import lakebed.tables.DeltaTable;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.read.streaming.CompositeReadLimit;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxBytes;
import org.apache.spark.sql.connector.read.streaming.ReadMaxFiles;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.execution.LogicalRDD$;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/** A table as the source of a query. A Python object, one for each, knows offsets and files. */
public class DeltaStream
    implements Source, SupportsAdmissionControl, SupportsTriggerAvailableNow, ReportsSourceMetrics {
  private final SparkSession session;
  private final WeakReference asking;
  private final DeltaTable table;
  private final BiFunction python;
  private final StructType schema;

  /** `metadata` is the folder of the source in the checkpoint of the query. */
  public DeltaStream(SparkSession session, DeltaTable table, String metadata) {
    this.session = session;
    this.asking = new WeakReference(session);
    this.table = table;
    Map request = table.request();
    request.put("metadata", metadata);
    this.python = (BiFunction) Bridge.ask("open_stream", request, session, null);
    this.schema = (StructType) DataType.fromJson((String) ask("schema", new Object[] {}));
  }

  /** The columns that a stream of the table has when its query is analyzed. */
  public static StructType schema(SparkSession session, DeltaTable table) {
    return (StructType) DataType.fromJson(
        (String) Bridge.ask("stream_schema", table.request(), session, null));
  }

  private Object ask(String what, Object[] values) {
    try {
      return Bridge.apply(python, asking, what, values);
    } catch (RuntimeException error) {
      throw Errors.detailed(error);
    }
  }

  public StructType schema() {
    return schema;
  }

  public Option getOffset() {
    throw new UnsupportedOperationException("latestOffset is asked instead");
  }

  // --- offsets ---

  public void prepareForTriggerAvailableNow() {
    ask("prepare", new Object[] {});
  }

  public ReadLimit getDefaultReadLimit() {
    String[] limits = ((String) ask("limit", new Object[] {})).split(",", -1);
    boolean anyFiles = limits[0].isEmpty();
    if (limits[1].isEmpty()) {
      return ReadLimit.maxFiles(anyFiles ? MAX_FILES : Integer.parseInt(limits[0]));
    }
    ReadLimit bytes = ReadLimit.maxBytes(Long.parseLong(limits[1]));
    return anyFiles ? bytes : ReadLimit.compositeLimit(
        new ReadLimit[] {bytes, ReadLimit.maxFiles(Integer.parseInt(limits[0]))});
  }

  private static final int MAX_FILES = 1000;

  public Offset latestOffset(Offset start, ReadLimit limit) {
    String found = (String) ask("latest", new Object[] {json(start), text(limit)});
    return found == null ? null : new At(found);
  }

  /** The largest number of files and of bytes with a comma in between; null for all there is. */
  private static String text(ReadLimit limit) {
    String files = "";
    String bytes = "";
    ReadLimit[] all = limit instanceof CompositeReadLimit
        ? ((CompositeReadLimit) limit).getReadLimits() : new ReadLimit[] {limit};
    for (int i = 0; i < all.length; i++) {
      if (all[i] instanceof ReadAllAvailable) {
        return null;
      } else if (all[i] instanceof ReadMaxFiles) {
        files = String.valueOf(((ReadMaxFiles) all[i]).maxFiles());
      } else if (all[i] instanceof ReadMaxBytes) {
        bytes = String.valueOf(((ReadMaxBytes) all[i]).maxBytes());
      } else {
        throw new UnsupportedOperationException(
            "a stream of a Delta table cannot be limited by " + all[i]
                + "; maxFilesPerTrigger and maxBytesPerTrigger limit it");
      }
    }
    return files + "," + bytes;
  }

  private static String json(Object offset) {
    return offset == null ? null : ((Offset) offset).json();
  }

  public Offset initialOffset() {
    throw new IllegalStateException("a stream of a Delta table has no offset before its first");
  }

  public Offset deserializeOffset(String json) {
    return new At(json);
  }

  // --- batches ---

  public Dataset getBatch(Option start, org.apache.spark.sql.execution.streaming.Offset end) {
    Object from = start.isEmpty() ? null : start.get();
    Dataset rows = (Dataset) ask("batch", new Object[] {json(from), json(end)});
    org.apache.spark.sql.classic.Dataset found = (org.apache.spark.sql.classic.Dataset) rows;
    LogicalPlan plan = ResolveReads.asStream(found.queryExecution().analyzed());
    if (!plan.isStreaming()) {
      // Python workers read it: such a relation cannot be marked as a stream.
      plan = (LogicalPlan) Internals.invoke(LogicalRDD$.MODULE$, "fromDataset",
          new Object[] {found.queryExecution().toRdd(), found, Boolean.TRUE});
    }
    return Dataset$.MODULE$.ofRows(session, plan);
  }

  public void commit(Offset end) {
    ask("commit", new Object[] {json(end)});
  }

  public void commit(org.apache.spark.sql.execution.streaming.Offset end) {
    ask("commit", new Object[] {json(end)});
  }

  public void stop() {}

  /** What the query has not read yet, for its progress. */
  public Map metrics(Optional consumed) {
    Map numbers = Bridge.mapOf((String) ask("metrics", new Object[] {json(consumed.orElse(null))}));
    Map found = new LinkedHashMap();
    for (Iterator names = numbers.keySet().iterator(); names.hasNext();) {
      Object name = names.next();
      found.put(name, String.valueOf(numbers.get(name)));
    }
    return found;
  }

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
