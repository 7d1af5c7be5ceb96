"""`lakebed.write`: modes, kinds of data, options, races and crashes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed
from lakebed.errors import (
    DataFileError,
    InvalidArgumentError,
    LakebedError,
    SchemaError,
    TableExistsError,
    TablePropertyError,
)
from testkit.readers.log_json import data_files, log_files
from testkit.readers.other_readers import read_elsewhere
from testkit.tables.arbitrary_tables import rows

ONE = pa.table({"id": [1, 2], "name": ["a", None]})
TWO = pa.table({"id": [3], "name": ["c"]})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


# --- modes --------------------------------------------------------------------------------------


def test_the_first_write_creates_the_table(path: Path) -> None:
    table = lakebed.write(path, ONE)
    assert table.version == 0
    assert rows(lakebed.open(path)) == rows(read_elsewhere(path)) == rows(ONE)


def test_append_adds_rows(path: Path) -> None:
    lakebed.write(path, ONE)
    assert lakebed.write(path, TWO).version == 1
    both = pa.concat_tables([ONE, TWO])
    assert rows(lakebed.open(path)) == rows(read_elsewhere(path)) == rows(both)


def test_overwrite_replaces_all_rows_and_keeps_the_old_version(path: Path) -> None:
    lakebed.write(path, ONE)
    lakebed.write(path, TWO, mode="overwrite")
    assert rows(lakebed.open(path)) == rows(read_elsewhere(path)) == rows(TWO)
    assert rows(lakebed.open(path, version=0)) == rows(ONE)


@pytest.mark.parametrize("mode", ["error", "errorifexists"])
def test_mode_error_creates_but_never_touches_an_existing_table(path: Path, mode: Any) -> None:
    lakebed.write(path, ONE, mode=mode)
    with pytest.raises(TableExistsError, match="already exists"):
        lakebed.write(path, TWO, mode=mode)
    assert rows(lakebed.open(path)) == rows(ONE)
    assert len(log_files(path)) == 1


def test_mode_ignore_creates_but_never_touches_an_existing_table(path: Path) -> None:
    lakebed.write(path, ONE, mode="ignore")
    assert lakebed.write(path, pa.table({"other": [1]}), mode="ignore").version == 0
    assert rows(lakebed.open(path)) == rows(ONE)


def test_overwriting_with_no_rows_empties_the_table(path: Path) -> None:
    lakebed.write(path, ONE)
    table = lakebed.write(path, ONE.slice(0, 0), mode="overwrite")
    assert (table.version, table.num_files, table.to_arrow().num_rows) == (1, 0, 0)
    assert read_elsewhere(path).num_rows == 0


def test_data_without_rows_creates_an_empty_table_and_leaves_no_file(path: Path) -> None:
    table = lakebed.write(path, ONE.slice(0, 0))
    assert table.to_arrow().schema.names == ["id", "name"]
    assert table.to_arrow().num_rows == 0
    assert data_files(path) == []


def test_a_table_can_be_overwritten_with_its_own_rows(path: Path) -> None:
    table = lakebed.write(path, ONE)
    table.write(table.scan(where="id = 1"), mode="overwrite")
    assert lakebed.open(path).to_arrow().to_pylist() == [{"id": 1, "name": "a"}]


# --- kinds of data ------------------------------------------------------------------------------

KINDS: dict[str, Any] = {
    "table": lambda: ONE,
    "batch": lambda: ONE.to_batches()[0],
    "reader": lambda: ONE.to_reader(),
    "dict": lambda: {"id": [1, 2], "name": ["a", None]},
    "rows": lambda: [{"id": 1, "name": "a"}, {"id": 2, "name": None}],
    "uneven rows": lambda: [{"id": 1, "name": "a"}, {"id": 2}],
    "rows that grow": lambda: [{"id": 2}, {"id": 1, "name": "a"}],
    "pandas": lambda: pandas.DataFrame({"id": [1, 2], "name": ["a", None]}),
    "polars": lambda: polars.DataFrame({"id": [1, 2], "name": ["a", None]}),
    "large_string": lambda: ONE.set_column(1, "name", ONE["name"].cast(pa.large_string())),
    "string_view": lambda: ONE.set_column(1, "name", ONE["name"].cast(pa.string_view())),
    "dictionary": lambda: ONE.set_column(1, "name", ONE["name"].dictionary_encode()),
    "chunks": lambda: pa.concat_tables([ONE.slice(0, 1), ONE.slice(1, 1)]),
    "slice": lambda: pa.concat_tables([TWO, ONE]).combine_chunks().slice(1, 2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_data_gives_the_same_table(path: Path, kind: str) -> None:
    lakebed.write(path, KINDS[kind]())
    lakebed.write(path, KINDS[kind]())
    found = lakebed.open(path).to_arrow()
    assert rows(found) == rows(read_elsewhere(path)) == rows(pa.concat_tables([ONE, ONE]))
    assert found.schema.field("name").type == pa.string()


def test_the_index_of_a_filtered_pandas_frame_is_no_column(path: Path) -> None:
    frame = pandas.DataFrame({"id": [1, 2, 3]})
    lakebed.write(path, frame[frame["id"] != 2])
    assert lakebed.open(path).to_arrow().to_pydict() == {"id": [1, 3]}


def test_an_index_with_a_name_is_a_column(path: Path) -> None:
    frame = pandas.DataFrame({"id": [1, 2], "key": ["x", "y"]}).set_index("key")
    lakebed.write(path, frame)
    assert lakebed.open(path).to_arrow().to_pydict() == {"key": ["x", "y"], "id": [1, 2]}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("text", "cannot write a str"),
        ([], "cannot write a list"),
        ([1, 2], "cannot write a list"),
        ({"a": [1, 2], "b": [1]}, "cannot be turned into Arrow"),
        ({"a": [object()]}, "cannot be turned into Arrow"),
        ({"a": [2**80]}, "cannot be turned into Arrow"),
        ({}, "no columns"),
    ],
)
def test_what_holds_no_columns_is_refused(path: Path, data: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        lakebed.write(path, data)
    assert not path.exists()


def test_types_that_delta_does_not_have_are_refused_by_the_name_of_the_column(path: Path) -> None:
    data = pa.table({"s": [{"took": 1}]}).cast(
        pa.schema([("s", pa.struct([("took", pa.duration("s"))]))])
    )
    with pytest.raises(SchemaError, match=r"s\.took.*duration"):
        lakebed.write(path, data)


def test_two_columns_that_differ_in_case_are_refused(path: Path) -> None:
    with pytest.raises(SchemaError, match="two columns"):
        lakebed.write(path, pa.table([[1], [2]], names=["a", "A"]))


def test_errors_of_a_table_that_is_copied_keep_their_kind(path: Path, tmp_path: Path) -> None:
    table = lakebed.write(path, ONE)
    for file in path.glob("*.parquet"):
        file.unlink()
    with pytest.raises(DataFileError):
        lakebed.write(tmp_path / "copy", table)


# --- options ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "upsert"}, "no mode 'upsert'"),
        ({"mode": ["append"]}, "no mode"),
        ({"partition": "id"}, "no option 'partition'"),
        ({"overwrite_schema": True}, "mode='overwrite'"),
        ({"mode": "overwrite", "overwrite_schema": True, "merge_schema": True}, "not both"),
        ({"max_rows_per_file": 0}, "max_rows_per_file=0"),
        ({"max_rows_per_file": "many"}, "max_rows_per_file='many'"),
        ({"txn": "load"}, "txn='load'"),
        ({"txn": ("load", "1")}, "txn="),
        ({"partition_by": 3}, "partition_by=3"),
        ({"partition_by": ["id", "ID"]}, "twice"),
        ({"partition_by": ["id", "name"]}, "at least one column"),
        ({"properties": ["delta.appendOnly"]}, "properties="),
    ],
)
def test_wrong_options_are_refused_and_nothing_is_written(
    path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        lakebed.write(path, ONE, **options)
    assert not path.exists()


def test_the_nearest_option_is_suggested(path: Path) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        lakebed.write(path, ONE, partition="id")  # type: ignore[call-arg]
    assert caught.value.hint == "did you mean 'partition_by'?"


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"delta.appendOnly": "perhaps"}, "true or false"),
        ({"delta.appendOnly": True}, "strings"),
        ({"delta.apendOnly": "true"}, "no table property"),
        ({"delta.columnMapping.maxColumnId": "7"}, "cannot be set"),
        ({"delta.feature.deletionVectors": "on"}, "must be 'supported'"),
        ({"delta.logRetentionDuration": "interval 1 day"}, "shorter than"),
    ],
)
def test_properties_are_checked(path: Path, properties: dict[str, Any], message: str) -> None:
    with pytest.raises(TablePropertyError, match=message):
        lakebed.write(path, ONE, properties=properties)
    assert not path.exists()


def test_properties_name_and_description_are_kept(path: Path) -> None:
    properties = {"delta.appendOnly": "true", "owner": "us"}
    lakebed.write(path, ONE, properties=properties, name="people", description="who they are")
    table = lakebed.open(path)
    assert table.properties == properties
    assert (table.name, table.description) == ("people", "who they are")
    # The same once more is no change.
    again = lakebed.write(path, ONE, properties=properties, name="people")
    assert again.version == 1


@pytest.mark.parametrize(
    "change",
    [
        {"properties": {"delta.appendOnly": "true"}},
        {"properties": {"delta.feature.deletionVectors": "supported"}},
        {"name": "other"},
    ],
)
def test_a_write_does_not_pretend_to_change_an_existing_table(
    path: Path, change: dict[str, Any]
) -> None:
    lakebed.write(path, ONE)
    with pytest.raises(InvalidArgumentError, match="does not change"):
        lakebed.write(path, ONE, **change)
    assert lakebed.open(path).version == 0


def test_max_rows_per_file_makes_more_files_of_equal_rows(path: Path) -> None:
    data = pa.table({"id": list(range(10))})
    table = lakebed.write(path, data, max_rows_per_file=4)
    counts = sorted(pq.read_metadata(path / name).num_rows for name in data_files(path))
    assert counts == [2, 4, 4]
    assert (table.num_files, rows(table)) == (3, rows(data))


def test_a_write_with_a_txn_happens_once(path: Path) -> None:
    assert lakebed.write(path, ONE, txn=("load", 5)).version == 0
    assert lakebed.write(path, ONE, txn=("load", 5)).version == 0
    assert lakebed.write(path, ONE, txn=("load", 4)).version == 0
    assert lakebed.write(path, ONE, txn=("other", 4)).version == 1
    assert lakebed.write(path, TWO, txn=("load", 6)).version == 2
    assert len(data_files(path)) == 3


def test_of_many_writers_with_the_same_txn_one_writes(path: Path) -> None:
    lakebed.write(path, ONE)
    tables = [lakebed.open(path) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda table: table.write(TWO, txn=("load", 1)), tables))
    assert {table.version for table in done} == {1}
    assert rows(lakebed.open(path)) == rows(pa.concat_tables([ONE, TWO]))


def test_the_commit_says_what_was_done(path: Path) -> None:
    lakebed.write(path, ONE, partition_by="name", user_metadata="first ✓")
    lakebed.write(path, TWO, mode="overwrite")
    info = [
        next(
            json.loads(line)["commitInfo"]
            for line in (path / "_delta_log" / name).read_text().splitlines()
            if "commitInfo" in line
        )
        for name in log_files(path)
    ]
    assert [entry["operation"] for entry in info] == ["WRITE", "WRITE"]
    assert info[0]["operationParameters"] == {"mode": "Append", "partitionBy": '["name"]'}
    assert info[0]["userMetadata"] == "first ✓"
    assert info[1]["operationParameters"]["mode"] == "Overwrite"
    assert info[1]["operationMetrics"]["numRemovedFiles"] == "2"
    assert info[1]["operationMetrics"]["numOutputRows"] == "1"


# --- races and crashes --------------------------------------------------------------------------


def _write_together(path: Path, count: int, **options: Any) -> list[Any]:
    barrier = Barrier(count)

    def write(number: int) -> Any:
        barrier.wait()
        try:
            return lakebed.write(path, pa.table({"n": [number]}), **options)
        except LakebedError as error:
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(write, range(count)))


def test_of_two_creators_that_append_both_have_their_rows(path: Path) -> None:
    done = _write_together(path, 4)
    assert sorted(table.version for table in done) == [0, 1, 2, 3]
    found = sorted(lakebed.open(path).to_arrow()["n"].to_pylist())
    assert found == sorted(read_elsewhere(path)["n"].to_pylist()) == [0, 1, 2, 3]


def test_of_many_creators_with_mode_error_exactly_one_wins(path: Path) -> None:
    done = _write_together(path, 4, mode="error")
    won = [number for number, table in enumerate(done) if isinstance(table, lakebed.Table)]
    assert len(won) == 1
    assert sum(isinstance(error, TableExistsError) for error in done) == 3
    assert lakebed.open(path).to_arrow()["n"].to_pylist() == won
    assert log_files(path) == [f"{0:020d}.json"]


_KILLED = """
import os, signal, sys
import pyarrow as pa
import lakebed
import lakebed.commands.write.write_rows as command

def stop(*args):
    print(sum(name.endswith(".parquet") for name in os.listdir(sys.argv[1])), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

command._metrics = stop
lakebed.write(sys.argv[1], pa.table({"id": [9], "name": ["z"]}), mode=sys.argv[2])
"""


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_writer_that_is_killed_before_its_commit_changes_nothing(path: Path, mode: str) -> None:
    lakebed.write(path, ONE)
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(path), mode],
        stdout=subprocess.PIPE,
        check=False,
        env=dict(os.environ),
    )
    assert done.returncode == -signal.SIGKILL
    assert done.stdout.split() == [b"2"]  # its data file was there
    table = lakebed.open(path)
    assert (table.version, rows(table)) == (0, rows(ONE))
    assert rows(read_elsewhere(path)) == rows(ONE)
    assert lakebed.write(path, TWO).version == 1
