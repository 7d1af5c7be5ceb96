package lakebed.commands;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import lakebed.bridge.Internals;
import lakebed.parser.Parameters;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Function1;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * The query of an INSERT with a clause that this Spark does not parse, REPLACE ON or REPLACE USING.
 * It never is resolved: `Inserts` takes it out where the table is a Delta table, and Spark runs no
 * other INSERT that has one.
 */
public class ReplacedRows extends LogicalPlan {
  private final LogicalPlan query;
  private final Map facts;
  /** Holds the condition where Spark does not look for expressions: it has two tables. */
  private final Object[] condition;
  private final Seq values;

  /** All that it has is a parameter: Spark copies nodes by their elements. */
  public ReplacedRows(LogicalPlan query, Map facts, Object[] condition, Seq values) {
    this.query = query;
    this.facts = facts;
    this.condition = condition;
    this.values = values;
  }

  /** @param condition of REPLACE ON; null for REPLACE USING */
  public static ReplacedRows of(LogicalPlan query, Map facts, Expression condition) {
    List found = Parameters.in(condition);
    // Spark 4.0 binds the last ones when it analyzes the plan.
    return new ReplacedRows(
        query, facts, new Object[] {condition, found}, Internals.seq(found));
  }

  LogicalPlan query() {
    return query;
  }

  Map facts() {
    return facts;
  }

  /** With the values of parameters, which Spark has bound by now. */
  Expression condition() {
    return condition[0] == null
        ? null
        : Parameters.bound(
            (Expression) condition[0], (List) condition[1], Internals.list(values));
  }

  public boolean resolved() {
    return false;
  }

  public Seq output() {
    return query.output();
  }

  public Seq children() {
    return Internals.seq(Arrays.asList(new Object[] {query}));
  }

  public LogicalPlan mapChildren(Function1 f) {
    LogicalPlan made = (LogicalPlan) f.apply(query);
    return made == query ? this : of(made);
  }

  public LogicalPlan withNewChildrenInternal(IndexedSeq children) {
    return of((LogicalPlan) children.head());
  }

  private LogicalPlan of(LogicalPlan child) {
    LogicalPlan made = new ReplacedRows(child, facts, condition, values);
    made.copyTagsFrom(this);
    return made;
  }

  public int productArity() {
    return 4;
  }

  public Object productElement(int place) {
    return new Object[] {query, facts, condition, values}[place];
  }

  public String nodeName() {
    return "ReplacedRows";
  }

  public String simpleString(int most) {
    return "ReplacedRows " + facts;
  }

  public boolean canEqual(Object other) {
    return other instanceof ReplacedRows;
  }

  public boolean equals(Object other) {
    return this == other;
  }

  public int hashCode() {
    return System.identityHashCode(this);
  }
}
