package lakebed.tables;

import java.util.Map;
import java.util.Set;
import lakebed.bridge.Internals;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;

/** A table of another format with a source of Spark's second API, created before its rows come. */
class OtherStagedTable implements StagedTable, SupportsWrite {
  private final DeltaCatalogBase catalog;
  private final Identifier ident;
  private final Table table;

  private OtherStagedTable(DeltaCatalogBase catalog, Identifier ident, Table table) {
    this.catalog = catalog;
    this.ident = ident;
    this.table = table;
  }

  static StagedTable of(
      DeltaCatalogBase catalog,
      Identifier ident,
      Column[] columns,
      Transform[] partitions,
      Map properties,
      Map definition) {
    try {
      if (!definition.get("mode").equals("create")) {
        catalog.dropTable(ident);
      }
      Table made = catalog.createTable(ident, columns, partitions, properties);
      return new OtherStagedTable(catalog, ident, made);
    } catch (TableAlreadyExistsException error) {
      Internals.raise(error);
    } catch (NoSuchNamespaceException error) {
      Internals.raise(error);
    }
    return null;
  }

  public String name() {
    return table.name();
  }

  @SuppressWarnings("deprecation")
  public StructType schema() {
    return table.schema();
  }

  public Transform[] partitioning() {
    return table.partitioning();
  }

  public Map properties() {
    return table.properties();
  }

  public Set capabilities() {
    return table.capabilities();
  }

  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return ((SupportsWrite) table).newWriteBuilder(info);
  }

  public void commitStagedChanges() {}

  public void abortStagedChanges() {
    catalog.dropTable(ident);
  }

  public CustomTaskMetric[] reportDriverMetrics() {
    return new CustomTaskMetric[0];
  }
}
