"""COPY INTO: every file once, whoever else loads it and whatever fails."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import lakebed
from lakebed import DeltaTable
from lakebed.commands.copy_files import glob_pattern
from lakebed.commands.write import write_rows as write
from lakebed.errors import (
    DataFileError,
    InvalidArgumentError,
    SchemaMismatchError,
    StorageError,
)

ODD = "it's; [1]{a,b} ü*.parquet"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Three files of two rows each: 0 and 1, 10 and 11, 20 and 21."""
    folder = tmp_path / "in coming"
    for number, name in enumerate(("a.parquet", "b.parquet", ODD)):
        put(folder / name, number * 10)
    (folder / "_hidden.parquet").write_text("no data")
    return folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    lakebed.write(tmp_path / "t", pa.table({"id": pa.array([], pa.int32())}))
    return tmp_path / "t"


@pytest.fixture
def table(spark: SparkSession, path: Path) -> DeltaTable:
    return DeltaTable.forPath(spark, str(path))


def put(file: Path, first: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": [first, first + 1]}), file)


def ids(path: Path) -> list[int]:
    """By an independent reader."""
    return sorted(deltalake.DeltaTable(str(path)).to_pyarrow_table()["id"].to_pylist())


def load(table: DeltaTable, source: Path, **options: object) -> int:
    frame = table.copyInto(str(source), "parquet", **options)  # type: ignore[arg-type]
    return int(frame.head()["num_inserted_rows"])  # type: ignore[index]


ALL = [0, 1, 10, 11, 20, 21]


def test_files_are_loaded_once_and_new_ones_later(
    table: DeltaTable, source: Path, path: Path
) -> None:
    assert load(table, source) == 6
    assert load(table, source) == 0
    assert ids(path) == ALL
    put(source / "more" / "c.parquet", 30)
    put(source / "a.parquet", 100)  # changed, but known
    assert load(table, source) == 2
    assert ids(path) == [*ALL, 30, 31]
    history = lakebed.open(path).history().to_pylist()[0]
    assert history["operation"] == "COPY INTO"


def test_names_and_patterns_choose_files(table: DeltaTable, source: Path, path: Path) -> None:
    assert load(table, source, pattern="[ab].parquet") == 4
    assert load(table, source, files=["a.parquet"]) == 0
    assert load(table, source, files=["a.parquet"], force=True) == 2
    assert load(table, source / ODD) == 2
    assert load(table, source / "*.parquet") == 0
    assert ids(path) == sorted([*ALL, 0, 1])
    with pytest.raises(DataFileError, match=r"none\.parquet"):
        load(table, source, files=["a.parquet", "none.parquet"])
    with pytest.raises(DataFileError, match="no files at"):
        load(table, source / "none")
    with pytest.raises(InvalidArgumentError, match="is a Delta table"):
        load(table, path)


def test_loads_at_the_same_time_load_each_file_once(
    table: DeltaTable, source: Path, path: Path
) -> None:
    together = Barrier(3)

    def run(number: int) -> int:
        together.wait()
        # One of them asks for less than the others.
        return load(table, source, **({"files": ["b.parquet"]} if number == 0 else {}))

    with ThreadPoolExecutor(3) as pool:
        assert sum(pool.map(run, range(3))) == 6
    assert ids(path) == ALL


def test_a_load_that_fails_is_repeated_in_full(
    table: DeltaTable, source: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise StorageError("the store is gone")

    with monkeypatch.context() as patch:
        patch.setattr(write.Transaction, "commit", fail)
        with pytest.raises(StorageError):
            load(table, source)
    assert ids(path) == []
    assert load(table, source) == 6
    assert ids(path) == ALL


def test_a_table_that_changes_meanwhile_gets_each_file_once(
    table: DeltaTable, source: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another column, and another load of some of the files, come before the commit."""
    commit: Callable[[object], object] = write.Transaction.commit
    seen: list[int] = []

    def late(transaction: object) -> object:
        if not seen:
            seen.append(1)
            lakebed.open(path).add_columns({"other": "int"})
            assert load(table, source, files=["a.parquet"]) == 2
        return commit(transaction)

    monkeypatch.setattr(write.Transaction, "commit", late)
    assert load(table, source) == 4
    assert ids(path) == ALL


@given(st.text(alphabet="ab*?[]{},\\/-!^.é", max_size=12), st.text(alphabet="ab/.é,", max_size=8))
def test_patterns_are_read_or_refused(pattern: str, name: str) -> None:
    try:
        found = glob_pattern(pattern)
    except InvalidArgumentError:
        return
    found.fullmatch(name)
    escaped = re.sub(r"([*?\[\]{}\\])", r"\\\1", pattern)
    assert glob_pattern(escaped).fullmatch(pattern)


def test_patterns_stay_inside_folders() -> None:
    assert glob_pattern("*.csv").fullmatch("a.csv")
    assert not glob_pattern("*.csv").fullmatch("b/a.csv")
    assert glob_pattern("**/*.csv").fullmatch("b/c/a.csv")
    assert glob_pattern("{a,b}?[!c]").fullmatch("bxd")
    assert not glob_pattern("{a,b}?[!c]").fullmatch("bxc")


def test_fields_of_structs_go_by_name_and_none_is_dropped(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, source = tmp_path / "structs", tmp_path / "from"
    kind = pa.struct({"b": pa.int32(), "a": pa.int32()})
    lakebed.write(path, pa.schema({"v": kind}).empty_table())
    source.mkdir()
    table = DeltaTable.forPath(spark, str(path))
    pq.write_table(pa.table({"v": [{"a": 1, "b": 2}, {"a": 3, "b": None}]}), source / "1.parquet")
    assert load(table, source) == 2
    pq.write_table(pa.table({"v": [{"a": 5}, None]}), source / "2.parquet")
    assert load(table, source) == 2
    stored = [{"b": 2, "a": 1}, {"b": None, "a": 3}, {"b": None, "a": 5}, None]
    found = lakebed.open(path).to_arrow()["v"].to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, stored))
    pq.write_table(pa.table({"v": [{"a": 7, "c": 8}]}), source / "3.parquet")
    with pytest.raises(SchemaMismatchError, match=r"v\.c"):
        load(table, source)
    assert load(table, source, mergeSchema=True) == 1
    assert {"b": None, "a": 7, "c": 8} in lakebed.open(path).to_arrow()["v"].to_pylist()
