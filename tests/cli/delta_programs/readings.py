"""A program as textbooks for delta-spark have it. Nothing in it is about Lakebed."""

import sys
from pathlib import Path

from delta import *
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, expr, lit
from pyspark.sql.utils import AnalysisException

from delta.exceptions import ConcurrentAppendException, DeltaConcurrentModificationException
from delta.tables import DeltaTable

folder = Path(sys.argv[1])
path = str(folder / "readings")

builder = (
    SparkSession.builder.appName("readings")
    .master("local[2]")
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
)
spark = configure_spark_with_delta_pip(builder).getOrCreate()


def ids(frame):
    return sorted(row.id for row in frame.select("id").collect())


# Create, read, overwrite
spark.range(0, 5).write.format("delta").save(path)
print("created", ids(spark.read.format("delta").load(path)))
spark.range(5, 10).write.format("delta").mode("overwrite").save(path)
print("overwritten", ids(spark.read.format("delta").load(path)))

# Conditional update, delete and upsert
table = DeltaTable.forPath(spark, path)
table.update(condition=expr("id % 2 == 0"), set={"id": expr("id + 100")})
print("updated", ids(table.toDF()))
table.delete(condition=expr("id % 2 == 0"))
print("deleted", ids(table.toDF()))
new = spark.range(0, 8)
(
    table.alias("old")
    .merge(new.alias("new"), "old.id = new.id")
    .whenMatchedUpdate(set={"id": col("new.id") + 1000})
    .whenNotMatchedInsert(values={"id": col("new.id")})
    .execute()
)
print("merged", ids(table.toDF()))

# Time travel and history
print("version 0", ids(spark.read.format("delta").option("versionAsOf", 0).load(path)))
for row in table.history().orderBy("version").collect():
    print(row.version, row.operation)
print("last", table.history(1).head().operation, table.detail().head().format)

# A checkpoint after ten commits
for number in range(5, 11):
    spark.range(number, number + 1).write.format("delta").mode("append").save(path)
log = folder / "readings" / "_delta_log"
print("checkpoints", [each.name for each in log.glob("*.checkpoint.parquet")])
print("hint", (log / "_last_checkpoint").exists())

# Files for other engines, and unused files
table.generate("symlink_format_manifest")
print("manifest", (folder / "readings" / "_symlink_format_manifest" / "manifest").exists())
spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
before = table.toDF().inputFiles()
table.vacuum(0)
left = list((folder / "readings").rglob("part-*.parquet"))
print("vacuumed", len(left) == len(before), ids(table.toDF())[:3])

# Parquet becomes Delta
parquet = str(folder / "old")
spark.range(3).withColumn("p", lit("x")).write.partitionBy("p").parquet(parquet)
DeltaTable.convertToDelta(spark, f"parquet.`{parquet}`", "p STRING")
print("converted", DeltaTable.isDeltaTable(spark, parquet), DeltaTable.isDeltaTable(spark, "/tmp"))

# A table by name
people = (
    DeltaTable.createIfNotExists(spark)
    .tableName("people")
    .addColumn("id", "BIGINT", nullable=False)
    .addColumn("name", "STRING", comment="of the person")
    .addColumn("born", "TIMESTAMP")
    .addColumn("year", "INT", generatedAlwaysAs="YEAR(born)")
    .partitionedBy("year")
    .property("description", "who is who")
    .execute()
)
spark.sql("INSERT INTO people (id, name, born) VALUES (1, 'Ada', TIMESTAMP '1815-12-10 00:00:00')")
print("people", people.toDF().select("name", "year").collect())
print(spark.sql("DESCRIBE HISTORY people").count(), spark.table("people").count())

# What goes wrong
try:
    spark.read.format("delta").load(str(folder / "nothing"))
except AnalysisException as error:
    print("missing", error.__class__.__name__)
try:
    words = spark.createDataFrame([("seven",)], ["word"])
    words.write.format("delta").mode("append").save(path)
except AnalysisException as error:
    print("enforced", "word" in str(error))
try:
    table.update("no_such_column = 1", {"id": "1"})
except AnalysisException:
    print("no such column")

# Two writers
try:
    raise ConcurrentAppendException("another commit came first")
except (ConcurrentAppendException, DeltaConcurrentModificationException) as error:
    print("conflict", type(error).__name__)

spark.stop()
print("done")
