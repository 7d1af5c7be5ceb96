package lakebed.scans;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import lakebed.bridge.Bridge;
import lakebed.bridge.LentSessions;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.ArraySeq;
import scala.collection.immutable.Seq;

/**
 * The files of a table in an analyzed plan. Which version they are of is decided for each query.
 *
 * Spark compares analyzed plans to find cached data, so an index that follows its table is equal to
 * every other one of the same table. `DeltaScans` replaces it by a `DeltaFiles` of one version when
 * Spark optimizes a query; nothing can be read from it before.
 *
 * Spark's own Janino compiles this in the driver; Janino knows no lambdas and erases generics.
 */
public class TableFiles implements FileIndex {
  private final BiFunction python;
  private final WeakReference asking = LentSessions.asking();
  private final String key;
  private final String name;
  private final String root;
  private final StructType partitions;
  private final boolean timeTravel;
  private final boolean follows;
  private DeltaFiles current = null;
  private DeltaFiles tracked = null;
  /** Of these two the one that the last query has read. */
  private DeltaFiles read = null;

  /** Only to create others with `of`. */
  public TableFiles() {
    this(null, "", "", "", null, false, false);
  }

  private TableFiles(
      BiFunction python,
      String key,
      String name,
      String root,
      StructType partitions,
      boolean timeTravel,
      boolean follows) {
    this.python = python;
    this.key = key;
    this.name = name;
    this.root = root;
    this.partitions = partitions;
    this.timeTravel = timeTravel;
    this.follows = follows;
  }

  /** `python` answers with a DeltaFiles, or with null if the one whose name it gets is right. */
  public TableFiles of(
      BiFunction python,
      String key,
      String name,
      String root,
      StructType partitions,
      boolean timeTravel,
      boolean follows) {
    return new TableFiles(python, key, name, root, partitions, timeTravel, follows);
  }

  /** Of this index alone. */
  public String key() {
    return key;
  }

  public boolean follows() {
    return follows;
  }

  /** `versions` has the names of the DeltaFiles that a query reads, by the folders of tables. */
  public synchronized DeltaFiles files(Map versions, boolean isTracked) {
    if (!follows) {
      return asked("pinned", isTracked);
    }
    String chosen = (String) versions.get(root);
    DeltaFiles found = asked(chosen == null ? "newest" : "same\0" + chosen, isTracked);
    versions.put(root, found.toString());
    return found;
  }

  /** The name of the files that the last query has read; null before the first. */
  public synchronized String chosen() {
    return read == null ? null : read.toString();
  }

  /** With the ids of rows it is another index, which has every file apart. */
  private DeltaFiles asked(String request, boolean isTracked) {
    DeltaFiles last = isTracked ? tracked : current;
    if (last == null || (follows && !request.equals("same\0" + last))) {
      String known = last == null ? "" : last.toString();
      String what = isTracked ? "tracked " + request : request;
      Object found = Bridge.apply(python, asking, what + "\0" + known, null);
      last = found == null ? last : (DeltaFiles) found;
    }
    if (isTracked) {
      tracked = last;
    } else {
      current = last;
    }
    read = last;
    return last;
  }

  // --- what Spark asks of an index ---

  public Seq rootPaths() {
    List roots = new ArrayList();
    roots.add(new Path(root));
    return ArraySeq.unsafeWrapArray(roots.toArray());
  }

  public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
    throw notChosen();
  }

  public String[] inputFiles() {
    throw notChosen();
  }

  private IllegalStateException notChosen() {
    return new IllegalStateException(
        name + " was not given a version: the optimizer rule lakebed.scans.DeltaScans did not run. "
            + "Check spark.sql.optimizer.excludedRules, and enable the session with"
            + " lakebed.enable");
  }

  public synchronized long sizeInBytes() {
    return current == null
        ? ((Number) Bridge.apply(python, asking, "size", null)).longValue()
        : current.sizeInBytes();
  }

  public void refresh() {}

  public StructType partitionSchema() {
    return partitions;
  }

  public Option metadataOpsTimeNs() {
    return Option.empty();
  }

  public boolean isTimeTravel() {
    return timeTravel;
  }

  public String toString() {
    return name;
  }

  public boolean equals(Object other) {
    return other instanceof TableFiles && name.equals(other.toString());
  }

  public int hashCode() {
    return name.hashCode();
  }
}
