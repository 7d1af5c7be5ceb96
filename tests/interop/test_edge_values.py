"""Filtered reads of edge values, of every type, by every writer of Lakebed and every reader.

A file's statistics, its dictionaries and the log must not hide a row from anyone. Each writer has
filters of its own turn; `LAKEBED_ALL_EDGE_VALUES=1` has all filters for all writers.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed
from lakebed.arrow.write.parquet_bytes import ParquetBytes
from lakebed.spark.native.write import FLOAT_DICTIONARIES
from testkit.edges.edge_check import lost_rows, queries_of_turn, without_zeros
from testkit.edges.edge_readers import ON_ARROW, DeltalakeReader, Reader
from testkit.edges.edge_spark_reader import SparkReader
from testkit.edges.edge_values import NAN, Filter, edge_table
from testkit.edges.edge_writers import BY_OTHERS, BY_SPARK, WRITERS, setting

TURNS = 30 if os.environ.get("LAKEBED_ALL_EDGE_VALUES") else 1


def live_files(path: Path) -> list[str]:
    names = lakebed.open(path).files()["path"].to_pylist()
    return [unquote(name) if ":" in name else str(path / unquote(name)) for name in names]


@pytest.fixture(scope="module")
def tables(spark, tmp_path_factory):
    """One table for each writer, written when it is asked for first."""
    root = tmp_path_factory.mktemp("tables")

    def table(writer: str) -> Path:
        path = root / writer
        if not path.exists():
            WRITERS[writer](spark, path)
        return path

    return table


@pytest.fixture
def plain_plans(spark, interpreted):  # noqa: ARG001
    """Plans with very many filters are cheap to make."""
    with setting(spark, "spark.sql.constraintPropagation.enabled", "false"):
        yield


def turns(writer: str) -> range:
    first = list(WRITERS).index(writer) * 7
    return range(first, first + TURNS)


def without_known_gaps(reader: Reader, writer: str, query: list[Filter]) -> list[Filter]:
    """Spark leaves out the null count beside very long values; deltalake takes it to be 0 then."""
    if not isinstance(reader, DeltalakeReader) or writer not in {*BY_SPARK, "update_by_copies"}:
        return query
    return [each for each in query if (each.edge.name, each.operator) != ("text_long", "IS NULL")]


@pytest.mark.parametrize("name", ON_ARROW)
@pytest.mark.parametrize("writer", WRITERS)
def test_other_readers_find_every_row(writer, name, tables):
    if writer == "clone_shallow" and name in ("duckdb", "polars"):
        pytest.skip("does not read absolute paths in a log")
    path, reader = tables(writer), ON_ARROW[name]()
    for turn in turns(writer):
        queries = [without_known_gaps(reader, writer, each) for each in queries_of_turn(turn)]
        assert lost_rows(reader, path, queries) == []


@pytest.mark.usefixtures("plain_plans")
@pytest.mark.parametrize("writer", WRITERS)
def test_spark_finds_every_row(writer, spark, tables):
    path = tables(writer)
    by_lakebed = SparkReader(lambda path: spark.read.format("delta").load(str(path)))
    as_parquet = SparkReader(lambda path: spark.read.parquet(*live_files(path)))
    for turn in turns(writer):
        queries = shared_out(queries_of_turn(turn), turn)
        assert lost_rows(by_lakebed, path, queries) == []
        # Any share will do for the other reader; together they have more.
        others = shared_out(queries_of_turn(turn + 1), turn + 1)
        if writer in BY_OTHERS:
            others = [without_zeros(each) for each in others]
        assert lost_rows(as_parquet, path, others) == []


def shared_out(queries: list[list[Filter]], turn: int, shares: int = 1 if TURNS > 1 else 4):
    """Filters on some of the columns; a plan with all of them takes Spark seconds."""
    return [query[turn % shares :: shares] for query in queries]


def creators(path: Path) -> set[str]:
    files = (file.removeprefix("file://") for file in live_files(path))
    return {pq.read_metadata(file).created_by.split()[0] for file in files}


def any_by_spark(path: Path) -> bool:
    return "parquet-mr" in creators(path)


@pytest.mark.parametrize("writer", WRITERS)
def test_files_are_of_the_engine_that_the_writer_stands_for(writer, tables):
    if writer.startswith("update"):
        assert any_by_spark(tables(writer))
    else:
        assert creators(tables(writer)) == {
            "parquet-mr" if writer in BY_SPARK else "parquet-cpp-arrow"
        }


@pytest.mark.parametrize("name", ON_ARROW)
@pytest.mark.parametrize("writer", ["append_on_spark", "append_on_arrow", "append_by_workers"])
def test_values_are_read_as_they_were_written(writer, name, tables):
    rows = ON_ARROW[name]().rows(tables(writer)).to_pylist()
    rows.sort(key=lambda row: row["id"])
    for found, expected in zip(rows, edge_table().to_pylist(), strict=True):
        for column, value in expected.items():
            assert str(plain(found[column])) == str(plain(value)), column


def plain(value):
    """Readers show maps and time zones in ways of their own."""
    if isinstance(value, dict):
        return [(name, plain(value[name])) for name in value]
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value


@pytest.mark.parametrize("kind", ["double", "float"])
def test_both_zeros_are_one_value_on_spark(kind, spark, tmp_path):
    """Also in files of Spark's own writer, for Spark without Lakebed too."""
    frame = spark.range(4).repartition(1).selectExpr("id", f"{kind}('-0.0') AS z")
    frame.write.format("delta").save(str(tmp_path / "t"))
    assert any_by_spark(tmp_path / "t")
    table = spark.read.format("delta").load(str(tmp_path / "t"))
    for condition in ("z = 0", "z >= 0", "z <=> 0D", "z IN (0D, 7D)", "NOT (z < 0)", "z <= 0"):
        assert table.where(condition).count() == 4, condition
    assert table.where("z > 0 OR z < 0").count() == 0
    plain = spark.read.parquet(*live_files(tmp_path / "t"))
    assert plain.where("z = 0").count() == 4


def test_dictionaries_of_floats_are_left_out_wherever_they_are(spark, tmp_path):
    columns = (
        "1D AS plain",
        "named_struct('x', 1D) AS st",
        "array(1F) AS li",
        "map(1D, 2F) AS ma",
        "'text' AS other",
    )
    path = tmp_path / "t"
    rows = spark.range(4).repartition(1).selectExpr(*columns)

    def with_dictionaries() -> set[str]:
        rows.write.format("delta").mode("overwrite").save(str(path))
        (file,) = live_files(path)
        group = pq.read_metadata(file).row_group(0)
        leaves = [group.column(number) for number in range(group.num_columns)]
        return {leaf.path_in_schema for leaf in leaves if leaf.has_dictionary_page}

    assert with_dictionaries() == {"other"}
    lakebed.DeltaTable.forPath(spark, str(path)).setProperties({FLOAT_DICTIONARIES: "true"})
    floats = {"plain", "st.x", "li.list.element", "ma.key_value.key", "ma.key_value.value"}
    assert with_dictionaries() == {"other", *floats}


def test_dictionaries_are_left_out_also_where_a_name_has_a_dot(spark, tmp_path):
    frame = spark.range(4).repartition(1).selectExpr("double('-0.0') AS `a.b`")
    frame.write.format("delta").save(str(tmp_path / "t"))
    plain = spark.read.parquet(*live_files(tmp_path / "t"))
    assert plain.where("`a.b` = 0").count() == 4


# --- NaN: what DELETE and UPDATE find -----------------------------------------------------------

CRITICAL = [
    "d > 100",
    "d >= 100",
    "d = double('NaN')",
    "d <=> double('NaN')",
    "NOT (d <= 100)",
    "isnan(d)",
    "d IN (double('NaN'), 5.5)",
    "s.x > 100",
]


def with_nan(spark, path: Path, how: str, vectors: bool) -> None:
    """Rows 0 to 5; row 3 has NaN, all others small numbers."""
    value = "WHEN id = 3 THEN double('NaN') ELSE double(id)"
    properties = f"'delta.enableDeletionVectors' = '{str(vectors).lower()}'"
    table = f"delta.`{path}`"
    kinds = "id BIGINT, d DOUBLE, s STRUCT<x: FLOAT>"
    spark.sql(f"CREATE TABLE {table} ({kinds}) USING delta TBLPROPERTIES ({properties})")
    if how == "values":
        rows = ", ".join(
            f"({i}, {shown}, named_struct('x', float({shown})))"
            for i, shown in enumerate(["0D", "1D", "2D", "double('NaN')", "4D", "5D"])
        )
        spark.sql(f"INSERT INTO {table} VALUES {rows}")
        return
    for start in (0, 3):
        spark.sql(
            f"INSERT INTO {table} SELECT id, CASE {value} END,"
            f" named_struct('x', float(CASE {value} END)) FROM range({start}, {start + 3})"
        )
    spark.sql(f"OPTIMIZE {table}" + (" ZORDER BY (d)" if how == "zorder" else ""))


@pytest.mark.parametrize("how", ["values", "optimize", "zorder"])
def test_rows_with_nan_are_found(how, spark, tmp_path):
    with_nan(spark, tmp_path / "t", how, vectors=False)
    frame = spark.read.format("delta").load(str(tmp_path / "t"))
    parquet = spark.read.parquet(*live_files(tmp_path / "t"))
    for condition in CRITICAL:
        for each in (frame, parquet):
            assert [row.id for row in each.where(condition).collect()] == [3], condition


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("how", ["values", "optimize"])
def test_delete_and_update_find_rows_with_nan(how, vectors, spark, tmp_path):
    with_nan(spark, tmp_path / "t", how, vectors)
    table = f"delta.`{tmp_path / 't'}`"
    spark.sql(f"UPDATE {table} SET id = 33 WHERE d > 100")
    assert ids(tmp_path / "t") == [0, 1, 2, 4, 5, 33]
    spark.sql(f"DELETE FROM {table} WHERE NOT (d <= 100)")
    assert ids(tmp_path / "t") == [0, 1, 2, 4, 5]


def ids(path: Path) -> list[int]:
    return sorted(lakebed.open(path).to_arrow(["id"])["id"].to_pylist())


@pytest.fixture
def converted(spark, tmp_path):
    """A folder of a file that pyarrow wrote: its statistics say nothing about NaN."""
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"id": [0, 1], "d": [1.0, NAN]}), tmp_path / "t/part-0.parquet")
    lakebed.DeltaTable.convertToDelta(spark, f"parquet.`{tmp_path / 't'}`")
    return tmp_path / "t"


def test_log_does_not_hide_nan_in_files_of_other_writers(converted):
    [stats] = lakebed.open(converted).files(stats=True)["stats"].to_pylist()
    assert "d" not in json.loads(stats)["maxValues"]
    assert lakebed.open(converted).to_arrow(["id"], where="d > 100")["id"].to_pylist() == [1]


def test_files_of_other_writers_show_nan_without_their_statistics(converted, spark):
    reader = spark.read.format("delta").option("parquet.filter.stats.enabled", "false")
    assert [row.id for row in reader.load(str(converted)).where("d > 100").collect()] == [1]


@pytest.mark.xfail(strict=True, reason="Spark trusts the statistics in files of other writers")
def test_files_of_other_writers_show_nan_on_spark(converted, spark):
    frame = spark.read.format("delta").load(str(converted))
    assert [row.id for row in frame.where("d > 100").collect()] == [1]


def test_filters_on_doubles_still_skip_row_groups(spark, tmp_path):
    """Spark counts the rows of the row groups that it reads."""
    file = ParquetBytes(pa.schema({"d": pa.float64(), "e": pa.float64()}), {})
    for start in (0.0, 100.0, 200.0):
        file.write(pa.table({"d": [start, start + 1], "e": [NAN, start]}))
    (tmp_path / "f.parquet").write_bytes(file.finish()[0])
    for column, expected in (("d", 2), ("e", 6)):
        frame = spark.read.parquet(str(tmp_path / "f.parquet")).where(f"{column} > 150")
        frame.collect()
        assert rows_read(frame._jdf.queryExecution().executedPlan()) == expected


def rows_read(plan) -> int:
    leaves = plan.collectLeaves()
    found = [leaves.apply(i) for i in range(leaves.size())]
    return sum(each.metrics().apply("numOutputRows").value() for each in found)
