"""PySpark beyond DataFrames and SQL: pandas on Spark, the catalog, functions, streams, sessions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pyspark
from api_case import BEFORE, BOTH, CH, C, Case, Place, R, Rows, W
from pyspark.sql import functions as F

PANDAS = "pandas on Spark"
CATALOG = "spark.catalog"
FUNCTIONS = "Python functions"
OUT = "Rows to Python"
STREAMS = "Structured Streaming"
SESSIONS = "Sessions"


def pandas_on_spark() -> Any:
    os.environ.setdefault("PYARROW_IGNORE_TIMEZONE", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pyspark.pandas as ps

        # The default is slow: it numbers rows with a window.
        ps.set_option("compute.default_index_type", "distributed")
        if pyspark.__version__.startswith("4.0."):
            # There pandas on Spark refuses sessions in ANSI mode, the default, unless told not to.
            ps.set_option("compute.fail_on_ansi_mode", False)
    return ps


def of_pandas(name: str, *arguments: Any, **more: Any) -> Any:
    """A case that calls this function of pandas on Spark. Advice about indexes is no error."""

    def how(place: Place) -> Rows:
        texts = [each.replace("<folder>", str(place.folder)) for each in arguments]
        ps = pandas_on_spark()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = getattr(ps, name)(*texts, **more).to_pandas()
        return [tuple(row) for row in frame.itertuples(index=False)]

    return how


def pandas_writes(place: Place, how: str) -> None:
    ps = pandas_on_spark()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = ps.DataFrame(place.new)
        if how == "to_delta":
            frame.to_delta(place.path, mode="append")
        elif how == "to_table":
            frame.to_table("t", format="delta", mode="append")
        else:
            frame.spark.to_table("u", format="delta", mode="overwrite")


def catalog_table(place: Place) -> None:
    schema = place.spark.table("t").schema
    place.spark.catalog.createTable("u", source="delta", schema=schema)
    place.new.write.insertInto("u")


def external_table(place: Place) -> Any:
    place.spark.catalog.createTable("u", path=place.path, source="delta")
    return place.spark.table("u")


def catalog_exists(place: Place) -> Rows:
    exists = place.spark.catalog.tableExists
    return [(exists("t"), exists("missing"), exists(f"delta.`{place.path}`"))]


def shown(table: Any) -> tuple[Any, ...]:
    return (table.name, table.tableType, table.isTemporary)


def listed(place: Place) -> Rows:
    """Compiled: plain Spark fails to list tables while it interprets expressions."""
    mode = "spark.sql.codegen.factoryMode"
    before = place.spark.conf.get(mode)
    place.spark.conf.set(mode, "FALLBACK")
    try:
        return [shown(each) for each in place.spark.catalog.listTables()]
    finally:
        place.spark.conf.set(mode, before)


def global_view(place: Place) -> Any:
    place.spark.table("t").createGlobalTempView("apis_global")
    found = place.spark.table("global_temp.apis_global").collect()
    assert place.spark.catalog.dropGlobalTempView("apis_global")
    return found


def catalog_dropped(place: Place) -> Rows:
    place.spark.catalog.dropTable("t")
    return [(place.spark.catalog.tableExists("t"),)]


def cached(place: Place) -> Any:
    catalog = place.spark.catalog
    catalog.cacheTable("t")
    assert catalog.isCached("t")
    place.new.write.insertInto("t")
    found = place.spark.table("t").collect()
    catalog.uncacheTable("t")
    return found


def temporary(place: Place) -> Any:
    place.spark.table("t").createOrReplaceTempView("brief")
    found = place.spark.table("brief").collect()
    assert place.spark.catalog.dropTempView("brief")
    return found


# Workers do not find this module: functions that go to them are inside of others.
def with_pandas(place: Place) -> Any:
    def upper(values: pd.Series) -> pd.Series:
        return values.str.upper()

    return place.spark.table("t").select("id", F.pandas_udf(upper, "string")("v"))


def in_condition(place: Place) -> None:
    place.spark.udf.register("apis_odd", lambda number: number % 2 == 1, "boolean")
    place.sql("DELETE FROM t WHERE apis_odd(id)")


def table_function(place: Place) -> Any:
    class Twice:
        def eval(self, number: int) -> Iterator[tuple[int]]:
            yield (number,)
            yield (number,)

    place.spark.udtf.register("apis_twice", F.udtf(Twice, returnType="n BIGINT"))
    return place.sql("SELECT x.n FROM t, LATERAL apis_twice(t.id) x")


def written_by_python(place: Place) -> None:
    frame = place.frame([(1, "x")]).mapInArrow(lambda batches: batches, "id BIGINT, v STRING")
    frame.write.format("delta").mode("overwrite").save(place.path)


def cached_frame(place: Place) -> Any:
    frame = place.spark.table("t").cache()
    first = frame.count()
    place.new.write.insertInto("t")
    found = place.spark.table("t").collect()
    frame.unpersist()
    assert first == 2
    return found


def run(place: Place, writer: Any, **options: Any) -> Any:
    writer = writer.option("checkpointLocation", f"{place.folder}/checkpoint")
    return writer.trigger(availableNow=True).options(**options)


def streamed_to_table(place: Place) -> None:
    writer = place.spark.readStream.table("t").writeStream
    run(place, writer).toTable("u", format="delta").awaitTermination(120)


def streamed_to_path(place: Place) -> None:
    source = place.spark.readStream.format("delta").load(place.path)
    writer = run(place, source.writeStream.format("delta"))
    writer.start(f"{place.folder}/x").awaitTermination(120)


def streamed_by_sql(place: Place) -> None:
    writer = place.sql("SELECT * FROM STREAM t").writeStream
    run(place, writer).toTable("u", format="delta").awaitTermination(120)


def streamed_twice(place: Place) -> None:
    streamed_to_table(place)
    place.new.write.insertInto("t")
    streamed_to_table(place)


def streamed_by_batch(place: Place) -> None:
    def keep(frame: Any, _: int) -> None:
        frame.write.format("delta").mode("append").save(f"{place.folder}/x")

    writer = run(place, place.spark.readStream.table("t").writeStream.foreachBatch(keep))
    writer.start().awaitTermination(120)


def counted_by_stream(place: Place) -> None:
    counts = place.spark.readStream.table("t").groupBy("v").count()
    writer = run(place, counts.writeStream.outputMode("complete").format("delta"))
    writer.start(f"{place.folder}/x").awaitTermination(120)


def streamed_to_partitions(place: Place) -> None:
    source = place.spark.readStream.table("t")
    writer = run(place, source.writeStream.format("delta").partitionBy("v"))
    writer.toTable("u").awaitTermination(120)
    assert (place.table("u") / "v=b").is_dir()


def from_new_session(place: Place) -> Any:
    other = place.spark.newSession()
    other.sql("INSERT INTO apis.t VALUES (3, 'c')")
    return other.table("apis.t")


CASES = [
    Case(PANDAS, "read_delta", R, of_pandas("read_delta", "<folder>/t"), BEFORE, connect=True),
    Case(PANDAS, "read_delta(version=)", R, of_pandas("read_delta", "<folder>/t", version=0),
         BEFORE[:1], stored=BEFORE),
    Case(PANDAS, "read_table", R, of_pandas("read_table", "t"), BEFORE),
    Case(PANDAS, "sql", R, of_pandas("sql", "SELECT * FROM t WHERE id > 1"), BEFORE[1:],
         stored=BEFORE),
    Case(PANDAS, "DataFrame.to_delta", W, lambda p: pandas_writes(p, "to_delta"), BOTH,
         connect=True),
    Case(PANDAS, "DataFrame.to_table", W, lambda p: pandas_writes(p, "to_table"), BOTH),
    Case(PANDAS, "DataFrame.spark.to_table", W, lambda p: pandas_writes(p, "spark"), C, "u"),
    Case(CATALOG, "createTable", W, catalog_table, C, "u", connect=True),
    Case(CATALOG, "createTable with a path", R, external_table, BEFORE),
    Case(CATALOG, "tableExists", R, catalog_exists, [(True, False, True)], stored=BEFORE,
         connect=True),
    Case(CATALOG, "getTable", R, lambda p: [shown(p.spark.catalog.getTable("t"))],
         [("t", "EXTERNAL", False)], stored=BEFORE),
    Case(CATALOG, "listTables", R, listed, [("t", "EXTERNAL", False)], stored=BEFORE, connect=True),
    Case(CATALOG, "listColumns", R,
         lambda p: [(c.name, c.dataType) for c in p.spark.catalog.listColumns("t")],
         [("id", "bigint"), ("v", "string")], stored=BEFORE, connect=True),
    Case(CATALOG, "refreshTable, refreshByPath", R,
         lambda p: p.spark.catalog.refreshTable("t") or p.spark.catalog.refreshByPath(p.path)
         or p.spark.table("t"), BEFORE),
    Case(CATALOG, "cacheTable, uncacheTable", R, cached, BOTH),
    Case(CATALOG, "createOrReplaceTempView, dropTempView", R, temporary, BEFORE, connect=True),
    Case(CATALOG, "createGlobalTempView, dropGlobalTempView", R, global_view, BEFORE),
    Case(CATALOG, "getTableProperties", R,
         lambda p: [(p.spark.catalog.getTableProperties("t")["delta.minReaderVersion"],)],
         [("1",)], stored=BEFORE, since=(4, 2)),
    Case(CATALOG, "truncateTable", CH, lambda p: p.spark.catalog.truncateTable("t"), [],
         since=(4, 2)),
    Case(CATALOG, "dropTable", CH, catalog_dropped, [(False,)], stored=BEFORE, since=(4, 2)),
    Case(FUNCTIONS, "udf", R,
         lambda p: p.spark.table("t").select("id", F.udf(lambda v: v.upper())("v")),
         [(1, "A"), (2, "B")], stored=BEFORE),
    Case(FUNCTIONS, "pandas_udf", R,
         with_pandas, [(1, "A"), (2, "B")], stored=BEFORE),
    Case(FUNCTIONS, "udtf in SQL", R, table_function, [(1,), (1,), (2,), (2,)], stored=BEFORE),
    Case(FUNCTIONS, "udf in the condition of DELETE", CH, in_condition, BEFORE[1:]),
    Case(FUNCTIONS, "mapInPandas", R,
         lambda p: p.spark.table("t").mapInPandas(lambda frames: frames, "id BIGINT, v STRING"),
         BEFORE),
    Case(FUNCTIONS, "mapInArrow, then write", W, written_by_python, [(1, "x")]),
    Case(FUNCTIONS, "groupBy.applyInPandas", R,
         lambda p: p.spark.table("t").groupBy("id")
         .applyInPandas(lambda frame: frame, "id BIGINT, v STRING"), BEFORE),
    Case(OUT, "collect, toLocalIterator", R,
         lambda p: list(p.spark.table("t").toLocalIterator()), BEFORE, connect=True),
    Case(OUT, "toPandas", R,
         lambda p: p.spark.table("t").toPandas().itertuples(index=False), BEFORE, connect=True),
    Case(OUT, "toArrow", R,
         lambda p: [row.values() for row in p.spark.table("t").toArrow().to_pylist()], BEFORE,
         connect=True),
    Case(OUT, "rdd", R, lambda p: p.spark.table("t").rdd.map(tuple).collect(), BEFORE),
    Case(OUT, "cache, which later writes refresh", R, cached_frame, BOTH),
    Case(OUT, "localCheckpoint", R, lambda p: p.spark.table("t").localCheckpoint(), BEFORE),
    Case(OUT, "createDataFrame of pandas, then write", W,
         lambda p: p.spark.createDataFrame(pd.DataFrame({"id": [3], "v": ["c"]})).write
         .insertInto("t"), BOTH),
    Case(OUT, "createDataFrame of Arrow, then write", W,
         lambda p: p.spark.createDataFrame(pa.table({"id": [3], "v": ["c"]})).write
         .insertInto("t"), BOTH),
    Case(STREAMS, "readStream.table, writeStream.toTable", W, streamed_to_table, BEFORE, "u"),
    Case(STREAMS, "readStream.load, writeStream.start(path)", W, streamed_to_path, BEFORE, "x"),
    Case(STREAMS, "a stream that goes on from its checkpoint", W, streamed_twice, BOTH, "u"),
    Case(STREAMS, "writeStream.foreachBatch", W, streamed_by_batch, BEFORE, "x"),
    Case(STREAMS, "outputMode('complete')", W, counted_by_stream, [("a", 1), ("b", 1)], "x"),
    Case(STREAMS, "partitionBy", W, streamed_to_partitions, BEFORE,
         "u"),
    Case(STREAMS, "SELECT ... FROM STREAM t", W, streamed_by_sql, BEFORE, "u", since=(4, 1)),
    Case(SESSIONS, "spark.newSession", R, from_new_session, BOTH),
]  # fmt: skip
