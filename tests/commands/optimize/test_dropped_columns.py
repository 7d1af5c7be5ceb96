"""Which files still have what DROP COLUMN took from a table."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lakebed
from lakebed.commands.optimize.file_selection import with_dropped_columns
from lakebed.errors import DataFileError
from lakebed.formats.file_actions import adds_from_table

ROW = {"id": 1, "gone": "x", "s": {"a": 1, "b": 2}, "l": [{"c": 1, "d": 2}]}
KIND = pa.schema(
    [
        ("id", pa.int64()),
        ("gone", pa.string()),
        ("s", pa.struct([("a", pa.int64()), ("b", pa.int64())])),
        ("l", pa.list_(pa.struct([("c", pa.int64()), ("d", pa.int64())]))),
        ("m", pa.map_(pa.string(), pa.struct([("e", pa.int64()), ("f", pa.int64())]))),
    ]
)
DATA = pa.Table.from_pylist([{**ROW, "m": [("k", {"e": 1, "f": 2})]}], KIND)


def made(path: Path, mode: str) -> lakebed.Table:
    properties = {"delta.columnMapping.mode": mode, "delta.enableRowTracking": "true"}
    return lakebed.write(path, DATA, properties=properties)


def found(table: lakebed.Table) -> int:
    snapshot = table.snapshot
    return len(with_dropped_columns(snapshot, adds_from_table(snapshot.files())))


@pytest.mark.parametrize("mode", ["name", "id"])
@pytest.mark.parametrize("column", ["gone", "s.b", "l.element.d", "m.value.f"])
def test_a_column_that_was_dropped_is_found_at_every_depth(
    tmp_path: Path, mode: str, column: str
) -> None:
    table = made(tmp_path / "t", mode)
    assert found(table) == 0
    table = table.drop_columns(column)
    assert found(table) == 1
    table = table.write(table.to_arrow())
    assert found(table) == 1


@pytest.mark.parametrize("mode", ["name", "id"])
def test_renamed_added_and_wider_columns_are_not_taken_for_dropped_ones(
    tmp_path: Path, mode: str
) -> None:
    table = made(tmp_path / "t", mode).rename_column("s.b", "z").rename_column("gone", "there")
    table = table.add_columns({"new": "int", "s.more": "string"}).alter_column("id", after="l")
    assert found(table) == 0
    assert found(table.drop_columns("there").add_columns({"gone": "string"})) == 1


@pytest.mark.parametrize("damage", ["gone", "no parquet"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, damage: str) -> None:
    table = made(tmp_path / "t", "name")
    [name] = table.files()["path"].to_pylist()
    if damage == "gone":
        (tmp_path / "t" / name).unlink()
    else:
        (tmp_path / "t" / name).write_bytes(b"no parquet at all")
    with pytest.raises(DataFileError, match=r"\.parquet"):
        found(table)
