package lakebed.commands;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import lakebed.bridge.Bridge;
import lakebed.bridge.Internals;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.command.LeafRunnableCommand;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;

/** A command that Python runs when Spark executes the plan. */
public class DeltaCommand extends LogicalPlan implements LeafRunnableCommand {
  private final SparkSession session;
  private final String what;
  private final java.util.Map request;
  private final Object given;
  private final Seq arguments;
  private final Seq output;
  private Seq patterns;
  private Map metrics;

  /** All that it has is a parameter: Spark copies nodes by their elements. */
  public DeltaCommand(
      SparkSession session,
      String what,
      java.util.Map request,
      Object given,
      Seq arguments,
      Seq output) {
    this.session = session;
    this.what = what;
    this.request = request;
    this.given = given;
    this.arguments = arguments;
    this.output = output;
    Command.$init$(this);
  }

  DeltaCommand(SparkSession session, String what, java.util.Map request, Object given, Seq output) {
    this(session, what, request, given, Internals.seq(new ArrayList()), output);
  }

  /** With the columns of the rows that it gives. */
  public static DeltaCommand of(
      SparkSession session, String what, java.util.Map request, Object given, StructType rows) {
    List columns = new ArrayList();
    StructField[] fields = rows.fields();
    for (int i = 0; i < fields.length; i++) {
      columns.add(new AttributeReference(
          fields[i].name(),
          fields[i].dataType(),
          fields[i].nullable(),
          fields[i].metadata(),
          NamedExpression$.MODULE$.newExprId(),
          Internals.seq(new ArrayList())));
    }
    return new DeltaCommand(session, what, request, given, Internals.seq(columns));
  }

  /** With the values of parameters, which Spark analyzes with the command, and 4.0 binds. */
  public DeltaCommand withArguments(Seq values) {
    return new DeltaCommand(session, what, request, given, values, output);
  }

  java.util.Map request() {
    return request;
  }

  Object given() {
    return given;
  }

  public Seq run(org.apache.spark.sql.SparkSession by) {
    Object all = arguments.isEmpty() ? given : Internals.list(arguments);
    Dataset rows = (Dataset) Bridge.ask(what, request, session, all);
    List found = new ArrayList();
    if (rows != null && !output.isEmpty()) {
      found.addAll(Arrays.asList((Object[]) rows.collect()));
    }
    return Internals.seq(found);
  }

  public Seq output() {
    return output;
  }

  public Seq children() {
    return Internals.seq(new ArrayList());
  }

  public LogicalPlan mapChildren(Function1 f) {
    return this;
  }

  public LogicalPlan withNewChildrenInternal(IndexedSeq children) {
    return this;
  }

  public Map metrics() {
    if (metrics == null) {
      metrics = Map$.MODULE$.empty();
    }
    return metrics;
  }

  public Seq nodePatterns() {
    return patterns;
  }

  /** How Scala sets a value of a trait. */
  public void org$apache$spark$sql$catalyst$plans$logical$Command$_setter_$nodePatterns_$eq(
      Seq given) {
    patterns = given;
  }

  public int productArity() {
    return 6;
  }

  public Object productElement(int place) {
    return new Object[] {session, what, request, given, arguments, output}[place];
  }

  public String nodeName() {
    return "DeltaCommand";
  }

  public String simpleString(int most) {
    Object about = request.containsKey("name") ? request.get("name") : request.get("text");
    return "DeltaCommand " + what + " " + about;
  }

  public boolean canEqual(Object other) {
    return other instanceof DeltaCommand;
  }

  public boolean equals(Object other) {
    return this == other;
  }

  public int hashCode() {
    return System.identityHashCode(this);
  }
}
