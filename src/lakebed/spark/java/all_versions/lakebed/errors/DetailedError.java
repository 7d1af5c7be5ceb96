package lakebed.errors;

import org.apache.spark.SparkThrowable;

/** An error of Lakebed, whichever class of Spark's or Java's it is. */
public interface DetailedError extends SparkThrowable {
  /** Lakebed's own name of the kind of error; the condition is delta-spark's. */
  String getCode();
}
