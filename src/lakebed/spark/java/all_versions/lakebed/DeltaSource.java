package lakebed;

import java.util.HashMap;
import java.util.Map;
import lakebed.bridge.Bridge;
import lakebed.streams.DeltaSink;
import lakebed.streams.DeltaStream;
import lakebed.tables.DeltaRelation;
import lakebed.tables.DeltaTable;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.sources.RelationProvider;
import org.apache.spark.sql.sources.SchemaRelationProvider;
import org.apache.spark.sql.sources.StreamSinkProvider;
import org.apache.spark.sql.sources.StreamSourceProvider;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;

/**
 * The data source `delta`: tables by path.
 *
 * Its tables lack the capabilities BATCH_WRITE and MICRO_BATCH_READ, so that Spark comes back to
 * `createRelation`, `createSource` and `createSink` for writes and streams.
 */
public class DeltaSource
    implements DataSourceRegister, TableProvider, RelationProvider, SchemaRelationProvider,
        CreatableRelationProvider, StreamSourceProvider, StreamSinkProvider {
  public String shortName() {
    return "delta";
  }

  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return new StructType();
  }

  public boolean supportsExternalMetadata() {
    return true;
  }

  public Table getTable(StructType schema, Transform[] partitions, Map options) {
    return table(Bridge.session(), options, schema);
  }

  public BaseRelation createRelation(SQLContext context, scala.collection.immutable.Map options) {
    return relation(context, Bridge.java(options), null);
  }

  public BaseRelation createRelation(
      SQLContext context, scala.collection.immutable.Map options, StructType schema) {
    return relation(context, Bridge.java(options), schema);
  }

  public BaseRelation createRelation(
      SQLContext context, SaveMode mode, scala.collection.immutable.Map options, Dataset rows) {
    DeltaRelation made = relation(context, Bridge.java(options), null);
    made.table().write(mode.name(), made.table().options, rows);
    return made;
  }

  private static DeltaRelation relation(SQLContext context, Map options, StructType schema) {
    return new DeltaRelation(
        context, table((SparkSession) context.sparkSession(), options, schema));
  }

  private static DeltaTable table(SparkSession session, Map given, StructType schema) {
    Map options = new HashMap(given);
    if (schema != null && schema.length() > 0) {
      options.put(SCHEMA, schema.json());
    }
    String path = new CaseInsensitiveStringMap(options).get("path");
    return new DeltaTable(session, "delta.`" + path + "`", path, options, null);
  }

  /** The option that carries a schema that the user gave; reads of Delta tables refuse it. */
  private static final String SCHEMA = "__lakebed_schema";

  /** What Delta tables cannot store is refused by name when it is written. */
  public boolean supportsDataType(DataType type) {
    return true;
  }

  // --- streams ---

  public Tuple2 sourceSchema(
      SQLContext context, Option schema, String provider, scala.collection.immutable.Map options) {
    DeltaTable table = relation(context, Bridge.java(options), null).table();
    return new Tuple2(
        "delta", DeltaStream.schema((SparkSession) context.sparkSession(), table));
  }

  public Source createSource(
      SQLContext context,
      String metadata,
      Option schema,
      String provider,
      scala.collection.immutable.Map options) {
    DeltaTable table = relation(context, Bridge.java(options), null).table();
    return new DeltaStream((SparkSession) context.sparkSession(), table, metadata);
  }

  public Sink createSink(
      SQLContext context, scala.collection.immutable.Map options, Seq partitions, OutputMode mode) {
    DeltaTable table = relation(context, Bridge.java(options), null).table();
    return new DeltaSink((SparkSession) context.sparkSession(), table, partitions, mode);
  }
}
