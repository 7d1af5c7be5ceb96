package lakebed;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
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
    return GuardImmediate.checked(parsed(text, context), text);
  }

  private LogicalPlan parsed(String text, ParameterContext context) {
    LogicalPlan own = isOurs(text) ? statement(text, context) : null;
    if (own != null) {
      return own;
    }
    try {
      LogicalPlan plan = Creates.withProvider(spark.parsePlanWithParameters(text, context));
      own = Inserts.isUnknown(plan) ? statement(text, context) : null;
      return own == null ? plan : own;
    } catch (ParseException error) {
      own = statement(text, context);
      if (own == null) {
        Internals.raise(error);
      }
      return own;
    }
  }

  private LogicalPlan statement(String text, ParameterContext context) {
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
    return statement(text, names, values);
  }
}
