package lakebed.commands;

import java.util.ArrayList;
import java.util.List;
import lakebed.bridge.Internals;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.OuterReference;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.classic.ExpressionUtils;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * Expressions of a statement with the columns of its tables by name: Lakebed reads the target by a
 * plan of its own, under other ids.
 */
class Names extends AbstractPartialFunction {
  private final AttributeSet target;
  private final AttributeSet source;
  private final String targetName;
  private final String sourceName;
  private final List targetParts;
  private final List sourceParts;
  private boolean hasSubquery = false;

  /**
   * @param targetName the alias that Lakebed gives to the target, or null
   * @param sourceName the same for the source of a MERGE, null if there is none
   */
  Names(LogicalPlan target, String targetName, LogicalPlan source, String sourceName) {
    this.target = target.outputSet();
    this.source = source == null ? null : source.outputSet();
    this.targetName = targetName;
    this.sourceName = sourceName;
    this.targetParts = qualifier(target);
    this.sourceParts = source == null ? new ArrayList() : qualifier(source);
  }

  /** How a statement may call a table: by catalog, database and name, or by an alias. */
  static List qualifier(LogicalPlan plan) {
    List parts = new ArrayList();
    if (plan instanceof SubqueryAlias) {
      SubqueryAlias alias = (SubqueryAlias) plan;
      parts.addAll(Internals.list((Seq) alias.identifier().qualifier()));
      parts.add(alias.identifier().name());
    }
    return parts;
  }

  static boolean hasSubquery(Expression expression) {
    Names all = new Names();
    expression.transformUp(all);
    return all.hasSubquery;
  }

  /** Looks for subqueries and changes nothing. */
  private Names() {
    this.target = null;
    this.source = null;
    this.targetName = null;
    this.sourceName = null;
    this.targetParts = new ArrayList();
    this.sourceParts = new ArrayList();
  }

  Column column(Expression expression) {
    return ExpressionUtils.column((Expression) Inlined.of(expression).transformUp(this));
  }

  public boolean isDefinedAt(Object found) {
    return found instanceof AttributeReference
        || found instanceof UnresolvedAttribute
        || found instanceof OuterReference
        || found instanceof SubqueryExpression;
  }

  public Object applyOrElse(Object found, Function1 otherwise) {
    if (found instanceof SubqueryExpression) {
      hasSubquery = true;
      if (target == null) {
        return found;
      }
      SubqueryExpression query = (SubqueryExpression) found;
      return query.withNewPlan(
          (LogicalPlan) Inlined.of((LogicalPlan) query.plan()).transformAllExpressions(this));
    }
    if (target == null) {
      return otherwise.apply(found);
    }
    if (found instanceof OuterReference) {
      Object named = named((Attribute) ((OuterReference) found).e(), found);
      return named;
    }
    if (found instanceof AttributeReference) {
      return named((Attribute) found, found);
    }
    return found instanceof UnresolvedAttribute
        ? shortened((UnresolvedAttribute) found)
        : otherwise.apply(found);
  }

  private Object named(Attribute attribute, Object otherwise) {
    List parts = new ArrayList();
    if (target.contains(attribute)) {
      if (targetName != null) {
        parts.add(targetName);
      }
    } else if (source != null && source.contains(attribute)) {
      if (sourceName != null) {
        parts.add(sourceName);
      }
    } else {
      return otherwise;
    }
    parts.add(attribute.name());
    return new UnresolvedAttribute(Internals.seq(parts));
  }

  /** `shop.orders.id` as the command calls it: `orders.id`. */
  private Object shortened(UnresolvedAttribute found) {
    List parts = Internals.list(found.nameParts());
    List made = shortened(parts, targetParts, targetName);
    made = made == null && source != null ? shortened(parts, sourceParts, sourceName) : made;
    return made == null ? found : new UnresolvedAttribute(Internals.seq(made));
  }

  private static List shortened(List parts, List qualifier, String name) {
    for (int start = 0; start < qualifier.size(); start++) {
      List prefix = qualifier.subList(start, qualifier.size());
      if (startsWith(parts, prefix)) {
        List made = new ArrayList();
        if (name != null) {
          made.add(name);
        }
        made.addAll(parts.subList(prefix.size(), parts.size()));
        return made;
      }
    }
    return null;
  }

  private static boolean startsWith(List parts, List prefix) {
    if (parts.size() <= prefix.size()) {
      return false;
    }
    for (int i = 0; i < prefix.size(); i++) {
      if (!((String) parts.get(i)).equalsIgnoreCase((String) prefix.get(i))) {
        return false;
      }
    }
    return true;
  }
}
