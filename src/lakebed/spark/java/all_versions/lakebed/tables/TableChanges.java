package lakebed.tables;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import lakebed.bridge.Bridge;
import lakebed.bridge.Internals;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.ColumnDefaultValue;
import org.apache.spark.sql.connector.catalog.IdentityColumnSpec;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;

/** Definitions of tables and their changes, as values that JSON can carry. */
final class TableChanges {
  private TableChanges() {}

  static List columns(Column[] columns) {
    List found = new ArrayList();
    for (int i = 0; i < columns.length; i++) {
      found.add(column(columns[i]));
    }
    return found;
  }

  private static Map column(Column column) {
    ColumnDefaultValue value = column.defaultValue();
    IdentityColumnSpec identity = column.identityColumnSpec();
    return Bridge.map(new Object[] {
        "name", column.name(),
        "type", column.dataType().json(),
        "sql", column.dataType().sql(),
        "nullable", Boolean.valueOf(column.nullable()),
        "comment", column.comment(),
        "default", sql(value),
        "generated", column.generationExpression(),
        "identity", identity == null ? null : identity(identity),
        "metadata", column.metadataInJSON()});
  }

  /** From 4.1 on a class that is not public has the getter. */
  private static Object sql(ColumnDefaultValue value) {
    return value == null ? null : Internals.get(value, "getSql", null);
  }

  private static Map identity(IdentityColumnSpec found) {
    return Bridge.map(new Object[] {
        "start", Long.valueOf(found.getStart()),
        "step", Long.valueOf(found.getStep()),
        "by_default", Boolean.valueOf(found.isAllowExplicitInsert())});
  }

  /** Each with its name, such as identity, and the paths of its columns. */
  static List transforms(Transform[] transforms) {
    List found = new ArrayList();
    for (int i = 0; i < transforms.length; i++) {
      NamedReference[] references = transforms[i].references();
      found.add(Bridge.map(
          new Object[] {"name", transforms[i].name(), "columns", paths(references)}));
    }
    return found;
  }

  private static List paths(NamedReference[] references) {
    List paths = new ArrayList();
    for (int i = 0; i < references.length; i++) {
      paths.add(Arrays.asList(references[i].fieldNames()));
    }
    return paths;
  }

  static List of(TableChange[] changes) {
    List found = new ArrayList();
    for (int i = 0; i < changes.length; i++) {
      found.add(change(changes[i]));
    }
    return found;
  }

  @SuppressWarnings("deprecation")
  private static Map change(TableChange change) {
    if (change instanceof TableChange.SetProperty) {
      TableChange.SetProperty set = (TableChange.SetProperty) change;
      return Bridge.map(
          new Object[] {"kind", "set_property", "key", set.property(), "value", set.value()});
    }
    if (change instanceof TableChange.RemoveProperty) {
      String key = ((TableChange.RemoveProperty) change).property();
      return Bridge.map(new Object[] {"kind", "remove_property", "key", key});
    }
    if (change instanceof TableChange.AddColumn) {
      return added((TableChange.AddColumn) change);
    }
    if (change instanceof TableChange.RenameColumn) {
      TableChange.RenameColumn renamed = (TableChange.RenameColumn) change;
      return of("rename_column", renamed.fieldNames(), "new", renamed.newName());
    }
    if (change instanceof TableChange.UpdateColumnType) {
      TableChange.UpdateColumnType typed = (TableChange.UpdateColumnType) change;
      Map found = of("column_type", typed.fieldNames(), "type", typed.newDataType().json());
      found.put("sql", typed.newDataType().sql());
      return found;
    }
    if (change instanceof TableChange.UpdateColumnNullability) {
      TableChange.UpdateColumnNullability given = (TableChange.UpdateColumnNullability) change;
      Boolean nullable = Boolean.valueOf(given.nullable());
      return of("column_nullable", given.fieldNames(), "nullable", nullable);
    }
    if (change instanceof TableChange.UpdateColumnComment) {
      TableChange.UpdateColumnComment given = (TableChange.UpdateColumnComment) change;
      return of("column_comment", given.fieldNames(), "comment", given.newComment());
    }
    if (change instanceof TableChange.UpdateColumnPosition) {
      TableChange.UpdateColumnPosition moved = (TableChange.UpdateColumnPosition) change;
      return of("column_position", moved.fieldNames(), "position", position(moved.position()));
    }
    if (change instanceof TableChange.UpdateColumnDefaultValue) {
      TableChange.UpdateColumnDefaultValue given = (TableChange.UpdateColumnDefaultValue) change;
      return of("column_default", given.fieldNames(), "default", given.newDefaultValue());
    }
    if (change instanceof TableChange.DeleteColumn) {
      TableChange.DeleteColumn dropped = (TableChange.DeleteColumn) change;
      return of("drop_column", dropped.fieldNames(), "if_exists", dropped.ifExists());
    }
    if (change instanceof TableChange.ClusterBy) {
      NamedReference[] columns = ((TableChange.ClusterBy) change).clusteringColumns();
      return Bridge.map(new Object[] {"kind", "cluster_by", "columns", paths(columns)});
    }
    return ofNewerSpark(change);
  }

  /** Constraints came with 4.1. */
  private static Map ofNewerSpark(TableChange change) {
    String kind = change.getClass().getSimpleName();
    if (kind.equals("AddConstraint")) {
      Object constraint = Internals.get(change, "constraint", null);
      return Bridge.map(new Object[] {
          "kind", "add_constraint",
          "name", Internals.get(constraint, "name", null),
          "sql", Internals.get(constraint, "predicateSql", null)});
    }
    if (kind.equals("DropConstraint")) {
      return Bridge.map(new Object[] {
          "kind", "drop_constraint",
          "name", Internals.get(change, "name", null),
          "if_exists", Internals.get(change, "ifExists", Boolean.FALSE)});
    }
    return Bridge.map(new Object[] {"kind", kind});
  }

  private static Map added(TableChange.AddColumn added) {
    Map found = of("add_column", added.fieldNames(), "type", added.dataType().json());
    found.put("sql", added.dataType().sql());
    found.put("nullable", Boolean.valueOf(added.isNullable()));
    found.put("comment", added.comment());
    found.put("position", added.position() == null ? null : position(added.position()));
    ColumnDefaultValue value = added.defaultValue();
    found.put("default", sql(value));
    return found;
  }

  private static Map of(String kind, String[] path, String key, Object value) {
    return Bridge.map(new Object[] {"kind", kind, "path", Arrays.asList(path), key, value});
  }

  /** An empty map is the first place; else it names the column before. */
  private static Map position(TableChange.ColumnPosition given) {
    return given instanceof TableChange.After
        ? Bridge.map(new Object[] {"after", ((TableChange.After) given).column()})
        : Bridge.map(new Object[] {});
  }
}
