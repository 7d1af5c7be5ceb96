package lakebed.tables;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import lakebed.bridge.Bridge;
import lakebed.bridge.Internals;
import lakebed.commands.ResolveReads;
import lakebed.errors.Errors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TruncatableTable;
import org.apache.spark.sql.connector.catalog.V2TableWithV1Fallback;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/**
 * A Delta table for Spark's catalogs. Nothing is opened before Spark asks for its columns: writes
 * load tables that do not exist yet.
 *
 * Queries never scan it. `ResolveReads` replaces it by a plan over Spark's own Parquet reader, and
 * `ResolveCommands` turns what changes it into commands.
 */
public class DeltaTable
    implements V2TableWithV1Fallback, SupportsRead, SupportsWrite, TruncatableTable {
  protected final SparkSession session;
  protected final String name;
  protected final String path;
  public final Map options;
  /** What the session catalog has under the name; null for a path. */
  protected final CatalogTable entry;
  private Map described;
  private LogicalPlan plan;

  public DeltaTable(
      SparkSession session, String name, String path, Map options, CatalogTable entry) {
    this.session = session;
    this.name = name;
    this.path = path;
    this.options = options;
    this.entry = entry;
  }

  public String path() {
    return path;
  }

  public boolean isPath() {
    return entry == null;
  }

  /** A plan that reads the table, under whatever expression ids. */
  public synchronized LogicalPlan plan() {
    if (plan == null) {
      plan = plan(options);
    }
    return plan;
  }

  /** The same with options of the query, such as readChangeFeed. */
  public LogicalPlan planWith(Map more) {
    Map all = new LinkedHashMap(options);
    all.putAll(more);
    return all.equals(options) ? plan() : plan(all);
  }

  private LogicalPlan plan(Map all) {
    Map request = request();
    request.put("options", all);
    Dataset frame = (Dataset) asked("read", request);
    LogicalPlan made = ((org.apache.spark.sql.classic.Dataset) frame).queryExecution().analyzed();
    return entry == null ? made : ResolveReads.withEntry(made, Option.apply(entry));
  }

  /** A folder without a table raises Spark's own error, which `tableExists` understands. */
  private Object asked(String what, Map request) {
    try {
      return Bridge.ask(what, request, session, null);
    } catch (Exception error) {
      if (!isPath() || !Errors.hasCode(error, "TABLE_NOT_FOUND")) {
        Internals.raise(error);
      }
      NoSuchTableException notFound =
          new NoSuchTableException(Identifier.of(new String[] {"delta"}, String.valueOf(path)));
      notFound.addSuppressed(error);
      Internals.raise(notFound);
      return null;
    }
  }

  public Map request() {
    Map made = Bridge.map(new Object[] {
        "path", path, "name", name, "options", options, "is_name", Boolean.valueOf(entry != null)});
    if (entry != null) {
      List parts = new ArrayList();
      parts.add(entry.identifier().database().get());
      parts.add(entry.identifier().table());
      made.put("parts", parts);
    }
    return made;
  }

  private synchronized Map described() {
    if (described == null) {
      described = Bridge.askForMap("describe", request(), session);
    }
    return described;
  }

  public String name() {
    return name;
  }

  /** Tables that a query reads are opened once, for their columns and their plan. */
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return plan().schema();
  }

  /** As the log has it, with what Spark needs to know of defaults. */
  public StructType storedSchema() {
    return (StructType) DataType.fromJson((String) described().get("schema"));
  }

  public Transform[] partitioning() {
    List columns = partitionColumns();
    List clustering = (List) described().get("clusterBy");
    boolean isClustered = !clustering.isEmpty();
    Transform[] found = new Transform[columns.size() + (isClustered ? 1 : 0)];
    for (int i = 0; i < columns.size(); i++) {
      found[i] = Expressions.identity(Internals.quoted((String) columns.get(i)));
    }
    if (isClustered) {
      List references = new ArrayList();
      for (int i = 0; i < clustering.size(); i++) {
        references.add(new FieldReference(Internals.seq((List) clustering.get(i))));
      }
      found[columns.size()] = new org.apache.spark.sql.connector.expressions.ClusterByTransform(
          Internals.seq(references));
    }
    return found;
  }

  public List partitionColumns() {
    return (List) described().get("partitionBy");
  }

  public Map properties() {
    Map found = new LinkedHashMap((Map) described().get("properties"));
    found.put("provider", "delta");
    found.put("location", path);
    Object comment = described().get("comment");
    if (comment != null) {
      found.put("comment", comment);
    }
    if (entry != null) {
      found.put("owner", entry.owner());
      // An embedded catalog knows better than its copy in Spark's.
      Object kind = described().get("kind");
      kind = kind == null ? entry.tableType().name() : kind;
      found.put("table_type", kind);
      if (!kind.equals("MANAGED")) {
        found.put("external", "true");
      } else {
        found.put("is_managed_location", "true");
      }
    }
    return found;
  }

  public Set capabilities() {
    Set found = new HashSet();
    found.add(TableCapability.BATCH_READ);
    found.add(TableCapability.V1_BATCH_WRITE);
    found.add(TableCapability.ACCEPT_ANY_SCHEMA);
    found.add(TableCapability.OVERWRITE_BY_FILTER);
    found.add(TableCapability.OVERWRITE_DYNAMIC);
    found.add(TableCapability.TRUNCATE);
    return found;
  }

  public CatalogTable v1Table() {
    if (entry == null) {
      throw Errors.analysis(
          "UNSUPPORTED_FEATURE",
          "a stream in SQL needs the name of a table, which " + path
              + " is not\n  hint: create a table with this location, or read it with"
              + " spark.readStream.format(\"delta\").load");
    }
    return entry;
  }

  /** DESCRIBE asks it for statistics. */
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap given) {
    return new DeltaScan(schema());
  }

  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new DeltaWrite(this, info.options().asCaseSensitiveMap());
  }

  /** Writes rows whose columns go by their names. */
  public void write(String mode, Map given, Dataset rows) {
    Map request = request();
    request.put("mode", mode);
    request.put("options", given);
    Bridge.ask("save", request, session, rows);
  }

  public boolean truncateTable() {
    Bridge.ask("truncate", request(), session, null);
    return true;
  }

  public boolean equals(Object other) {
    if (other == null || other.getClass() != getClass()) {
      return false;
    }
    DeltaTable that = (DeltaTable) other;
    return String.valueOf(path).equals(String.valueOf(that.path))
        && name.equals(that.name)
        && new HashMap(options).equals(new HashMap(that.options));
  }

  public int hashCode() {
    return name.hashCode();
  }

  public String toString() {
    return "Delta[" + path + "]";
  }
}
