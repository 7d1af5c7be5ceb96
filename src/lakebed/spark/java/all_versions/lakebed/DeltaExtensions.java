package lakebed;

import lakebed.commands.ResolveCommands;
import lakebed.commands.ResolveReads;
import lakebed.commands.ViewTargets;
import lakebed.parser.DeltaParser;
import lakebed.parser.GuardImmediate;
import lakebed.scans.DeltaScans;
import lakebed.tables.TableChangesFunction;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.classic.SparkSession;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/** For `spark.sql.extensions`: what makes sessions of an application know Delta tables. */
public class DeltaExtensions extends AbstractFunction1 {
  static final String CATALOG = "spark.sql.catalog.spark_catalog";

  public Object apply(Object given) {
    // Sessions take their settings from here, after their extensions.
    SparkContext.getOrCreate().conf().setIfMissing(CATALOG, DeltaCatalog.class.getName());
    SparkSessionExtensions extensions = (SparkSessionExtensions) given;
    extensions.injectHintResolutionRule(new AbstractFunction1() {
      public Object apply(Object session) {
        return new GuardImmediate();
      }
    });
    extensions.injectHintResolutionRule(new AbstractFunction1() {
      public Object apply(Object session) {
        return new ViewTargets((SparkSession) session);
      }
    });
    extensions.injectResolutionRule(new AbstractFunction1() {
      public Object apply(Object session) {
        return new ResolveReads((SparkSession) session);
      }
    });
    extensions.injectPostHocResolutionRule(new AbstractFunction1() {
      public Object apply(Object session) {
        return new ResolveCommands((SparkSession) session);
      }
    });
    // One for all sessions: it knows the versions that a query reads.
    final DeltaScans scans = new DeltaScans();
    extensions.injectOptimizerRule(new AbstractFunction1() {
      public Object apply(Object session) {
        return scans;
      }
    });
    extensions.injectParser(new AbstractFunction2() {
      public Object apply(Object session, Object parser) {
        return new DeltaParser((SparkSession) session, (ParserInterface) parser);
      }
    });
    TableChangesFunction.inject(extensions);
    return BoxedUnit.UNIT;
  }
}
