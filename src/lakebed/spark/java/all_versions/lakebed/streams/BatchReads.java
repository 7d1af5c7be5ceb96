package lakebed.streams;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import lakebed.scans.DeltaFiles;
import lakebed.scans.TableFiles;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/**
 * The Delta tables that a micro-batch reads.
 *
 * Spark has planned the batch when the sink gets it: which versions it reads is decided, and its
 * rows are handed on without the plan. Time travel reads what never changes, so it is left out.
 */
public class BatchReads extends AbstractPartialFunction {
  private final boolean isPlanned;
  private final List found = new ArrayList();

  private BatchReads(boolean isPlanned) {
    this.isPlanned = isPlanned;
  }

  /** For each table its `root` or `url`, and the name of the files where a version was chosen. */
  public static List of(Dataset rows) {
    BatchReads before = new BatchReads(false);
    ((LogicalPlan) rows.queryExecution().analyzed()).transformUpWithSubqueries(before);
    if (before.found.isEmpty()) {
      return before.found;
    }
    BatchReads after = new BatchReads(true);
    ((LogicalPlan) rows.queryExecution().optimizedPlan()).transformUpWithSubqueries(after);
    before.found.addAll(after.found);
    return before.found;
  }

  public boolean isDefinedAt(Object plan) {
    if (plan instanceof DataSourceV2Relation) {
      Map options = ((DataSourceV2Relation) plan).options().asCaseSensitiveMap();
      if (options.containsKey("lakebed.follows")) {
        add("url", options.get("lakebed.url"), null);
      }
    } else if (plan instanceof LogicalRelation
        && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation) {
      FileIndex files = ((HadoopFsRelation) ((LogicalRelation) plan).relation()).location();
      boolean isStreaming = ((LogicalRelation) plan).isStreaming();
      if (files instanceof TableFiles && (isStreaming || ((TableFiles) files).follows())) {
        // An optimized plan may lack a table that it reads: counts come from the log.
        String chosen = isStreaming ? null : ((TableFiles) files).chosen();
        add("root", files.rootPaths().apply(0).toString(), chosen);
      } else if (files instanceof DeltaFiles && isStreaming && !isPlanned) {
        add("root", files.rootPaths().apply(0).toString(), null);
      } else if (files instanceof DeltaFiles && isPlanned && !isStreaming
          && !((DeltaFiles) files).isTimeTravel()) {
        add("root", files.rootPaths().apply(0).toString(), files.toString());
      }
    }
    return false;
  }

  private void add(String kind, Object place, String files) {
    Map one = new HashMap();
    one.put(kind, place);
    one.put("files", files);
    found.add(one);
  }

  public Object applyOrElse(Object plan, Function1 otherwise) {
    isDefinedAt(plan);
    return otherwise.apply(plan);
  }
}
