package lakebed;

import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.classic.SparkSession;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/** For `spark.sql.extensions`: what makes a session know Delta tables, besides its catalog. */
public class DeltaExtensions extends AbstractFunction1 {
  public Object apply(Object given) {
    SparkSessionExtensions extensions = (SparkSessionExtensions) given;
    extensions.injectHintResolutionRule(new AbstractFunction1() {
      public Object apply(Object session) {
        return new GuardImmediate();
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
    extensions.injectParser(new AbstractFunction2() {
      public Object apply(Object session, Object parser) {
        return new DeltaParser((SparkSession) session, (ParserInterface) parser);
      }
    });
    TableChangesFunction.inject(extensions);
    return BoxedUnit.UNIT;
  }
}
