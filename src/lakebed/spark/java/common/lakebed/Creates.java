package lakebed;

import java.lang.reflect.Constructor;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.Option;
import scala.Product;
import scala.collection.immutable.Seq;

/** CREATE TABLE of a path such as delta.`/data/orders`, which says its format by itself. */
final class Creates {
  private Creates() {}

  static LogicalPlan withProvider(LogicalPlan plan) {
    int spec = plan.productArity() == 0 ? -1 : place(plan, "tableSpec");
    if (spec < 0 || !(plan.productElement(0) instanceof UnresolvedIdentifier)) {
      return plan;
    }
    Seq parts = ((UnresolvedIdentifier) plan.productElement(0)).nameParts();
    boolean isPath = parts.length() == 2
        && "delta".equalsIgnoreCase((String) parts.head())
        && ((String) parts.last()).contains("/");
    Product given = (Product) plan.productElement(spec);
    int provider = place(given, "provider");
    if (!isPath || provider < 0 || ((Option) given.productElement(provider)).isDefined()) {
      return plan;
    }
    return (LogicalPlan) changed(plan, spec, changed(given, provider, Option.apply("delta")));
  }

  private static int place(Product node, String name) {
    for (int i = 0; i < node.productArity(); i++) {
      if (node.productElementName(i).equals(name)) {
        return i;
      }
    }
    return -1;
  }

  private static Object changed(Product node, int place, Object value) {
    Constructor constructor = node.getClass().getConstructors()[0];
    Object[] all = new Object[node.productArity()];
    for (int i = 0; i < all.length; i++) {
      all[i] = i == place ? value : node.productElement(i);
    }
    try {
      Object made = constructor.newInstance(all);
      if (made instanceof TreeNode) {
        ((TreeNode) made).copyTagsFrom((TreeNode) node);
      }
      return made;
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }
}
