package lakebed.tables;

import java.util.ArrayList;
import java.util.List;
import lakebed.bridge.Bridge;
import lakebed.errors.Errors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/** The functions table_changes('orders', 3, 5) and table_changes_by_path('/data/orders', 3). */
public class TableChangesFunction extends AbstractFunction1 {
  private static final String BY_NAME = "table_changes";
  private static final String BY_PATH = "table_changes_by_path";

  private final boolean isPath;

  private TableChangesFunction(boolean isPath) {
    this.isPath = isPath;
  }

  public static void inject(SparkSessionExtensions extensions) {
    extensions.injectTableFunction(described(BY_NAME, false));
    extensions.injectTableFunction(described(BY_PATH, true));
  }

  private static Tuple3 described(String name, boolean isPath) {
    ExpressionInfo info = new ExpressionInfo(TableChangesFunction.class.getName(), name);
    return new Tuple3(new FunctionIdentifier(name), info, new TableChangesFunction(isPath));
  }

  /** The plan that reads the changes, for arguments whose values are known. */
  public Object apply(Object given) {
    Seq arguments = (Seq) given;
    List values = new ArrayList();
    for (int i = 0; i < arguments.length(); i++) {
      values.add(value((Expression) arguments.apply(i)));
    }
    Dataset frame = (Dataset) Bridge.ask(
        "table_changes",
        Bridge.map(new Object[] {"arguments", values, "is_path", Boolean.valueOf(isPath)}),
        Bridge.session(),
        null);
    return ((org.apache.spark.sql.classic.Dataset) frame).queryExecution().analyzed();
  }

  /** Whole numbers are versions; all else is a string, times as Spark writes them. */
  private static Object value(Expression argument) {
    if (!argument.foldable()) {
      throw Errors.analysis(
          "INVALID_ARGUMENT",
          argument.sql() + " is not a constant, as table_changes needs it");
    }
    Object found = argument.eval(InternalRow.empty());
    if (found == null) {
      return null;
    }
    boolean isTime = argument.dataType() instanceof TimestampType
        || argument.dataType() instanceof TimestampNTZType
        || argument.dataType() instanceof DateType;
    if (isTime) {
      Expression text = new org.apache.spark.sql.catalyst.expressions.ToPrettyString(
          argument, scala.Option.apply(zone()));
      return String.valueOf(text.eval(InternalRow.empty()));
    }
    return found instanceof Integer || found instanceof Long || found instanceof Short
            || found instanceof Byte
        ? found
        : String.valueOf(found);
  }

  private static String zone() {
    return Bridge.session().sessionState().conf().sessionLocalTimeZone();
  }
}
