package lakebed.commands;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import lakebed.bridge.Internals;
import lakebed.tables.DeltaRelation;
import lakebed.tables.DeltaTable;
import lakebed.tables.StagedDeltaTable;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/** Puts the plan of a Delta table, over Spark's own Parquet reader, where a query reads it. */
public class ResolveReads extends Rule {
  /** The elements of a `LogicalRelation`. */
  private static final int OUTPUT = 1;
  private static final int CATALOG_TABLE = 2;
  private static final int IS_STREAMING = 3;

  private final SparkSession session;

  public ResolveReads(SparkSession session) {
    this.session = session;
  }

  public TreeNode apply(TreeNode plan) {
    LogicalPlan appended = Creates.appended(session, (LogicalPlan) plan);
    return appended == null ? replaced((LogicalPlan) plan) : appended;
  }

  private LogicalPlan replaced(LogicalPlan plan) {
    if (plan.analyzed()) {
      return plan;
    }
    if (plan instanceof InsertIntoStatement) {
      plan = Inserts.resolved(session, (InsertIntoStatement) plan);
    }
    if (plan instanceof DataSourceV2Relation) {
      DataSourceV2Relation found = (DataSourceV2Relation) plan;
      // Spark may hand the target of a statement to a subquery that reads the same table.
      boolean isRead = found.table() instanceof DeltaTable
          && !(found.table() instanceof StagedDeltaTable);
      return isRead ? read((DeltaTable) found.table(), found) : plan;
    }
    if (plan instanceof LogicalRelation) {
      LogicalRelation found = (LogicalRelation) plan;
      return found.relation() instanceof DeltaRelation && !found.isStreaming()
          ? over(((DeltaRelation) found.relation()).table().plan(), found.output())
          : plan;
    }
    if (plan instanceof DeleteFromTable || plan instanceof UpdateTable || addsCheck(plan)) {
      return plan;
    }
    if (plan instanceof MergeIntoTable) {
      final LogicalPlan target = ((MergeIntoTable) plan).targetTable();
      return (LogicalPlan) plan.mapChildren(new AbstractFunction1() {
        public Object apply(Object child) {
          return child == target ? child : replaced((LogicalPlan) child);
        }
      });
    }
    return (LogicalPlan) plan.mapChildren(new AbstractFunction1() {
      public Object apply(Object child) {
        return replaced((LogicalPlan) child);
      }
    });
  }

  /** ALTER TABLE ... ADD CONSTRAINT, which 4.1 brought, has a query for rows that break it. */
  static boolean addsCheck(LogicalPlan plan) {
    return plan.getClass().getSimpleName().equals("AddCheckConstraint");
  }

  private static LogicalPlan read(DeltaTable table, DataSourceV2Relation found) {
    Map options = found.options().asCaseSensitiveMap();
    LogicalPlan plan = table.isPath() ? table.plan() : table.planWith(options);
    return over(plan, wanted(plan.output(), found.output()));
  }

  /** What replaces each column of a plan. A change feed has more columns than its table. */
  private static Seq wanted(Seq has, Seq output) {
    if (has.length() == output.length()) {
      return output;
    }
    Map known = new HashMap();
    List given = Internals.list(output);
    for (int i = 0; i < given.size(); i++) {
      known.put(key((AttributeReference) given.get(i)), given.get(i));
    }
    List found = Internals.list(has);
    for (int i = 0; i < found.size(); i++) {
      Object same = known.get(key((AttributeReference) found.get(i)));
      found.set(i, same == null ? found.get(i) : same);
    }
    return Internals.seq(found);
  }

  private static Object key(AttributeReference column) {
    return Arrays.asList(new Object[] {column.name(), column.dataType()});
  }

  /** With the ids that the columns of the replaced relation have. */
  private static LogicalPlan over(LogicalPlan plan, Seq output) {
    List wanted = Internals.list(output);
    // A projection makes its output again each time that it is asked for it.
    List shown = Internals.list(plan.output());
    List columns = new ArrayList();
    if (plan instanceof LogicalRelation) {
      // A leaf stays one: up to Spark 4.0 an alias hides `_metadata`.
      for (int i = 0; i < wanted.size(); i++) {
        AttributeReference each = (AttributeReference) wanted.get(i);
        columns.add(((AttributeReference) shown.get(i)).withExprId(each.exprId()));
      }
      return changed(plan, OUTPUT, Internals.seq(columns));
    }
    // A second projection would hide `_metadata` too.
    boolean isProject = plan instanceof Project;
    List below = isProject ? Internals.list(((Project) plan).projectList()) : shown;
    for (int i = 0; i < wanted.size(); i++) {
      AttributeReference each = (AttributeReference) wanted.get(i);
      Expression has = (Expression) below.get(i);
      if (each == shown.get(i)) {
        columns.add(has);
        continue;
      }
      columns.add(new Alias(
          has instanceof Alias ? ((Alias) has).child() : has,
          each.name(),
          each.exprId(),
          each.qualifier(),
          has instanceof Alias ? ((Alias) has).explicitMetadata() : Option.empty(),
          empty()));
    }
    return new Project(Internals.seq(columns), isProject ? ((Project) plan).child() : plan);
  }

  /** With an entry of the catalog in each relation; streams into tables look for it. */
  public static LogicalPlan withEntry(LogicalPlan plan, Option entry) {
    return changed(plan, CATALOG_TABLE, entry);
  }

  public static LogicalPlan asStream(LogicalPlan plan) {
    return changed(plan, IS_STREAMING, Boolean.TRUE);
  }

  /** With another element in each relation. Newer versions of Spark have more of them. */
  private static LogicalPlan changed(LogicalPlan plan, final int place, final Object value) {
    if (plan instanceof LogicalRelation) {
      Constructor constructor = LogicalRelation.class.getConstructors()[0];
      Object[] all = new Object[constructor.getParameterCount()];
      for (int i = 0; i < all.length; i++) {
        all[i] = i == place ? value : ((LogicalRelation) plan).productElement(i);
      }
      try {
        return (LogicalPlan) constructor.newInstance(all);
      } catch (Exception error) {
        throw new IllegalStateException(error);
      }
    }
    return (LogicalPlan) plan.mapChildren(new AbstractFunction1() {
      public Object apply(Object child) {
        return changed((LogicalPlan) child, place, value);
      }
    });
  }

  private static Seq empty() {
    return Internals.seq(new ArrayList());
  }
}
