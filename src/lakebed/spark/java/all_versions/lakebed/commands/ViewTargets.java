package lakebed.commands;

import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import lakebed.bridge.Internals;
import lakebed.errors.Errors;
import lakebed.scans.DeltaScans;
import lakebed.scans.TableFiles;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.ExprId$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias$;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * Puts the table in the place of a temporary view that DELETE, UPDATE or MERGE names.
 *
 * It does so before Spark resolves the names of the statement: what is resolved later is then the
 * same as for the table itself. Only views that show columns of the table under their own names
 * stand for it: a row of any other view need not be a row of the table.
 */
public class ViewTargets extends Rule {
  /** Options of relations that workers read: where the table is, and a condition on its rows. */
  private static final String URL = "lakebed.url";
  private static final String WHERE = "where";

  private final SparkSession session;

  public ViewTargets(SparkSession session) {
    this.session = session;
  }

  public TreeNode apply(TreeNode plan) {
    boolean isChange = plan instanceof DeleteFromTable
        || plan instanceof UpdateTable
        || plan instanceof MergeIntoTable;
    if (!isChange || ((LogicalPlan) plan).analyzed()) {
      return plan;
    }
    String element = plan instanceof MergeIntoTable ? "targetTable" : "table";
    LogicalPlan given = (LogicalPlan) Internals.get(plan, element, null);
    LogicalPlan alias = given instanceof SubqueryAlias ? given : null;
    LogicalPlan named = alias == null ? given : ((SubqueryAlias) alias).child();
    LogicalPlan table = table(named, plan);
    if (table == null) {
      return plan;
    }
    LogicalPlan target = alias == null
        ? table
        : (LogicalPlan) Internals.with(alias, "child", table);
    return (TreeNode) Internals.with(plan, element, target);
  }

  /** The table of a temporary view, under the name of the view; null for all else. */
  private LogicalPlan table(LogicalPlan named, TreeNode statement) {
    if (!(named instanceof UnresolvedRelation)) {
      return null;
    }
    Seq name = ((UnresolvedRelation) named).multipartIdentifier();
    if (!session.sessionState().catalog().isTempView(name)) {
      return null;
    }
    LogicalPlan view = analyzed(name);
    LogicalPlan leaf = delta(view);
    if (leaf == null) {
      return null;
    }
    Seq table = Internals.seq(nameOf(leaf, view));
    LogicalPlan rows = analyzed(table);
    if (!shows(rows, view)) {
      throw refused(view, "shows something else than columns of the table");
    }
    if (rows.output().length() > view.output().length()) {
      checkHidden(rows, view, statement);
    }
    return SubqueryAlias$.MODULE$.apply(
        (String) name.last(), relation((UnresolvedRelation) named, table));
  }

  /** The statement would see the columns that the view does not show. */
  private static void checkHidden(LogicalPlan rows, LogicalPlan view, TreeNode statement) {
    if (statement instanceof MergeIntoTable) {
      throw refused(view, "does not show all columns of the table, which MERGE needs");
    }
    Set hidden = names(Internals.list(rows.output()));
    hidden.removeAll(names(Internals.list(view.output())));
    String found = named(Internals.list(((LogicalPlan) statement).expressions()), hidden);
    if (found != null) {
      throw refused(view, "does not show the column " + found);
    }
  }

  /** The first of the names that expressions have. */
  private static String named(List expressions, Set names) {
    for (int i = 0; i < expressions.size(); i++) {
      Expression each = (Expression) expressions.get(i);
      if (each instanceof UnresolvedAttribute) {
        List parts = Internals.list(((UnresolvedAttribute) each).nameParts());
        for (int k = 0; k < parts.size(); k++) {
          if (names.contains(((String) parts.get(k)).toLowerCase())) {
            return (String) parts.get(k);
          }
        }
      }
      String below = named(Internals.list(each.children()), names);
      if (below != null) {
        return below;
      }
    }
    return null;
  }

  private static Set names(List columns) {
    Set found = new HashSet();
    for (int i = 0; i < columns.size(); i++) {
      found.add(((Attribute) columns.get(i)).name().toLowerCase());
    }
    return found;
  }

  private LogicalPlan analyzed(Seq name) {
    List parts = Internals.list(name);
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < parts.size(); i++) {
      text.append(i == 0 ? "" : ".").append(Internals.quoted((String) parts.get(i)));
    }
    Dataset frame = (Dataset) session.table(text.toString());
    return frame.queryExecution().analyzed();
  }

  private static LogicalPlan relation(UnresolvedRelation view, Seq table) {
    return (LogicalPlan) Internals.with(view, "multipartIdentifier", table);
  }

  // --- which table ---

  /** The scan of a Delta table below a plan, null if there is none. */
  private static LogicalPlan delta(LogicalPlan plan) {
    if (files(plan) != null || worked(plan) != null) {
      return plan;
    }
    for (int i = 0; i < plan.children().length(); i++) {
      LogicalPlan found = delta((LogicalPlan) plan.children().apply(i));
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  private static TableFiles files(LogicalPlan plan) {
    if (!(plan instanceof LogicalRelation)
        || !(((LogicalRelation) plan).relation() instanceof HadoopFsRelation)) {
      return null;
    }
    Object found = ((HadoopFsRelation) ((LogicalRelation) plan).relation()).location();
    return found instanceof TableFiles ? (TableFiles) found : null;
  }

  /** The options of a table that Python workers read. */
  private static CaseInsensitiveStringMap worked(LogicalPlan plan) {
    if (!(plan instanceof DataSourceV2Relation)) {
      return null;
    }
    CaseInsensitiveStringMap options = ((DataSourceV2Relation) plan).options();
    return options.containsKey(URL) ? options : null;
  }

  private static List nameOf(LogicalPlan leaf, LogicalPlan view) {
    TableFiles files = files(leaf);
    CaseInsensitiveStringMap options = worked(leaf);
    if (files == null ? !options.containsKey(DeltaScans.FOLLOWS) : !files.follows()) {
      throw refused(view, "shows one version of the table");
    }
    if (files == null) {
      return path(options.get(URL));
    }
    LogicalRelation relation = (LogicalRelation) leaf;
    if (relation.catalogTable().isEmpty()) {
      return path(((Object) files.rootPaths().head()).toString());
    }
    TableIdentifier name = ((CatalogTable) relation.catalogTable().get()).identifier();
    return Internals.list(name.nameParts());
  }

  private static List path(String path) {
    return Arrays.asList(new Object[] {"spark_catalog", "delta", path});
  }

  private static RuntimeException refused(LogicalPlan view, String why) {
    return Errors.analysis(
        "INVALID_ARGUMENT",
        "the view " + ((SubqueryAlias) view).identifier().name() + " " + why
            + ", so its rows cannot be changed"
            + "\n  hint: name the table itself, or a view of its columns under their own names");
  }

  // --- what a view shows of it ---

  private boolean shows(LogicalPlan table, LogicalPlan view) {
    Map places = new HashMap();
    Map has = columns(table, places);
    Map shown = columns(view, places);
    return has != null && shown != null && has.entrySet().containsAll(shown.entrySet());
  }

  /** What each column is of the columns of the scan; null if rows are not those of the scan. */
  private static Map columns(LogicalPlan plan, Map places) {
    Map below = lineage(plan, places);
    if (below == null) {
      return null;
    }
    Map found = new HashMap();
    List output = Internals.list(plan.output());
    for (int i = 0; i < output.size(); i++) {
      Attribute each = (Attribute) output.get(i);
      Expression value = (Expression) below.get(each.exprId());
      found.put(each.name(), ((Expression) value.canonicalized()).toString());
    }
    return found;
  }

  /** By the ids of columns. `places` numbers those of the scan by their names. */
  private static Map lineage(LogicalPlan plan, Map places) {
    if (worked(plan) != null && worked(plan).containsKey(WHERE)) {
      return null;
    }
    if (files(plan) != null || worked(plan) != null) {
      return stored(Internals.list(plan.output()), places);
    }
    if (plan instanceof SubqueryAlias || (plan instanceof View && ((View) plan).isTempView())) {
      return lineage((LogicalPlan) plan.children().head(), places);
    }
    if (!(plan instanceof Project)) {
      return null;
    }
    Map below = lineage(((Project) plan).child(), places);
    if (below == null) {
      return null;
    }
    Map found = new HashMap();
    List columns = Internals.list(((Project) plan).projectList());
    for (int i = 0; i < columns.size(); i++) {
      NamedExpression each = (NamedExpression) columns.get(i);
      Expression value = each instanceof Alias ? ((Alias) each).child() : (Expression) each;
      found.put(each.exprId(), withoutCast((Expression) value.transformUp(new Below(below))));
    }
    return found;
  }

  private static Map stored(List columns, Map places) {
    Map found = new HashMap();
    for (int i = 0; i < columns.size(); i++) {
      Attribute each = (Attribute) columns.get(i);
      if (!places.containsKey(each.name())) {
        places.put(each.name(), ExprId$.MODULE$.apply(places.size()));
      }
      found.put(each.exprId(), each.withExprId((ExprId) places.get(each.name())));
    }
    return found;
  }

  /** Views of SQL cast their columns to the types that they had when the view was made. */
  private static Expression withoutCast(Expression value) {
    boolean isSame = value instanceof Cast
        && ((Cast) value).child().dataType().equals(value.dataType());
    return isSame ? ((Cast) value).child() : value;
  }

  /** Puts in the place of columns what they are below. */
  private static class Below extends AbstractPartialFunction {
    private final Map values;

    Below(Map values) {
      this.values = values;
    }

    public boolean isDefinedAt(Object found) {
      return found instanceof AttributeReference
          && values.containsKey(((AttributeReference) found).exprId());
    }

    public Object applyOrElse(Object found, Function1 otherwise) {
      return isDefinedAt(found)
          ? values.get(((AttributeReference) found).exprId())
          : otherwise.apply(found);
    }
  }
}
