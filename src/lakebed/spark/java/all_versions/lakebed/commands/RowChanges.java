package lakebed.commands;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lakebed.bridge.Internals;
import lakebed.errors.Errors;
import lakebed.tables.DeltaTable;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.InsertAction;
import org.apache.spark.sql.catalyst.plans.logical.InsertStarAction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeAction;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.UpdateAction;
import org.apache.spark.sql.catalyst.plans.logical.UpdateStarAction;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;

/** DELETE, UPDATE and MERGE on one table as commands. */
class RowChanges {
  private static final StructType COUNT = StructType.fromDDL("num_affected_rows BIGINT");
  private static final StructType COUNTS = StructType.fromDDL(
      "num_affected_rows BIGINT, num_updated_rows BIGINT, num_deleted_rows BIGINT,"
          + " num_inserted_rows BIGINT");
  /** What Lakebed calls the sides of a statement where a subquery has to tell them apart. */
  private static final String TARGET = "__lakebed_target";
  private static final String SOURCE = "__lakebed_source";

  private final SparkSession session;
  private final DeltaTable table;
  private final LogicalPlan target;

  RowChanges(SparkSession session, DeltaTable table, LogicalPlan target) {
    this.session = session;
    this.table = table;
    this.target = target;
  }

  LogicalPlan delete(DeleteFromTable found) {
    if (!found.condition().resolved()) {
      return null;
    }
    refuseForgottenCondition(found);
    refuseNull(found.condition());
    String alias = Names.hasSubquery(found.condition()) ? TARGET : null;
    Names names = new Names(target, alias, null, null);
    Map request = table.request();
    request.put("alias", alias);
    List given = new ArrayList();
    given.add(names.column(found.condition()));
    return DeltaCommand.of(session, "delete", request, given, COUNT);
  }

  /** NULL is neither true nor false: whoever writes it means something else. */
  private static void refuseNull(Expression condition) {
    if (condition.dataType() instanceof NullType) {
      throw Errors.analysis(
          "INVALID_ARGUMENT",
          "the condition is NULL, for which no row is deleted"
              + "\n  hint: write IS NULL behind the column that is meant");
    }
  }

  /** Spark takes the last word of `DELETE FROM t WHERE` for a name of the table. */
  private void refuseForgottenCondition(DeleteFromTable found) {
    String name = last(Names.qualifier(target), "");
    boolean isAll = found.condition().semanticEquals(Literal.TrueLiteral());
    if (isAll && name.equalsIgnoreCase("where") && !table.name().endsWith(name)) {
      throw Errors.syntax(
          "SQL",
          "the condition behind WHERE is missing; without WHERE all rows are deleted");
    }
  }

  LogicalPlan update(UpdateTable found) {
    if (!found.resolved()) {
      return null;
    }
    boolean hasSubquery =
        found.condition().isDefined() && Names.hasSubquery((Expression) found.condition().get());
    List assigned = Internals.list(found.assignments());
    for (int i = 0; i < assigned.size(); i++) {
      Assignment each = (Assignment) assigned.get(i);
      hasSubquery = hasSubquery || Names.hasSubquery(each.value());
    }
    String alias = hasSubquery ? TARGET : null;
    Names names = new Names(target, alias, null, null);
    Map request = table.request();
    request.put("alias", alias);
    List given = new ArrayList();
    given.add(condition(found.condition(), names));
    given.add(assignments(found.assignments(), names));
    return DeltaCommand.of(session, "update", request, given, COUNT);
  }

  LogicalPlan merge(MergeIntoTable found) {
    LogicalPlan source = found.sourceTable();
    if (!source.resolved()) {
      return null;
    }
    String targetName = last(Names.qualifier(target), TARGET);
    String sourceName = last(Names.qualifier(source), SOURCE);
    Names names = new Names(target, targetName, source, sourceName);
    Map request = table.request();
    request.put("alias", targetName);
    request.put("source", sourceName);
    request.put("evolves", Boolean.valueOf(found.withSchemaEvolution()));
    List given = new ArrayList();
    given.add(Dataset$.MODULE$.ofRows(session, source));
    given.add(names.column(found.mergeCondition()));
    Map said = Inserts.clauses(target);
    if (said.containsKey("replace_on")) {
      request.put("clauses", said);
      return DeltaCommand.of(session, "replace_on", request, given, new StructType());
    }
    List clauses = new ArrayList();
    add(clauses, "matched", found.matchedActions(), names);
    add(clauses, "not_matched", found.notMatchedActions(), names);
    add(clauses, "not_matched_by_source", found.notMatchedBySourceActions(), names);
    given.add(clauses);
    return DeltaCommand.of(session, "merge", request, given, COUNTS);
  }

  private static String last(List parts, String otherwise) {
    return parts.isEmpty() ? otherwise : (String) parts.get(parts.size() - 1);
  }

  private void add(List clauses, String kind, Seq actions, Names names) {
    for (int i = 0; i < actions.length(); i++) {
      MergeAction action = (MergeAction) actions.apply(i);
      Map clause = new LinkedHashMap();
      clause.put("kind", kind);
      clause.put("action", verb(action));
      clause.put("condition", condition(action.condition(), names));
      clause.put("values", values(action, names));
      clauses.add(clause);
    }
  }

  private static String verb(MergeAction action) {
    if (action instanceof UpdateStarAction) {
      return "update_all";
    }
    if (action instanceof InsertStarAction) {
      return "insert_all";
    }
    if (action instanceof UpdateAction) {
      return "update";
    }
    return action instanceof InsertAction ? "insert" : "delete";
  }

  private Map values(MergeAction action, Names names) {
    if (action instanceof UpdateAction) {
      return assignments(((UpdateAction) action).assignments(), names);
    }
    return action instanceof InsertAction
        ? assignments(((InsertAction) action).assignments(), names)
        : new LinkedHashMap();
  }

  private static Column condition(Option given, Names names) {
    return given.isEmpty() ? null : names.column((Expression) given.get());
  }

  /** By the names of columns; null means the word DEFAULT. A list keeps the order. */
  private Map assignments(Seq found, Names names) {
    Map values = new LinkedHashMap();
    List assigned = Internals.list(found);
    for (int i = 0; i < assigned.size(); i++) {
      Assignment each = (Assignment) assigned.get(i);
      Column value = isDefault(each.value()) ? null : names.column(each.value());
      String path = path(each.key());
      if (values.containsKey(path)) {
        throw Errors.analysis(
            "INVALID_ARGUMENT",
            "DELTA_CONFLICT_SET_COLUMN",
            "42701",
            "the column " + path + " is assigned twice");
      }
      values.put(path, value);
    }
    return values;
  }

  private static boolean isDefault(Expression value) {
    return value instanceof UnresolvedAttribute
        && ((UnresolvedAttribute) value).nameParts().length() == 1
        && "default".equalsIgnoreCase((String) ((UnresolvedAttribute) value).nameParts().head());
  }

  private String path(Expression key) {
    if (key instanceof GetStructField) {
      GetStructField field = (GetStructField) key;
      return path(field.child()) + "." + Internals.quoted(field.extractFieldName());
    }
    if (key instanceof UnresolvedAttribute) {
      return path(Internals.list(((UnresolvedAttribute) key).nameParts()));
    }
    if (key instanceof Attribute) {
      return Internals.quoted(((Attribute) key).name());
    }
    throw Errors.analysis("INVALID_ARGUMENT", key.sql() + " is not a column of the table");
  }

  /** Without what the statement calls the table. */
  private String path(List parts) {
    List qualifier = Names.qualifier(target);
    for (int start = 0; start < qualifier.size(); start++) {
      int size = qualifier.size() - start;
      boolean isPrefix = parts.size() > size;
      for (int i = 0; i < size && isPrefix; i++) {
        isPrefix = ((String) parts.get(i)).equalsIgnoreCase((String) qualifier.get(start + i));
      }
      if (isPrefix) {
        parts = parts.subList(size, parts.size());
        break;
      }
    }
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < parts.size(); i++) {
      text.append(i == 0 ? "" : ".").append(Internals.quoted((String) parts.get(i)));
    }
    return text.toString();
  }
}
