package lakebed.bridge;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import lakebed.errors.ErrorDetails;
import lakebed.errors.LakebedException;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext$;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.catalyst.plans.logical.AnalysisHelper$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.plans.logical.View$;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import scala.Product;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;

/** What the other classes need to reach into Scala, and into Spark's analyser. */
public class Internals {
  public static List list(Seq values) {
    return new ArrayList(CollectionConverters.asJava(values));
  }

  public static Seq seq(List values) {
    return CollectionConverters.asScala(values).toSeq();
  }

  public static scala.collection.immutable.Map map(Map values) {
    return Map$.MODULE$.from(CollectionConverters.asScala(values));
  }

  public static String quoted(String name) {
    return "`" + name.replace("`", "``") + "`";
  }

  /** What a method without parameters gives; `otherwise` where this Spark has no such method. */
  public static Object get(Object target, String name, Object otherwise) {
    try {
      Method method = target.getClass().getMethod(name, new Class[0]);
      method.setAccessible(true);
      return call(method, target, new Object[0]);
    } catch (NoSuchMethodException error) {
      return otherwise;
    }
  }

  /** Where a node or value has an element; -1 if this Spark has none of that name. */
  public static int place(Product node, String name) {
    for (int i = 0; i < node.productArity(); i++) {
      if (node.productElementName(i).equals(name)) {
        return i;
      }
    }
    return -1;
  }

  /** A copy with another element, at its place in the statement. */
  public static Object with(Product node, String name, Object value) {
    if (!(node instanceof TreeNode)) {
      return copied(node, name, value);
    }
    Origin before = CurrentOrigin.get();
    CurrentOrigin.set(((TreeNode) node).origin());
    try {
      Object made = copied(node, name, value);
      ((TreeNode) made).copyTagsFrom((TreeNode) node);
      return made;
    } finally {
      CurrentOrigin.set(before);
    }
  }

  /** Newer versions of Spark have more elements. */
  private static Object copied(Product node, String name, Object value) {
    int place = place(node, name);
    if (place < 0) {
      throw missing("element " + name + " in " + node.getClass().getName());
    }
    Constructor constructor = node.getClass().getConstructors()[0];
    Object[] all = new Object[node.productArity()];
    for (int i = 0; i < all.length; i++) {
      all[i] = i == place ? value : node.productElement(i);
    }
    try {
      return constructor.newInstance(all);
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  /** A method by its name; parameters that newer versions of Spark added get their defaults. */
  public static Object invoke(Object target, String name, Object[] arguments) {
    Method[] methods = target.getClass().getMethods();
    for (int n = arguments.length; n < arguments.length + 3; n++) {
      for (int i = 0; i < methods.length; i++) {
        if (methods[i].getName().equals(name) && methods[i].getParameterCount() == n) {
          Object[] all = new Object[n];
          for (int k = 0; k < n; k++) {
            all[k] = k < arguments.length
                ? arguments[k]
                : get(target, name + "$default$" + (k + 1), null);
          }
          return call(methods[i], target, all);
        }
      }
    }
    throw missing("method " + name + " in " + target.getClass().getName());
  }

  /** A view is analyzed by itself, with the database and the settings that it was made with. */
  public static LogicalPlan analyzed(
      final SparkSession session, final View view, final LogicalPlan child) {
    final Analyzer analyzer = session.sessionState().analyzer();
    final AbstractFunction0 analysis = new AbstractFunction0() {
      public Object apply() {
        LogicalPlan plan = (LogicalPlan) invokeHidden(analyzer, "executeSameContext", child);
        analyzer.checkAnalysis(plan);
        return plan;
      }
    };
    final SQLConf settings = settings(view);
    final AbstractFunction0 inContext = new AbstractFunction0() {
      public Object apply() {
        return SQLConf$.MODULE$.withExistingConf(settings, analysis);
      }
    };
    return (LogicalPlan) AnalysisHelper$.MODULE$.markInAnalyzer(new AbstractFunction0() {
      public Object apply() {
        return AnalysisContext$.MODULE$.withAnalysisContext(view.desc(), inContext);
      }
    });
  }

  /** From 4.1 on a third parameter says which version made the view. */
  private static SQLConf settings(View view) {
    Method[] methods = View$.class.getMethods();
    for (int i = 0; i < methods.length; i++) {
      if (!methods[i].getName().equals("effectiveSQLConf")) {
        continue;
      }
      Object configs = view.desc().viewSQLConfigs();
      Boolean isTemporary = Boolean.valueOf(view.isTempView());
      Object[] arguments = methods[i].getParameterTypes().length == 2
          ? new Object[] {configs, isTemporary}
          : new Object[] {configs, isTemporary, view.desc().createVersion()};
      return (SQLConf) call(methods[i], View$.MODULE$, arguments);
    }
    throw missing("method effectiveSQLConf in " + View$.class.getName());
  }

  /** Scala hides private methods by a longer name. */
  private static Object invokeHidden(Object target, String name, Object argument) {
    Method[] methods = Analyzer.class.getMethods();
    for (int i = 0; i < methods.length; i++) {
      if (methods[i].getName().endsWith("$$" + name)) {
        return call(methods[i], target, new Object[] {argument});
      }
    }
    throw missing("method " + name + " in " + Analyzer.class.getName());
  }

  /** For what is looked up by its name: the compiler does not see that this Spark lacks it. */
  public static LakebedException missing(String what) {
    String version = org.apache.spark.package$.MODULE$.SPARK_VERSION();
    String message = "[UNSUPPORTED_SPARK] Lakebed does not fit Spark " + version + ": there is no "
        + what
        + "\n  hint: pip install 'lakebed[spark]', which brings a PySpark that Lakebed knows";
    return new LakebedException(message, ErrorDetails.of("UNSUPPORTED_SPARK"), null);
  }

  public static Object call(Method method, Object target, Object[] arguments) {
    try {
      return method.invoke(target, arguments);
    } catch (InvocationTargetException error) {
      raise(error.getCause());
      return null;
    } catch (IllegalAccessException error) {
      throw new IllegalStateException(error);
    }
  }

  /** Errors of Spark's go on as they are, also those that Java would have declared. */
  public static void raise(Throwable error) {
    if (error instanceof RuntimeException) {
      throw (RuntimeException) error;
    }
    if (error instanceof Error) {
      throw (Error) error;
    }
    org.apache.spark.unsafe.Platform.throwException(error);
  }
}
