package lakebed;

import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedInlineTable;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import scala.Option;
import scala.collection.immutable.Seq;

/** INSERT statements that Spark parses, but does not run on tables of sources. */
final class Inserts {
  private Inserts() {}

  /** IF NOT EXISTS, REPLACE ON, REPLACE USING, and DEFAULT, which may be an identity column. */
  static boolean isUnknown(LogicalPlan plan) {
    while (plan instanceof UnresolvedWith) {
      plan = ((UnresolvedWith) plan).child();
    }
    if (!(plan instanceof InsertIntoStatement)) {
      return false;
    }
    InsertIntoStatement insert = (InsertIntoStatement) plan;
    // From 4.2 on.
    Option criteria = (Option) Internals.get(insert, "replaceCriteriaOpt", Option.empty());
    return insert.ifPartitionNotExists() || criteria.isDefined() || hasDefault(insert.query());
  }

  private static boolean hasDefault(LogicalPlan query) {
    if (query instanceof UnresolvedInlineTable) {
      Seq rows = ((UnresolvedInlineTable) query).rows();
      for (int i = 0; i < rows.length(); i++) {
        if (hasDefault((Seq) rows.apply(i))) {
          return true;
        }
      }
      return false;
    }
    return query instanceof Project && hasDefault(((Project) query).projectList());
  }

  private static boolean hasDefault(Seq values) {
    for (int i = 0; i < values.length(); i++) {
      Object value = values.apply(i);
      if (value instanceof UnresolvedAttribute
          && "default".equalsIgnoreCase(((UnresolvedAttribute) value).name())) {
        return true;
      }
    }
    return false;
  }
}
