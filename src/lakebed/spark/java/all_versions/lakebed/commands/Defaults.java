package lakebed.commands;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lakebed.bridge.Bridge;
import lakebed.bridge.Internals;
import lakebed.errors.Errors;
import lakebed.tables.DeltaTable;
import org.apache.spark.sql.catalyst.analysis.Star;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAlias;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedInlineTable;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * The word DEFAULT among the values of an INSERT. Spark would put a value in its place before it is
 * known that the column is an identity or generated. So the parser gives it another name, and
 * a column whose value is DEFAULT in all rows is left out: the write fills it. Elsewhere the word
 * stands for the expression of the default.
 */
final class Defaults {
  private static final String WORD = "default";
  private static final String MARK = "__lakebed_default";
  private static final String CURRENT = "CURRENT_DEFAULT";
  private static final String[] FILLED = {
      "delta.generationExpression", "delta.identity.start"};

  private final SparkSession session;
  private final InsertIntoStatement insert;
  private final DeltaTable table;

  Defaults(SparkSession session, InsertIntoStatement insert, DeltaTable table) {
    this.session = session;
    this.insert = insert;
    this.table = table;
  }

  // --- parsing ---

  /** A parsed statement in which DEFAULT waits for its table. */
  static InsertIntoStatement marked(InsertIntoStatement insert) {
    return renamed(insert, WORD, MARK);
  }

  /** For the tables of other sources, of which Spark takes care. */
  static InsertIntoStatement withoutMarks(InsertIntoStatement insert) {
    return renamed(insert, MARK, "DEFAULT");
  }

  private static InsertIntoStatement renamed(InsertIntoStatement insert, String from, String to) {
    Rows rows = Rows.of(insert.query());
    if (rows == null || !rows.renames(from, to)) {
      return insert;
    }
    return (InsertIntoStatement) Internals.with(insert, "query", rows.query());
  }

  // --- resolving ---

  InsertIntoStatement filled() {
    Rows rows = Rows.of(insert.query());
    // A star has columns once Spark knows the tables of the query.
    if (rows == null || !rows.has(MARK) || rows.hasStar()) {
      return insert;
    }
    List targets = targets(rows);
    int width = targets.size();
    if (!rows.isOfWidth(width)) {
      throw Errors.analysis(
          "SCHEMA_MISMATCH",
          "DELTA_INSERT_COLUMN_ARITY_MISMATCH",
          "42802",
          "the rows have other columns, but values are needed for " + width
              + "\n  hint: list the columns that the rows have, as in INSERT INTO t (a, b) ...");
    }
    boolean[] isGone = gone(rows, targets);
    List columns = new ArrayList();
    for (int i = 0; i < width; i++) {
      if (!isGone[i]) {
        columns.add(((StructField) targets.get(i)).name());
      }
    }
    for (int i = 0; i < rows.all.size(); i++) {
      List row = (List) rows.all.get(i);
      for (int k = 0; k < width; k++) {
        if (!isGone[k] && is(row.get(k), MARK)) {
          row.set(k, value(row.get(k), (StructField) targets.get(k)));
        }
      }
    }
    rows.drop(isGone);
    Object made = Internals.with(insert, "query", rows.query());
    if (!insert.byName() && columns.size() < width) {
      made = Internals.with(
          (InsertIntoStatement) made, "userSpecifiedCols", Internals.seq(columns));
    }
    return (InsertIntoStatement) made;
  }

  /** Columns without any value; one has to stay. */
  private static boolean[] gone(Rows rows, List targets) {
    boolean[] isGone = new boolean[targets.size()];
    int left = isGone.length;
    for (int i = 0; i < isGone.length; i++) {
      isGone[i] = rows.isAll(i, MARK);
      left -= isGone[i] ? 1 : 0;
    }
    for (int i = 0; i < isGone.length && left == 0; i++) {
      if (!isFilled((StructField) targets.get(i))) {
        isGone[i] = false;
        left = 1;
      }
    }
    if (left == 0) {
      isGone[0] = false;
    }
    return isGone;
  }

  /** The columns that the values are for. */
  private List targets(Rows rows) {
    StructField[] fields = table.storedSchema().fields();
    Map known = new LinkedHashMap();
    for (int i = 0; i < fields.length; i++) {
      known.put(fields[i].name().toLowerCase(), fields[i]);
    }
    List names = insert.byName() ? rows.names() : Internals.list(insert.userSpecifiedCols());
    if (!insert.byName() && names.isEmpty()) {
      Map given = Bridge.java(insert.partitionSpec());
      for (Object name : given.keySet()) {
        if (((Option) given.get(name)).isDefined()) {
          known.remove(((String) name).toLowerCase());
        }
      }
      return new ArrayList(known.values());
    }
    List found = new ArrayList();
    for (int i = 0; i < names.size(); i++) {
      Object field = known.get(((String) names.get(i)).toLowerCase());
      // Spark says that there is no such column.
      found.add(field == null
          ? new StructField((String) names.get(i), DataTypes.NullType, true, Metadata.empty())
          : field);
    }
    return found;
  }

  private Expression value(Object found, StructField field) {
    if (!field.metadata().contains(CURRENT) && isFilled(field)) {
      throw Errors.syntax(
          "SQL",
          field.name() + " is filled by the table: DEFAULT must be its value in all rows"
              + "\n  hint: insert the rows that bring a value in a statement of their own");
    }
    Expression value = Literal$.MODULE$.create(null, DataTypes.NullType);
    if (field.metadata().contains(CURRENT)) {
      String text = field.metadata().getString(CURRENT);
      Map request = Bridge.map(new Object[] {"text", text, "column", field.name()});
      Bridge.ask("check_default", request, session, null);
      value = TableExpressions.parsed(text);
    }
    return found instanceof Alias
        ? (Expression) ((Alias) found).withNewChildren(
            Internals.seq(Arrays.asList(new Object[] {value})))
        : value;
  }

  private static boolean isFilled(StructField field) {
    for (int i = 0; i < FILLED.length; i++) {
      if (field.metadata().contains(FILLED[i])) {
        return true;
      }
    }
    return false;
  }

  private static boolean is(Object value, String word) {
    if (value instanceof Alias) {
      return is(((Alias) value).child(), word);
    }
    return value instanceof UnresolvedAttribute
        && ((UnresolvedAttribute) value).nameParts().length() == 1
        && word.equalsIgnoreCase((String) ((UnresolvedAttribute) value).nameParts().head());
  }

  /** The values of VALUES, or the one row of expressions of a SELECT, below any WITH. */
  private static final class Rows {
    private final LogicalPlan whole;
    private final LogicalPlan plan;
    private final List all = new ArrayList();
    private List names;

    private Rows(LogicalPlan whole, LogicalPlan plan) {
      this.whole = whole;
      this.plan = plan;
      if (plan instanceof Project) {
        all.add(Internals.list(((Project) plan).projectList()));
        return;
      }
      UnresolvedInlineTable values = (UnresolvedInlineTable) plan;
      names = Internals.list(values.names());
      for (int i = 0; i < values.rows().length(); i++) {
        all.add(Internals.list((Seq) values.rows().apply(i)));
      }
    }

    /** Null for other queries: DEFAULT is no word of theirs. */
    static Rows of(LogicalPlan query) {
      LogicalPlan plan = query;
      while (true) {
        if (plan instanceof UnresolvedWith) {
          plan = ((UnresolvedWith) plan).child();
        } else if (plan instanceof WithCTE) {
          plan = ((WithCTE) plan).plan();
        } else if (plan instanceof ReplacedRows) {
          plan = ((ReplacedRows) plan).query();
        } else {
          break;
        }
      }
      return plan instanceof Project || plan instanceof UnresolvedInlineTable
          ? new Rows(query, plan)
          : null;
    }

    boolean has(String word) {
      for (int i = 0; i < all.size(); i++) {
        List row = (List) all.get(i);
        for (int k = 0; k < row.size(); k++) {
          if (is(row.get(k), word)) {
            return true;
          }
        }
      }
      return false;
    }

    boolean hasStar() {
      for (int i = 0; i < all.size(); i++) {
        List row = (List) all.get(i);
        for (int k = 0; k < row.size(); k++) {
          if (row.get(k) instanceof Star) {
            return true;
          }
        }
      }
      return false;
    }

    boolean renames(String from, String to) {
      boolean found = false;
      for (int i = 0; i < all.size(); i++) {
        List row = (List) all.get(i);
        for (int k = 0; k < row.size(); k++) {
          if (is(row.get(k), from)) {
            row.set(k, renamed((Expression) row.get(k), to));
            found = true;
          }
        }
      }
      return found;
    }

    private static Expression renamed(Expression value, String to) {
      Expression made = new UnresolvedAttribute(
          Internals.seq(Arrays.asList(new Object[] {to})));
      if (value instanceof Alias) {
        return (Expression) ((Alias) value).withNewChildren(
            Internals.seq(Arrays.asList(new Object[] {made})));
      }
      made.copyTagsFrom(value);
      return made;
    }

    boolean isOfWidth(int width) {
      for (int i = 0; i < all.size(); i++) {
        if (((List) all.get(i)).size() != width) {
          return false;
        }
      }
      return true;
    }

    boolean isAll(int column, String word) {
      for (int i = 0; i < all.size(); i++) {
        if (!is(((List) all.get(i)).get(column), word)) {
          return false;
        }
      }
      return true;
    }

    /** What BY NAME goes by. */
    List names() {
      List found = new ArrayList();
      List row = (List) all.get(0);
      for (int i = 0; names == null && i < row.size(); i++) {
        found.add(name(row.get(i)));
      }
      return names == null ? found : names;
    }

    private static String name(Object column) {
      if (column instanceof UnresolvedAttribute) {
        return (String) ((UnresolvedAttribute) column).nameParts().last();
      }
      return column instanceof Alias || column instanceof Attribute
          ? ((NamedExpression) column).name()
          : "";
    }

    void drop(boolean[] isGone) {
      for (int i = 0; i < all.size(); i++) {
        all.set(i, kept((List) all.get(i), isGone));
      }
      names = names == null ? null : kept(names, isGone);
    }

    private static List kept(List row, boolean[] isGone) {
      List made = new ArrayList();
      for (int i = 0; i < row.size(); i++) {
        if (!isGone[i]) {
          made.add(row.get(i));
        }
      }
      return made;
    }

    /** The whole query with the rows as they are now. */
    LogicalPlan query() {
      return placed(whole);
    }

    private LogicalPlan placed(LogicalPlan at) {
      if (at == plan) {
        return made();
      }
      if (at instanceof ReplacedRows) {
        return (LogicalPlan) at.withNewChildren(Internals.seq(
            Arrays.asList(new Object[] {placed(((ReplacedRows) at).query())})));
      }
      return at instanceof UnresolvedWith
          ? (LogicalPlan) Internals.with(at, "child", placed(((UnresolvedWith) at).child()))
          : (LogicalPlan) Internals.with(at, "plan", placed(((WithCTE) at).plan()));
    }

    private LogicalPlan made() {
      if (plan instanceof Project) {
        List columns = new ArrayList((List) all.get(0));
        for (int i = 0; i < columns.size(); i++) {
          if (!(columns.get(i) instanceof NamedExpression)) {
            columns.set(i, new UnresolvedAlias((Expression) columns.get(i), Option.empty()));
          }
        }
        return (LogicalPlan) Internals.with(plan, "projectList", Internals.seq(columns));
      }
      List rows = new ArrayList();
      for (int i = 0; i < all.size(); i++) {
        rows.add(Internals.seq((List) all.get(i)));
      }
      return new UnresolvedInlineTable(Internals.seq(names), Internals.seq(rows));
    }
  }
}
