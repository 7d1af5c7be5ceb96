package lakebed.tables;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.types.StructType;

/** A table where Spark wants a relation of its first API. `ResolveReads` replaces it by a plan. */
public class DeltaRelation extends BaseRelation implements InsertableRelation {
  private final SQLContext context;
  private final DeltaTable table;

  public DeltaRelation(SQLContext context, DeltaTable table) {
    this.context = context;
    this.table = table;
  }

  public DeltaTable table() {
    return table;
  }

  public SQLContext sqlContext() {
    return context;
  }

  public StructType schema() {
    return table.schema();
  }

  public void insert(Dataset rows, boolean overwrite) {
    table.write(overwrite ? "overwrite" : "append", table.options, rows);
  }
}
