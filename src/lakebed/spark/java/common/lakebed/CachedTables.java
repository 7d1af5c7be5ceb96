package lakebed;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;

/**
 * What CACHE TABLE has put into Spark's cache, by the names of tables.
 *
 * Spark finds an entry by its plan, and the plan of a Delta table is another one with each version:
 * without this an old version would stay in memory, whatever UNCACHE TABLE says.
 */
public class CachedTables {
  private static final Map KNOWN = new HashMap();

  /** A table is about to be cached as this plan: an older version of it leaves the cache. */
  public static synchronized void cached(SparkSession session, String name, LogicalPlan plan) {
    LogicalPlan known = (LogicalPlan) KNOWN.put(name, plan);
    if (known != null && !known.sameResult(plan)) {
      release(session, known, false);
    }
  }

  /** The version that was cached leaves the cache, and what was cached of it. */
  public static synchronized void uncached(SparkSession session, String name) {
    LogicalPlan known = (LogicalPlan) KNOWN.remove(name);
    if (known != null) {
      release(session, known, true);
    }
  }

  private static void release(SparkSession session, LogicalPlan plan, boolean cascades) {
    session.sharedState().cacheManager().uncacheQuery(session, plan, cascades, false);
  }
}
