"""`lakebed.open` and what a `Table` and a `Scan` offer."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import (
    ConcurrentAppendError,
    InvalidArgumentError,
    MetadataChangedError,
    PredicateError,
    StorageUrlError,
    TableExistsError,
    TableNotFoundError,
    VersionNotFoundError,
)
from lakebed.spec.schema import LONG, STRING, StructField, StructType
from lakebed.tables.render import size_text
from testkit.readers.log_json import log_files
from testkit.readers.other_readers import read_elsewhere
from testkit.schemas import column
from testkit.tables.arbitrary_tables import make_table, rows

DATA = pa.table({"id": [1, 2, 3, 4], "part": ["a", "a", "b", None]})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


@pytest.fixture
def table(path: Path) -> lakebed.Table:
    return lakebed.write(path, DATA, partition_by="part", max_rows_per_file=1)


# --- opening ------------------------------------------------------------------------------------


def test_a_path_without_a_table_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no table")
    (tmp_path / "empty").mkdir()
    (tmp_path / "log" / "_delta_log").mkdir(parents=True)
    for name in ("missing", "file", "empty", "log"):
        with pytest.raises(TableNotFoundError, match=f"{name} is not a Delta table"):
            lakebed.open(tmp_path / name)
        assert not lakebed.is_delta_table(tmp_path / name)
    assert not (tmp_path / "missing").exists()


def test_a_table_is_found(table: lakebed.Table, path: Path) -> None:
    assert lakebed.is_delta_table(path)
    assert lakebed.is_delta_table(path.as_uri())
    assert lakebed.open(str(path)).url == lakebed.open(path.as_uri()).url == table.url


@pytest.mark.parametrize("location", [None, 3, b"table"])
def test_a_location_is_text_or_a_path(location: Any) -> None:
    with pytest.raises(StorageUrlError, match="a location is"):
        lakebed.open(location)


@pytest.mark.parametrize(
    ("asked", "kind", "message"),
    [
        ({"version": -1}, InvalidArgumentError, "-1 is not a version"),
        ({"version": "0"}, InvalidArgumentError, "'0' is not a version"),
        ({"version": True}, InvalidArgumentError, "True is not a version"),
        ({"version": 0.0}, InvalidArgumentError, "not a version"),
        ({"version": 7}, VersionNotFoundError, "version 7 does not exist; the newest is 0"),
        ({"timestamp": "soon"}, InvalidArgumentError, "'soon' is not a time"),
        ({"timestamp": 1.5}, InvalidArgumentError, "1.5 is not a time"),
        ({"timestamp": True}, InvalidArgumentError, "True is not a time"),
        ({"timestamp": dt.date(2024, 1, 1)}, InvalidArgumentError, "is not a time"),
        ({"timestamp": "1999-01-01"}, VersionNotFoundError, "before the oldest"),
        ({"timestamp": "2999-01-01"}, VersionNotFoundError, "after the newest"),
        ({"version": 0, "timestamp": "2024-01-01"}, InvalidArgumentError, "not both"),
    ],
)
def test_versions_and_times_that_make_no_sense_are_refused(
    table: lakebed.Table, path: Path, asked: Any, kind: type, message: str
) -> None:
    assert table.version == 0
    with pytest.raises(kind, match=message):
        lakebed.open(path, **asked)


def test_what_a_table_knows(path: Path) -> None:
    lakebed.write(
        path,
        DATA,
        partition_by="part",
        properties={"delta.appendOnly": "true"},
        name="n",
        description="d",
    )
    table = lakebed.open(path)
    assert table.schema == StructType((StructField("id", LONG), StructField("part", STRING)))
    assert table.arrow_schema == DATA.schema
    assert table.partition_columns == ("part",)
    assert table.properties == {"delta.appendOnly": "true"}
    assert (table.name, table.description) == ("n", "d")
    assert (table.protocol.min_reader_version, table.protocol.min_writer_version) == (1, 2)
    assert table.num_files == 3
    assert table.size_in_bytes == sum(file.stat().st_size for file in path.rglob("*.parquet"))
    assert abs(dt.datetime.now(dt.timezone.utc) - table.timestamp) < dt.timedelta(minutes=5)
    table.properties["delta.appendOnly"] = "false"
    assert table.properties == {"delta.appendOnly": "true"}


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "count"),
    [
        (None, 4),
        ("part = 'a'", 2),
        ("part IS NULL", 1),
        ("part IN ('b', 'c')", 1),
        ("id = 3", 1),
        ("id > 2", 2),
        ("id > 2 AND part = 'a'", 0),
        ("id = 1 OR part = 'b'", 2),
        ("id < 0", 0),
        ("id IS NULL", 0),
    ],
)
def test_files_are_skipped_by_partition_and_statistics(
    table: lakebed.Table, where: str | None, count: int
) -> None:
    assert table.files(where).num_rows == count
    assert table.scan(where=where).num_files == count


def test_files_have_the_columns_of_the_log(table: lakebed.Table) -> None:
    files = table.files()
    assert files.column_names == [
        "path",
        "partitionValues",
        "size",
        "modificationTime",
        "deletionVector",
    ]
    with_stats = table.files("id = 3", stats=True)
    assert with_stats.column_names == [*files.column_names, "stats"]
    stats = json.loads(with_stats["stats"][0].as_py())
    assert (stats["numRecords"], stats["minValues"], stats["maxValues"]) == (
        1,
        {"id": 3},
        {"id": 3},
    )
    assert with_stats["partitionValues"].to_pylist() == [[("part", "b")]]


def test_a_wrong_predicate_says_where(table: lakebed.Table) -> None:
    with pytest.raises(PredicateError, match=r"idd > 1\s+\^") as caught:
        table.files("part = 'a' AND idd > 1")
    assert "id" in str(caught.value.hint)
    assert caught.value.position == 15
    with pytest.raises(InvalidArgumentError, match="not a SQL predicate"):
        table.files(7)  # type: ignore[arg-type]


# --- history ------------------------------------------------------------------------------------


def test_history_tells_every_commit_newest_first(table: lakebed.Table, path: Path) -> None:
    lakebed.write(path, DATA, user_metadata="note")
    lakebed.write(path, DATA.slice(0, 1), mode="overwrite")
    history = table.history()
    assert {
        "version",
        "timestamp",
        "operation",
        "operationParameters",
        "operationMetrics",
        "userMetadata",
        "engineInfo",
    } <= set(history.column_names)
    found = history.to_pylist()
    assert [row["version"] for row in found] == [2, 1, 0]
    assert [row["operation"] for row in found] == ["WRITE"] * 3
    assert [row["userMetadata"] for row in found] == [None, "note", None]
    modes = [dict(row["operationParameters"])["mode"] for row in found]
    assert modes == ["Overwrite", "Append", "Append"]
    assert dict(found[1]["operationMetrics"])["numOutputRows"] == "4"
    times = [row["timestamp"] for row in found]
    assert times == sorted(times, reverse=True)
    assert all(time.tzinfo is not None for time in times)
    assert found[0]["engineInfo"].startswith("Lakebed/")


def test_history_can_be_cut(table: lakebed.Table) -> None:
    for _ in range(3):
        table = table.write(DATA)
    assert table.history(2)["version"].to_pylist() == [3, 2]
    assert table.history(0).num_rows == 0
    for limit in (-1, "2"):
        with pytest.raises(InvalidArgumentError, match="limit="):
            table.history(limit)  # type: ignore[arg-type]


# --- a table that is kept open ------------------------------------------------------------------


def test_a_table_stays_at_its_version_until_it_is_refreshed(
    table: lakebed.Table, path: Path
) -> None:
    lakebed.write(path, DATA)
    lakebed.write(path, DATA)
    assert (table.version, table.to_arrow().num_rows) == (0, 4)
    newest = table.refresh()
    assert (newest.version, newest.to_arrow().num_rows) == (2, 12)
    assert table.version == 0
    assert newest.refresh().version == 2


def test_writes_on_a_table_that_is_behind_go_on_top_of_the_newest(
    table: lakebed.Table, path: Path
) -> None:
    lakebed.write(path, DATA)
    after = table.write(DATA)
    assert (after.version, after.to_arrow().num_rows) == (2, 12)
    assert (table.version, table.to_arrow().num_rows) == (0, 4)
    assert rows(lakebed.open(path)) == rows(read_elsewhere(path)) == rows(after)


def test_rows_for_a_table_that_is_behind_are_checked_against_what_it_is_now(
    table: lakebed.Table, path: Path
) -> None:
    grown = pa.table({"id": [5], "part": ["a"], "more": [True]})
    lakebed.write(path, grown, merge_schema=True)
    after = table.write(DATA.slice(0, 1))
    assert after.version == 2
    assert after.to_arrow(where="id = 1").to_pylist() == [{"id": 1, "part": "a", "more": None}] * 2
    with pytest.raises(MetadataChangedError):
        table.write(DATA, mode="overwrite")


def test_an_overwrite_on_a_table_that_is_behind_is_told_so(
    table: lakebed.Table, path: Path
) -> None:
    lakebed.write(path, DATA)
    with pytest.raises(ConcurrentAppendError):
        table.write(DATA, mode="overwrite")
    assert table.refresh().write(DATA, mode="overwrite").to_arrow().num_rows == 4


def test_writes_on_an_open_table_obey_the_mode(table: lakebed.Table, path: Path) -> None:
    with pytest.raises(TableExistsError):
        table.write(DATA, mode="error")
    assert table.write(DATA, mode="ignore").version == 0
    assert len(log_files(path)) == 1


def test_a_checkpoint_can_be_asked_for(table: lakebed.Table, path: Path) -> None:
    table.checkpoint()
    assert (path / "_delta_log" / f"{0:020d}.checkpoint.parquet").exists()
    assert rows(lakebed.open(path)) == rows(read_elsewhere(path)) == rows(DATA)


# --- how it looks -------------------------------------------------------------------------------


def test_repr_shows_version_size_and_columns(table: lakebed.Table) -> None:
    text = repr(table)
    assert text.startswith(f"Delta table {table.url}\n  version     0\n  files       4 (")
    assert "  partitions  part" in text
    assert "    id    long\n" in text
    assert text.endswith("    part  string  partition")


def test_repr_of_many_columns_is_cut(path: Path) -> None:
    wide = lakebed.write(path, pa.table({f"c{i:02}": [i] for i in range(40)}))
    assert "... and 10 more" in repr(wide)
    assert wide._repr_html_().count("<td style='text-align:left'>long</td>") == 40


def test_repr_tells_features_properties_and_not_null(path: Path) -> None:
    table = make_table(
        path,
        column("a", nullable=False),
        column("b"),
        properties={"delta.enableDeletionVectors": "true"},
    )
    assert "features    " in repr(table)
    assert "deletionVectors" in repr(table)
    assert "properties  delta.enableDeletionVectors=true" in repr(table)
    assert "a  long  not null" in repr(table)


def test_html_escapes_everything_that_comes_from_the_table(path: Path) -> None:
    evil = "<script>alert('&')</script>"
    inner = StructType((StructField(evil, LONG),))
    make_table(
        path / "<b>",
        column(evil),
        column("s", inner),
        column("p" + evil, STRING),
        partition_by=("p" + evil,),
        properties={"x" + evil: evil},
    )
    html = lakebed.open(path / "<b>")._repr_html_()
    assert "<script" not in html
    assert "<b>" not in html
    assert html.count("&lt;script&gt;") >= 6


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (5 * 2**20, "5.0 MiB"),
        (2**30, "1.0 GiB"),
        (2**40, "1.0 TiB"),
        (2**51, "2048.0 TiB"),
    ],
)
def test_sizes_are_rounded_for_people(size: int, text: str) -> None:
    assert size_text(size) == text


# --- other libraries ----------------------------------------------------------------------------


def test_duckdb_reads_a_table_and_a_scan_by_the_name_of_the_variable(table: lakebed.Table) -> None:
    whole, scan = table, table.scan(["id"], "id > 1")
    with duckdb.connect() as connection:
        for _ in range(2):  # again and again
            found = connection.sql("SELECT sum(id), count(part) FROM whole").fetchall()
            assert found == [(10, 3)]
            assert connection.sql("SELECT count(*), min(id) FROM scan").fetchall() == [(3, 2)]
    assert (whole.num_files, scan.num_files) == (4, 3)


def test_polars_takes_a_table_and_a_scan(table: lakebed.Table) -> None:
    assert polars.DataFrame(table.scan(["id"])).sort("id")["id"].to_list() == [1, 2, 3, 4]
    frame = polars.from_arrow(table.to_arrow())
    assert isinstance(frame, polars.DataFrame)
    assert frame.shape == (4, 2)


def test_pyarrow_takes_a_table_and_a_scan(table: lakebed.Table) -> None:
    assert rows(pa.table(table)) == rows(DATA)
    assert pa.table(table.scan(["part"])).column_names == ["part"]


def test_pandas_gets_a_frame(table: lakebed.Table) -> None:
    frame = table.to_pandas(["id"], "id >= 3")
    assert isinstance(frame, pandas.DataFrame)
    assert sorted(frame["id"].tolist()) == [3, 4]


def test_errors_of_a_stream_tell_their_cause(table: lakebed.Table, path: Path) -> None:
    for file in path.rglob("part-*.parquet"):
        file.unlink()
    whole = table
    with duckdb.connect() as connection, pytest.raises(duckdb.Error, match="DATA_FILE"):
        connection.sql("SELECT * FROM whole").fetchall()
    assert whole.num_files == 4
