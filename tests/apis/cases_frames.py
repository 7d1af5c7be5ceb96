"""DataFrames: `spark.read`, `df.write`, `df.writeTo`, `df.mergeInto`."""

from __future__ import annotations

from typing import Any

from api_case import BEFORE, BOTH, CH, C, Case, Place, R, Rows, W
from pyspark.sql import functions as F

READER = "DataFrameReader"
V1 = "DataFrameWriter"
V2 = "DataFrameWriterV2, MergeIntoWriter"

CHANGED: Rows = [(1, "a", "delete", 3)]


def load(place: Place, **options: Any) -> Any:
    return place.spark.read.format("delta").options(**options).load(place.path)


def joined(place: Place) -> Any:
    table = place.spark.table("t")
    return table.join(table.withColumnRenamed("v", "w"), "id").where("id > 1").groupBy("w").count()


def changes(place: Place) -> Any:
    place.sql("ALTER TABLE t SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    place.sql("DELETE FROM t WHERE id = 1")
    feed = place.spark.read.format("delta").option("readChangeFeed", True)
    found = feed.option("startingVersion", 3).table("t")
    return found.select("id", "v", "_change_type", "_commit_version")


def write(place: Place, mode: str, **options: Any) -> Any:
    return place.new.write.format("delta").mode(mode).options(**options)


def wider(place: Place) -> Any:
    return place.new.withColumn("n", F.lit(7))


def refused_save(place: Place) -> None:
    said = ""
    try:
        place.new.write.format("delta").save(place.path)
    except Exception as error:  # noqa: BLE001 - its class differs between classic and Connect
        said = str(error)
    assert "TABLE_EXISTS" in said, said


def partitioned(place: Place) -> None:
    place.frame(BEFORE).write.format("delta").partitionBy("v").saveAsTable("u")


def dynamic(place: Place) -> None:
    partitioned(place)
    new = place.frame([(9, "b")]).write.format("delta").mode("overwrite")
    new.option("partitionOverwriteMode", "dynamic").save(str(place.table("u")))


def dynamic_by_name(place: Place) -> None:
    partitioned(place)
    new = place.frame([(9, "b")]).write.format("delta").mode("overwrite")
    new.option("partitionOverwriteMode", "dynamic").insertInto("u")


def partitions_overwritten(place: Place) -> None:
    partitioned(place)
    place.frame([(9, "b")]).writeTo("u").overwritePartitions()


def created(place: Place) -> None:
    writer = place.new.writeTo("u").using("delta").partitionedBy(F.col("v"))
    writer.tableProperty("delta.appendOnly", "true").create()
    shown = {row.key: row.value for row in place.sql("SHOW TBLPROPERTIES u").collect()}
    assert shown["delta.appendOnly"] == "true"


def merge(place: Place, *, evolves: bool = False) -> None:
    source = place.frame([(2, "B"), (3, "c")])
    source = source.withColumn("n", F.lit(7)) if evolves else source
    merging = source.alias("s").mergeInto("t", F.expr("t.id = s.id"))
    merging = merging.withSchemaEvolution() if evolves else merging
    merging.whenMatched().updateAll().whenNotMatched().insertAll().merge()


def merge_by_source(place: Place) -> None:
    source = place.frame([(2, "B")]).alias("s").mergeInto("t", F.expr("t.id = s.id"))
    matched = source.whenMatched(F.expr("s.v = 'B'")).update({"v": F.col("s.v")})
    matched.whenNotMatchedBySource().delete().merge()


READS = [
    Case(READER, "read.format('delta').load(path)", R, load, BEFORE, connect=True),
    Case(READER, "read.load(path, format='delta')", R,
         lambda p: p.spark.read.load(p.path, format="delta"), BEFORE),
    Case(READER, "read.table(name)", R, lambda p: p.spark.read.table("t"), BEFORE, connect=True),
    Case(READER, "spark.table(name)", R, lambda p: p.spark.table("t"), BEFORE),
    Case(READER, "spark.table('delta.`path`')", R,
         lambda p: p.spark.table(f"delta.`{p.path}`"), BEFORE, connect=True),
    Case(READER, "option versionAsOf", R,
         lambda p: load(p, versionAsOf=0), BEFORE[:1], stored=BEFORE, connect=True),
    Case(READER, "option versionAsOf of read.table", R,
         lambda p: p.spark.read.option("versionAsOf", 0).table("t"), BEFORE[:1], stored=BEFORE),
    Case(READER, "option timestampAsOf", R,
         lambda p: load(p, timestampAsOf="2021-01-01"), BEFORE[:1], stored=BEFORE),
    Case(READER, "path@v0", R,
         lambda p: p.spark.read.format("delta").load(f"{p.path}@v0"), BEFORE[:1], stored=BEFORE),
    Case(READER, "option readChangeFeed", R, changes, CHANGED, stored=BEFORE[1:], connect=True),
    Case(READER, "the column _metadata", R,
         lambda p: load(p).select("id", F.col("_metadata.file_size") > 0),
         [(1, True), (2, True)], stored=BEFORE),
    Case(READER, "join, where, groupBy", R, joined, [("b", 1)], stored=BEFORE, connect=True),
]  # fmt: skip

WRITES = [
    Case(V1, "save(path), a new table", W,
         lambda p: p.new.write.format("delta").save(f"{p.folder}/u"), C, "u", connect=True),
    Case(V1, "save(path), mode errorifexists", W, refused_save, BEFORE, connect=True),
    Case(V1, "save(path), mode append", W,
         lambda p: write(p, "append").save(p.path), BOTH, connect=True),
    Case(V1, "save(path), mode overwrite", W,
         lambda p: write(p, "overwrite").save(p.path), C, connect=True),
    Case(V1, "save(path), mode ignore", W, lambda p: write(p, "ignore").save(p.path), BEFORE),
    Case(V1, "partitionBy", W, partitioned, BEFORE, "u", connect=True),
    Case(V1, "clusterBy", W,
         lambda p: p.new.write.format("delta").clusterBy("id").saveAsTable("u"), C, "u"),
    Case(V1, "option mergeSchema", W,
         lambda p: wider(p).write.format("delta").mode("append").option("mergeSchema", True)
         .save(p.path), [(1, "a", None), (2, "b", None), (3, "c", 7)], connect=True),
    Case(V1, "option overwriteSchema", W,
         lambda p: wider(p).write.format("delta").mode("overwrite").option("overwriteSchema", True)
         .save(p.path), [(3, "c", 7)]),
    Case(V1, "option replaceWhere", W,
         lambda p: write(p, "overwrite", replaceWhere="id >= 2").save(p.path),
         [(1, "a"), (3, "c")], connect=True),
    Case(V1, "option partitionOverwriteMode", W, dynamic, [(1, "a"), (9, "b")], "u"),
    Case(V1, "saveAsTable, a new table", W,
         lambda p: p.new.write.format("delta").saveAsTable("u"), C, "u", connect=True),
    Case(V1, "saveAsTable with a path", W,
         lambda p: p.new.write.format("delta").option("path", f"{p.folder}/x").saveAsTable("u"),
         C, "x"),
    Case(V1, "saveAsTable, mode append", W,
         lambda p: write(p, "append").saveAsTable("t"), BOTH, connect=True),
    Case(V1, "saveAsTable, mode overwrite", W,
         lambda p: write(p, "overwrite").saveAsTable("t"), C),
    Case(V1, "insertInto", W, lambda p: p.new.write.insertInto("t"), BOTH, connect=True),
    Case(V1, "format('delta'), option partitionOverwriteMode of insertInto", W, dynamic_by_name,
         [(1, "a"), (9, "b")], "u", connect=True),
    Case(V1, "insertInto, overwrite", W,
         lambda p: p.new.write.insertInto("t", overwrite=True), C),
]  # fmt: skip

WRITES_V2 = [
    Case(V2, "writeTo.create", W, created, C, "u", connect=True),
    Case(V2, "writeTo.clusterBy", W,
         lambda p: p.new.writeTo("u").using("delta").clusterBy("id").create(), C, "u"),
    Case(V2, "writeTo.replace", W,
         lambda p: wider(p).writeTo("t").using("delta").replace(), [(3, "c", 7)], connect=True),
    Case(V2, "writeTo.createOrReplace", W,
         lambda p: p.new.writeTo("t").using("delta").createOrReplace(), C),
    Case(V2, "writeTo.append", W, lambda p: p.new.writeTo("t").append(), BOTH, connect=True),
    Case(V2, "writeTo('delta.`path`').append", W,
         lambda p: p.new.writeTo(f"delta.`{p.path}`").append(), BOTH),
    Case(V2, "writeTo.option('mergeSchema').append", W,
         lambda p: wider(p).writeTo("t").option("mergeSchema", "true").append(),
         [(1, "a", None), (2, "b", None), (3, "c", 7)]),
    Case(V2, "writeTo.overwrite(condition)", W,
         lambda p: p.new.writeTo("t").overwrite(F.expr("id >= 2")),
         [(1, "a"), (3, "c")], connect=True),
    Case(V2, "writeTo.overwritePartitions", W, partitions_overwritten,
         [(1, "a"), (9, "b")], "u", connect=True),
    Case(V2, "mergeInto", CH, merge, [(1, "a"), (2, "B"), (3, "c")], connect=True),
    Case(V2, "mergeInto.withSchemaEvolution", CH, lambda p: merge(p, evolves=True),
         [(1, "a", None), (2, "B", 7), (3, "c", 7)], connect=True),
    Case(V2, "mergeInto.whenNotMatchedBySource", CH, merge_by_source, [(2, "B")]),
]  # fmt: skip

CASES = [*READS, *WRITES, *WRITES_V2]
