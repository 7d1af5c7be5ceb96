package lakebed.scans;

import java.io.IOException;
import java.lang.reflect.Method;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import lakebed.bridge.Internals;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.internal.io.FileCommitProtocol;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.datasources.BasicWriteJobStatsTracker;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileFormatWriter;
import org.apache.spark.sql.execution.streaming.ManifestFileCommitProtocol;
import org.apache.spark.util.SerializableConfiguration;
import scala.Option;
import scala.Product;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;

/** Spark's writer of files, straight into the folder of a table. */
public class TableWrites {
  /** Sets names and values, which take turns. */
  public void configure(Configuration settings, String[] pairs) {
    for (int i = 0; i < pairs.length; i += 2) {
      settings.set(pairs[i], pairs[i + 1]);
    }
  }

  /**
   * Writes all rows of a query whose last columns are the partition columns. Each line of the
   * result is a file of an attempt that counts: its size, its time and its URI, between tabs.
   */
  public String write(
      final SparkSession session,
      final QueryExecution query,
      final FileFormat format,
      final String folder,
      final int numPartitionColumns,
      final Map options,
      final Configuration settings) {
    final Committer committer = new Committer(UUID.randomUUID().toString(), folder);
    // As a query of its own: it is in the UI, and the settings of the session reach the executors.
    SQLExecution.withNewExecutionId(query, Option.empty(), new AbstractFunction0() {
      public Object apply() {
        Seq columns = query.analyzed().output();
        // For what the UI shows of the output of tasks.
        BasicWriteJobStatsTracker tracker = new BasicWriteJobStatsTracker(
            new SerializableConfiguration(settings), BasicWriteJobStatsTracker.metrics());
        return run(new Object[] {
          session,
          query.executedPlan(),
          format,
          committer,
          new FileFormatWriter.OutputSpec(folder, PythonUtils.toScalaMap(new HashMap()), columns),
          settings,
          columns.takeRight(numPartitionColumns),
          Option.empty(),
          PythonUtils.toSeq(Collections.singletonList(tracker)),
          PythonUtils.toScalaMap(options)
        });
      }
    });
    return committer.lines();
  }

  /** Parameters that follow have defaults: one up to Spark 4.2, two in 4.3. */
  private static Object run(Object[] given) {
    Method write = method("write");
    Object[] arguments = Arrays.copyOf(given, write.getParameterTypes().length);
    for (int i = given.length; i < arguments.length; i++) {
      arguments[i] = Internals.call(method("write$default$" + (i + 1)), null, new Object[0]);
    }
    return Internals.call(write, null, arguments);
  }

  private static Method method(String name) {
    Method[] methods = FileFormatWriter.class.getMethods();
    for (int i = 0; i < methods.length; i++) {
      if (methods[i].getName().equals(name)) {
        return methods[i];
      }
    }
    throw Internals.missing("method " + name + " in " + FileFormatWriter.class.getName());
  }

  /**
   * The driver's half of Spark's commit protocol for streams of files. Executors get Spark's own
   * class, which gives each file its final name and reports the files of its attempt. Spark hands
   * the report of one attempt of each task to the driver; here these are kept in memory, and no
   * manifest is written.
   */
  static class Committer extends ManifestFileCommitProtocol {
    private static final long serialVersionUID = 1L;

    private final String id;
    private final String folder;
    private final List finished = new ArrayList();
    private final StringBuilder files = new StringBuilder();

    Committer(String id, String folder) {
      super(id, folder);
      this.id = id;
      this.folder = folder;
    }

    /** What is sent to the executors, which do not have this class. */
    public Object writeReplace() {
      return new ManifestFileCommitProtocol(id, folder);
    }

    String lines() {
      return files.toString();
    }

    public void setupJob(JobContext job) {}

    public synchronized void onTaskCommit(FileCommitProtocol.TaskCommitMessage message) {
      finished.add(message);
    }

    public synchronized void commitJob(JobContext job, Seq messages) {
      finished.clear();
      Iterator each = CollectionConverters.asJava(messages).iterator();
      while (each.hasNext()) {
        Iterator statuses = statuses(each.next());
        while (statuses.hasNext()) {
          // A SinkFileStatus, whose package depends on the version of Spark.
          Product status = (Product) statuses.next();
          files.append(status.productElement(1)).append('\t');
          files.append(status.productElement(3)).append('\t');
          files.append(status.productElement(0)).append('\n');
        }
      }
    }

    /** The files of finished tasks would only be orphans. Others delete theirs as they fail. */
    public synchronized void abortJob(JobContext job) {
      Iterator each = finished.iterator();
      while (each.hasNext()) {
        Iterator statuses = statuses(each.next());
        while (statuses.hasNext()) {
          Path path = new Path(URI.create((String) ((Product) statuses.next()).productElement(0)));
          try {
            path.getFileSystem(job.getConfiguration()).delete(path, false);
          } catch (IOException error) {
            // VACUUM finds it; the error that ended the job is the one to show.
            log().warn("Cannot remove " + path + " of a job that failed", error);
          }
        }
      }
      finished.clear();
    }

    private static Iterator statuses(Object message) {
      Object files = ((FileCommitProtocol.TaskCommitMessage) message).obj();
      return CollectionConverters.asJava((Seq) files).iterator();
    }
  }
}
