package lakebed.parser;

import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.classic.SparkSession;

/** For Spark 4.0, whose analyser binds the parameters of statements. */
public class DeltaParser extends DeltaParserBase {
  public DeltaParser(SparkSession session, ParserInterface spark) {
    super(session, spark);
  }
}
