"""Delta tables on Spark beside raw Parquet on the same Spark: scan, write, plan, skip, vectors.

    python bench/spark.py                    8 million rows, 10,000 files
    python bench/spark.py --rows 1000000     smaller
    python bench/spark.py --only scan write  some of the measures

One session for all; the two sides of a comparison alternate, after a warm-up, and the ratio is that
of their medians. Targets are printed beside the ratios.
"""

from __future__ import annotations

import argparse
import gc
import json
import shutil
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed.formats.deletion_vectors import RowIndexSet, write_vectors
from lakebed.formats.file_actions import adds_from_table
from lakebed.spec.actions import Add, Metadata, Protocol, Remove
from lakebed.spec.schema import LONG, StructField, StructType, schema_to_json
from lakebed.spec.vector_descriptors import file_name, new_file, stored_vector
from lakebed.storage import open_store
from lakebed.transaction import Operation, Transaction

Work = Callable[[], Any]
ANSWER_FILES = 1_000
SLOW_ROUNDS = 2
"""Where raw Parquet takes most of a minute."""
WARM_UP = 6
"""Rounds that do not count: Java compiles what runs often, and each side has code of its own."""
SHORT_ROUNDS, SHORT_WARM_UP = 15, 15
"""Where a round takes less than a second: it takes more of them until times stay the same."""


def scan(spark: SparkSession, folder: Path, rows: int, rounds: int) -> dict[str, Any]:
    """All columns of all rows, of the same files."""
    path = _table(spark, folder, rows)
    files = _paths(path)
    return _compare(
        rounds,
        delta=lambda: _consume(_read(spark, path)),
        parquet=lambda: _consume(spark.read.parquet(*files)),
    )


def write(spark: SparkSession, folder: Path, rows: int, rounds: int) -> dict[str, Any]:
    """All rows to new files, statistics and commit included."""
    frame = _source(spark, rows)

    def to(kind: str) -> Work:
        def run() -> None:
            target = folder / f"{kind}-{uuid.uuid4()}"
            frame.write.format(kind).save(str(target))
            shutil.rmtree(target)

        return run

    return _compare(rounds, delta=to("delta"), parquet=to("parquet"))


def plan(spark: SparkSession, folder: Path, files: int, rounds: int) -> dict[str, Any]:
    """From nothing to a physical plan that knows its files, for a table of very many files."""
    path = _many_files(folder, files)
    paths = _paths(path)
    return _compare(
        min(rounds, SLOW_ROUNDS),
        warm_up=1,
        delta=lambda: _planned(_read(spark, path)),
        parquet=lambda: _planned(spark.read.parquet(*paths)),
    )


def skip(spark: SparkSession, folder: Path, files: int, rounds: int) -> dict[str, Any]:
    """A query for a few rows of the same table, from reading it to the answer."""
    path = _many_files(folder, files)
    paths = _paths(path)
    wanted = f"id BETWEEN {files * 5} AND {files * 5 + 4}"

    def ask(frame: DataFrame) -> None:
        assert len(frame.where(wanted).collect()) == 5

    return _compare(
        min(rounds, SLOW_ROUNDS),
        warm_up=1,
        delta=lambda: ask(_read(spark, path)),
        parquet=lambda: ask(spark.read.parquet(*paths)),
    )


def vectors(spark: SparkSession, folder: Path, rows: int, rounds: int) -> dict[str, Any]:
    """A scan of a table of which 2% of the rows are deleted by vectors, beside one of none."""
    whole = _table(spark, folder, rows)
    marked = _marked(whole, folder / "marked")
    found = {}
    for name, columns in (("six columns", ["*"]), ("one column", ["id"])):
        is_short = columns == ["id"]
        found[name] = _compare(
            max(rounds, SHORT_ROUNDS) if is_short else rounds,
            warm_up=SHORT_WARM_UP if is_short else WARM_UP,
            delta=lambda c=columns: _consume(_read(spark, marked).select(*c)),
            parquet=lambda c=columns: _consume(_read(spark, whole).select(*c)),
        )
    return found


def answers(spark: SparkSession, folder: Path, rows: int, rounds: int) -> dict[str, Any]:  # noqa: ARG001
    """count, min and max from the log beside the same from the files, of a thousand of them."""
    path = _many_files(folder / "some", ANSWER_FILES)

    def ask(what: str, enabled: str) -> Work:
        def run() -> None:
            spark.conf.set("spark.lakebed.metadataOnly.enabled", enabled)
            _read(spark, path).selectExpr(what).collect()

        return run

    found = {}
    for what in ("count(*)", "max(id)"):
        found[what] = _compare(rounds, delta=ask(what, "true"), parquet=ask(what, "false"))
    spark.conf.unset("spark.lakebed.metadataOnly.enabled")
    return found


def workers(spark: SparkSession, folder: Path, rows: int, rounds: int) -> dict[str, Any]:
    """The second data plane beside the native one; nothing is asked of it but to be told."""
    path, frame = _table(spark, folder, rows), _source(spark, rows)

    def on(plane: str, work: Work) -> Work:
        def run() -> None:
            spark.conf.set("spark.lakebed.dataPlane", plane)
            work()

        return run

    def write_out() -> None:
        target = folder / f"written-{uuid.uuid4()}"
        frame.write.format("delta").save(str(target))
        shutil.rmtree(target)

    def one_named() -> None:
        _consume(spark.read.format("delta").option("columns", "id").load(str(path)))

    works = {
        "scan, six columns": lambda: _consume(_read(spark, path)),
        "scan, one column": lambda: _consume(_read(spark, path).select("id")),
        "scan, one column by option": one_named,
        "write": write_out,
    }
    found = {}
    for name, work in works.items():
        found[name] = _compare(rounds, delta=on("workers", work), parquet=on("native", work))
    spark.conf.unset("spark.lakebed.dataPlane")
    return found


# What is asked for: the most (or, above 1, the least that Parquet's time is of ours) of a ratio.
TARGETS = {"scan": 1.05, "write": 1.05, "plan": 1 / 50, "skip": 1 / 10}
VECTOR_TARGETS = {"six columns": 1.3, "one column": 1.5}
MEASURES: dict[str, Callable[..., dict[str, Any]]] = {
    each.__name__: each for each in (scan, vectors, write, plan, skip, answers, workers)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=list(MEASURES))
    parser.add_argument("--json", type=Path, help="also write the results there")
    options = parser.parse_args()
    spark = _session()
    results: dict[str, Any] = {"spark": spark.version, "rows": options.rows}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in options.only:
            size = options.files if name in ("plan", "skip") else options.rows
            results[name] = MEASURES[name](spark, folder, size, options.rounds)
            _show(name, results[name])
    spark.stop()
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


# --- measuring -----------------------------------------------------------------------------------


def _compare(rounds: int, *, delta: Work, parquet: Work, warm_up: int = WARM_UP) -> dict[str, Any]:
    times: dict[str, list[float]] = {"delta": [], "parquet": []}
    for round_ in range(-warm_up, rounds):
        sides = [("delta", delta), ("parquet", parquet)]
        for name, work in sides if round_ % 2 else reversed(sides):
            gc.collect()
            start = time.perf_counter()
            work()
            if round_ >= 0:
                times[name].append(time.perf_counter() - start)
    ours, theirs = (statistics.median(times[name]) for name in ("delta", "parquet"))
    return {"ratio": ours / theirs, "delta": ours, "parquet": theirs, "times": times}


def _consume(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _planned(frame: DataFrame) -> int:
    return int(frame._jdf.queryExecution().toRdd().getNumPartitions())


def _show(name: str, result: dict[str, Any]) -> None:
    parts = {name: result} if "ratio" in result else result
    for part, each in parts.items():
        target = VECTOR_TARGETS.get(part) if name == "vectors" else TARGETS.get(name)
        title = name if part == name else f"{name}, {part}"
        times = f"{each['delta']:8.3f} s {each['parquet']:8.3f} s  ratio {each['ratio']:7.4f}"
        asked = "" if target is None else f"  asked {target:6.3f}  {_verdict(each, target)}"
        print(f"{title:36} {times}{asked}", flush=True)


def _verdict(result: dict[str, Any], target: float) -> str:
    return "ok" if result["ratio"] <= target else "MISSED"


# --- tables --------------------------------------------------------------------------------------


def _session() -> SparkSession:
    spark = lakebed.session(
        "lakebed-bench",
        master="local[2]",
        spark_ui_enabled=False,
        spark_driver_memory="4g",
        spark_driver_host="127.0.0.1",
        **{"spark.ui.showConsoleProgress": "false"},
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _read(spark: SparkSession, path: Path) -> DataFrame:
    return spark.read.format("delta").load(str(path))


def _source(spark: SparkSession, rows: int) -> DataFrame:
    """Six columns of the kinds that tables have."""
    return spark.range(0, rows, 1, 8).selectExpr(
        "id",
        "cast(id % 1000 as int) as shop",
        "id * 0.37 as price",
        "concat('name ', id % 5000) as name",
        "timestamp_seconds(1700000000 + id) as at",
        "date_add(date'2026-01-01', cast(id % 365 as int)) as day",
    )


def _table(spark: SparkSession, folder: Path, rows: int) -> Path:
    path = folder / "table"
    if not path.exists():
        _source(spark, rows).write.format("delta").save(str(path))
    return path


def _paths(table: Path) -> list[str]:
    names = lakebed.open(table).files()["path"].to_pylist()
    return [str(table / name) for name in names]


def _many_files(folder: Path, files: int) -> Path:
    """Small files, each with ten ids of its own, and statistics."""
    path = folder / "many"
    if path.exists():
        return path
    path.mkdir(parents=True)
    adds = [_small_file(path, number) for number in range(files)]
    schema = StructType((StructField("id", LONG), StructField("value", LONG)))
    metadata = Metadata(
        id=str(uuid.uuid4()), schema_string=schema_to_json(schema), partition_columns=()
    )
    change = Transaction(None, store=open_store(str(path)), operation=Operation("WRITE", {}))
    change.stage(Protocol(1, 2), metadata, *adds)
    change.commit().unwrap()
    return path


def _small_file(folder: Path, number: int) -> Add:
    first = number * 10
    ids = list(range(first, first + 10))
    file = folder / f"part-{number:05d}-{uuid.uuid4()}.parquet"
    pq.write_table(pa.table({"id": ids, "value": ids}), file, store_schema=False)
    bounds = {
        name: {"id": value, "value": value}
        for name, value in (("minValues", first), ("maxValues", first + 9), ("nullCount", 0))
    }
    stats = json.dumps({"numRecords": 10, **bounds})
    stat = file.stat()
    return Add(file.name, {}, stat.st_size, int(stat.st_mtime * 1000), True, stats=stats)


def _marked(whole: Path, path: Path) -> Path:
    """The same files, of which every fiftieth row is deleted."""
    if path.exists():
        return path
    shutil.copytree(whole, path, copy_function=_link)
    store = open_store(str(path))
    snapshot = lakebed.open(path).snapshot
    files = list(adds_from_table(snapshot.files()))
    rows = [json.loads(add.stats or "{}")["numRecords"] for add in files]
    content, stored = write_vectors(
        [RowIndexSet.from_indexes(range(7, count, 50)) for count in rows]
    )
    prefix, name = new_file()
    store.put(file_name(prefix, name), content)
    change = Transaction(snapshot, operation=Operation("DELETE", {}))
    features = ("appendOnly", "deletionVectors", "invariants")
    change.stage(Protocol(3, 7, ("deletionVectors",), features))
    now = int(time.time() * 1000)
    for add, place in zip(files, stored, strict=True):
        vector = stored_vector(prefix, name, place.offset, place.size_in_bytes, place.cardinality)
        change.stage(Remove.of(add, timestamp=now))
        change.restage(replace(add, deletion_vector=vector))
    change.commit().unwrap()
    return path


def _link(source: str, target: str) -> None:
    if "_delta_log" in source:
        shutil.copy(source, target)
    else:
        Path(target).hardlink_to(source)


if __name__ == "__main__":
    main()
