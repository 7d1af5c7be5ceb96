package lakebed.parser;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import lakebed.bridge.Internals;
import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.parser.PositionalParameterContext;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import scala.Product;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** For Spark 4.1 and newer, whose parser gets the parameters of statements. */
public class DeltaParser extends DeltaParserBase {
  public DeltaParser(SparkSession session, ParserInterface spark) {
    super(session, spark);
  }

  public LogicalPlan parsePlanWithParameters(String text, ParameterContext context) {
    return parsed(text, context);
  }

  protected LogicalPlan bySpark(String text, Object context) throws ParseException {
    return context == null
        ? super.bySpark(text, null)
        : spark.parsePlanWithParameters(text, (ParameterContext) context);
  }

  protected Object only(Object context, List marks) {
    Object first = context == null ? null : ((Product) context).productElement(0);
    if (!(first instanceof Seq) || hasNames((Product) context)) {
      return context;
    }
    List chosen = new ArrayList();
    for (int i = 0; i < marks.size(); i++) {
      int place = ((Number) marks.get(i)).intValue();
      if (place < ((Seq) first).length()) {
        chosen.add(((Seq) first).apply(place));
      }
    }
    return new PositionalParameterContext(Internals.seq(chosen));
  }

  /** EXECUTE IMMEDIATE gives a name for each value; those of values without one are empty. */
  private static boolean hasNames(Product context) {
    if (context.productArity() < 2) {
      return false;
    }
    Seq names = (Seq) context.productElement(1);
    for (int i = 0; i < names.length(); i++) {
      if (!((String) names.apply(i)).isEmpty()) {
        return true;
      }
    }
    return false;
  }

  protected LogicalPlan statement(String text, Object context) {
    if (context == null) {
      return super.statement(text, null);
    }
    Product given = (Product) context;
    List values = new ArrayList();
    List names = new ArrayList();
    if (given.productElement(0) instanceof scala.collection.Map) {
      Map named = CollectionConverters.asJava((scala.collection.Map) given.productElement(0));
      names.addAll(named.keySet());
      values.addAll(named.values());
    } else {
      values.addAll(CollectionConverters.asJava((Seq) given.productElement(0)));
      if (given.productArity() > 1) {
        names.addAll(CollectionConverters.asJava((Seq) given.productElement(1)));
      }
    }
    return statement(text, context, names, values);
  }
}
