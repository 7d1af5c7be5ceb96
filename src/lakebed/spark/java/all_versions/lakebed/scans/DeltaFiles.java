package lakebed.scans;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import lakebed.bridge.Bridge;
import lakebed.bridge.LentSessions;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.TwoDArrayWritable;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.InternalRow$;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.ArraySeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Spark's FileIndex over the files of one version of a table, which a Python object knows.
 *
 * Spark asks an index some fifteen times for each scan that it plans: where it is, how large it is,
 * whether it equals another one. What never changes is answered here. Python is asked which files
 * there are, once for each set of filters, with their texts in hand so that it need not ask back.
 *
 * Spark's own Janino compiles this in the driver; Janino knows no lambdas and erases generics.
 */
public class DeltaFiles implements FileIndex, BiFunction {
  private static final int MOST_ANSWERS = 8;
  private static final int MOST_FILES = 100000;

  private final BiFunction python;
  private final WeakReference asking = LentSessions.asking();
  private final String name;
  private final Seq roots;
  private final StructType partitions;
  private final boolean timeTravel;
  private final Column kept;
  private final StructField[] hidden;
  private RowIds rowIds = null;
  private Long size = null;
  private List recent = new ArrayList();

  /** Only to make others with `of`. */
  public DeltaFiles() {
    this(null, "", null, null, false, null, null);
  }

  private DeltaFiles(
      BiFunction python,
      String name,
      Seq roots,
      StructType partitions,
      boolean timeTravel,
      Column kept,
      StructField[] hidden) {
    this.python = python;
    this.name = name;
    this.roots = roots;
    this.partitions = partitions;
    this.timeTravel = timeTravel;
    this.kept = kept;
    this.hidden = hidden;
  }

  /**
   * `kept` is the condition that leaves out deleted rows, null if there are none. It is on the two
   * columns in `hidden`: the index of a row in its file, and what the file's deletion vector says.
   */
  public DeltaFiles of(
      BiFunction python,
      String name,
      String root,
      StructType partitions,
      boolean timeTravel,
      Column kept,
      StructType hidden) {
    List roots = new ArrayList();
    roots.add(new Path(root));
    StructField[] columns = hidden == null ? null : hidden.fields();
    return new DeltaFiles(python, name, seq(roots), partitions, timeTravel, kept, columns);
  }

  /** What `_metadata` says of rows: set once, before Spark gets the index. */
  public DeltaFiles withRowIds(RowIds found) {
    rowIds = found;
    return this;
  }

  public RowIds rowIds() {
    return rowIds;
  }

  public Column kept() {
    return kept;
  }

  public StructField[] hidden() {
    return hidden;
  }

  // --- what never changes ---

  public Seq rootPaths() {
    return roots;
  }

  public StructType partitionSchema() {
    return partitions;
  }

  public Option metadataOpsTimeNs() {
    return Option.empty();
  }

  public boolean isTimeTravel() {
    return timeTravel;
  }

  /** A version never changes. */
  public void refresh() {}

  public synchronized long sizeInBytes() {
    if (size == null) {
      size = Long.valueOf(((Number) Bridge.apply(python, asking, "size", null)).longValue());
    }
    return size.longValue();
  }

  public String toString() {
    return name;
  }

  /** Two indexes are equal if they are of one version; Spark then reuses what it cached. */
  public boolean equals(Object other) {
    return other instanceof DeltaFiles && name.equals(other.toString());
  }

  public int hashCode() {
    return name.hashCode();
  }

  // --- what Python knows ---

  public String[] inputFiles() {
    byte[] encoded = (byte[]) Bridge.apply(python, asking, "names", null);
    String names = new String(encoded, StandardCharsets.UTF_8);
    return names.isEmpty() ? new String[0] : names.split("\0", -1);
  }

  public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
    Seq known = find(partitionFilters, dataFilters);
    if (known != null) {
      return known;
    }
    List filters = new ArrayList(CollectionConverters.asJava(partitionFilters));
    int count = filters.size();
    filters.addAll(CollectionConverters.asJava(dataFilters));
    StringBuilder request = new StringBuilder("list\0").append(count);
    for (int i = 0; i < filters.size(); i++) {
      request.append("\0").append(((TreeNode) filters.get(i)).toJSON());
    }
    Object answer = Bridge.apply(python, asking, request.toString(), filters.toArray());
    Seq found = answer instanceof Seq ? (Seq) answer : inOneFolder((byte[]) answer);
    // A plan in a filter would stay, with all that it has computed, for as long as this index.
    if (!holdsPlan(partitionFilters) && !holdsPlan(dataFilters)) {
      remember(new Answer(partitionFilters, dataFilters, found));
    }
    return found;
  }

  /** Aggregates over all rows, for the rule of Lakebed in Spark's optimizer. */
  public Object apply(Object request, Object filters) {
    return Bridge.apply(python, asking, "aggregates\0" + request, filters);
  }

  // --- answers ---

  /** Files as `java_indexes.py` encodes them, group by group, each group with a row of values. */
  public Seq directories(Object rows, byte[] encoded) {
    FileStatus[][] groups = statuses(encoded);
    List found = new ArrayList();
    for (int i = 0; i < groups.length; i++) {
      InternalRow row = (InternalRow) ((Object[]) rows)[i];
      found.add(PartitionDirectory.apply(row, groups[i]));
    }
    return seq(found);
  }

  public FileStatus[][] statuses(byte[] encoded) {
    try {
      TwoDArrayWritable groups = new TwoDArrayWritable(FileStatus.class);
      groups.readFields(new DataInputStream(new ByteArrayInputStream(encoded)));
      return (FileStatus[][]) groups.toArray();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** Whether some of the expressions has a value that another plan gives. */
  public boolean holdsPlan(Seq expressions) {
    String text = expressions.toString().toLowerCase();
    return text.contains("subquery") || text.contains("dynamicpruning");
  }

  /** Of tables without partitions all files are in one group, if any file is left. */
  private Seq inOneFolder(byte[] encoded) {
    if (encoded == null) {
      return seq(new ArrayList());
    }
    return directories(new Object[] {InternalRow$.MODULE$.empty()}, encoded);
  }

  private synchronized Seq find(Seq partitionFilters, Seq dataFilters) {
    for (int i = 0; i < recent.size(); i++) {
      Answer each = (Answer) recent.get(i);
      // Texts would not do: they leave out the values of long lists, and time zones.
      if (each.partitionFilters.equals(partitionFilters) && each.dataFilters.equals(dataFilters)) {
        return each.files;
      }
    }
    return null;
  }

  /** The last few: Spark asks again whenever a DataFrame runs again. */
  private synchronized void remember(Answer newest) {
    List kept = new ArrayList();
    int files = 0;
    for (int i = -1; i < recent.size() && kept.size() < MOST_ANSWERS; i++) {
      Answer each = i < 0 ? newest : (Answer) recent.get(i);
      files += each.count();
      if (files > MOST_FILES) {
        break;
      }
      kept.add(each);
    }
    recent = kept;
  }

  private static Seq seq(List values) {
    return ArraySeq.unsafeWrapArray(values.toArray());
  }

  private static class Answer {
    final Seq partitionFilters;
    final Seq dataFilters;
    final Seq files;

    Answer(Seq partitionFilters, Seq dataFilters, Seq files) {
      this.partitionFilters = partitionFilters;
      this.dataFilters = dataFilters;
      this.files = files;
    }

    int count() {
      int count = 0;
      for (int i = 0; i < files.length(); i++) {
        count += ((PartitionDirectory) files.apply(i)).files().length();
      }
      return count;
    }
  }
}
