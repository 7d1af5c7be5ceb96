package lakebed;

import java.lang.reflect.Field;
import lakebed.bridge.Internals;
import lakebed.commands.ResolveCommands;
import lakebed.commands.ResolveReads;
import lakebed.commands.ViewTargets;
import lakebed.parser.DeltaParser;
import lakebed.parser.GuardImmediate;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SessionState;
import scala.collection.immutable.Seq;

/**
 * Makes a session that runs already know Delta tables, as if it had been started with
 * `spark.sql.extensions` = lakebed.DeltaExtensions and `spark.sql.catalog.spark_catalog` =
 * lakebed.DeltaCatalog.
 */
public class SessionSetup {
  /** Once for a session. Sessions that are derived from it are set up too. */
  public void install(SparkSession session) throws Exception {
    // New sessions take their settings from here.
    session.sparkContext().conf().set(DeltaExtensions.CATALOG, DeltaCatalog.class.getName());
    session
        .sessionState()
        .conf()
        .setConfString(DeltaExtensions.CATALOG, DeltaCatalog.class.getName());
    Analyzer analyzer = session.sessionState().analyzer();
    if (has(analyzer.extendedResolutionRules())) {
      return;
    }
    if (!has(session.extensions())) {
      new DeltaExtensions().apply(session.extensions());
    }
    // The session has its analyser and parser already, and takes rules in no other way.
    add(analyzer, "hintResolutionRules", new GuardImmediate());
    add(analyzer, "hintResolutionRules", new ViewTargets(session));
    add(analyzer, "extendedResolutionRules", new ResolveReads(session));
    add(analyzer, "postHocResolutionRules", new ResolveCommands(session));
    SessionState state = session.sessionState();
    ParserInterface parser = new DeltaParser(session, state.sqlParser());
    field(state.getClass(), "sqlParser").set(state, parser);
    field(state.catalog().getClass(), "parser").set(state.catalog(), parser);
    Object[] functions = new Object[] {state.tableFunctionRegistry()};
    Internals.invoke(session.extensions(), "registerTableFunctions", functions);
  }

  private static boolean has(Seq rules) {
    for (int i = 0; i < rules.length(); i++) {
      if (rules.apply(i) instanceof ResolveReads) {
        return true;
      }
    }
    return false;
  }

  private static boolean has(org.apache.spark.sql.SparkSessionExtensions extensions) {
    return has((Seq) Internals.invoke(extensions, "buildResolutionRules", new Object[] {null}));
  }

  private static void add(Analyzer analyzer, String name, Object rule) throws Exception {
    Field found = field(analyzer.getClass(), name);
    found.set(analyzer, ((Seq) found.get(analyzer)).appended(rule));
  }

  /** The field of an object that overrides the getter of that name. */
  private static Field field(Class type, String name) throws Exception {
    for (Class each = type; each != null; each = each.getSuperclass()) {
      Field[] fields = each.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        if (fields[i].getName().equals(name)) {
          fields[i].setAccessible(true);
          return fields[i];
        }
      }
    }
    throw Internals.missing("field " + name + " in " + type.getName());
  }
}
