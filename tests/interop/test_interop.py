"""Tables written here are read equal by other readers, and theirs are read equal here."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

import lakebed
from testkit.readers.other_readers import duckdb_with_delta

UTC = dt.timezone.utc


def many_types() -> pa.Table:
    """Every type that all the readers share, with nulls, and values at the edges."""
    return pa.table(
        {
            "id": pa.array([1, 2, 3, None], pa.int64()),
            "small": pa.array([1, -(2**31), 2**31 - 1, None], pa.int32()),
            "short": pa.array([1, -(2**15), 2**15 - 1, None], pa.int16()),
            "tiny": pa.array([1, -128, 127, None], pa.int8()),
            "float": pa.array([1.5, float("inf"), -0.0, None], pa.float32()),
            "double": pa.array([0.1, float("-inf"), 1e300, None], pa.float64()),
            "text": pa.array(["a", "", "ünï ✓ 'quoted'", None], pa.string()),
            "flag": pa.array([True, False, True, None]),
            "bytes": pa.array([b"\x00\xff", b"", b"abc", None], pa.binary()),
            "price": pa.array(
                [decimal.Decimal("1.50"), decimal.Decimal("-99999999.99"), None, None],
                pa.decimal128(10, 2),
            ),
            "day": pa.array([dt.date(2024, 2, 29), dt.date(1969, 12, 31), None, None]),
            "moment": pa.array(
                [dt.datetime(2024, 1, 1, 12, 30, 0, 123456, UTC), None, None, None],
                pa.timestamp("us", tz="UTC"),
            ),
            "list": pa.array([[1, None], [], None, [3]], pa.list_(pa.int64())),
            "struct": pa.array(
                [{"a": 1, "b": "x"}, {"a": None, "b": None}, None, {"a": 2, "b": "y"}],
                pa.struct([("a", pa.int64()), ("b", pa.string())]),
            ),
            "map": pa.array(
                [[("k", 1)], [], None, [("k", None)]], pa.map_(pa.string(), pa.int64())
            ),
        }
    )


def read_deltalake(path: Path) -> pa.Table:
    query = QueryBuilder().register("t", DeltaTable(str(path)))
    return pa.table(query.execute("select * from t").read_all())


def read_duckdb(path: Path) -> pa.Table:
    quoted = str(path).replace("'", "''")
    with duckdb_with_delta() as connection:
        connection.execute("SET timezone = 'UTC'")
        return connection.execute(f"SELECT * FROM delta_scan('{quoted}')").to_arrow_table()


def read_polars(path: Path) -> pa.Table:
    return polars.read_delta(str(path)).to_arrow()


READERS: dict[str, Callable[[Path], pa.Table]] = {
    "deltalake": read_deltalake,
    "duckdb": read_duckdb,
    "polars": read_polars,
}


@pytest.fixture(params=READERS, ids=str)
def reader(request: pytest.FixtureRequest) -> Callable[[Path], pa.Table]:
    return READERS[request.param]


def test_all_types_are_read_equal_by_others(
    reader: Callable[[Path], pa.Table], tmp_path: Path
) -> None:
    lakebed.write(tmp_path / "t", many_types())
    assert rows(reader(tmp_path / "t")) == rows(many_types())


@pytest.mark.parametrize(
    "column", ["id", "small", "text", "flag", "price", "day", "moment", "tiny"]
)
def test_partitioned_tables_are_read_equal_by_others(
    column: str, reader: Callable[[Path], pa.Table], tmp_path: Path
) -> None:
    data = many_types()
    if column == "text":
        # The protocol stores an empty string as null: the table has no other answer.
        data = data.filter(pa.array([True, False, True, True]))
    lakebed.write(tmp_path / "t", data, partition_by=column)
    assert rows(reader(tmp_path / "t")) == rows(data)
    assert rows(lakebed.open(tmp_path / "t").to_arrow()) == rows(data)


def test_history_of_writes_is_read_equal_by_others(
    reader: Callable[[Path], pa.Table], tmp_path: Path
) -> None:
    # DuckDB and Polars lose letters beyond ASCII in the path of a table; deltalake does not.
    path = tmp_path / ("a table ü" if reader is read_deltalake else "t")
    for number in range(25):
        mode = "overwrite" if number == 12 else "append"
        lakebed.write(path, pa.table({"n": [number], "half": [number // 2]}), mode=mode)
    expected = [{"n": n, "half": n // 2} for n in range(12, 25)]
    assert rows(reader(path)) == rows(pa.Table.from_pylist(expected))
    assert (path / "_delta_log" / f"{20:020d}.checkpoint.parquet").exists()


def test_added_columns_are_null_in_older_files(
    reader: Callable[[Path], pa.Table], tmp_path: Path
) -> None:
    lakebed.write(tmp_path / "t", pa.table({"a": [1]}))
    lakebed.write(tmp_path / "t", pa.table({"a": [2], "b": ["x"]}), merge_schema=True)
    expected = pa.table({"a": [1, 2], "b": [None, "x"]})
    assert rows(reader(tmp_path / "t")) == rows(expected)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_column_mapping_is_read_equal_by_others(mode: str, tmp_path: Path) -> None:
    data = pa.table({"a b": [1, 2], "c": [{"d e": "x"}, {"d e": "y"}]})
    lakebed.write(tmp_path / "t", data, properties={"delta.columnMapping.mode": mode})
    assert rows(lakebed.open(tmp_path / "t").to_arrow()) == rows(data)
    assert rows(read_deltalake(tmp_path / "t")) == rows(data)
    assert rows(read_duckdb(tmp_path / "t")) == rows(data)


@pytest.mark.parametrize("partition", [None, "day", "text", "id"])
def test_tables_of_deltalake_are_read_equal_here(partition: str | None, tmp_path: Path) -> None:
    data = many_types()
    if partition == "text":
        data = data.filter(pa.array([True, False, True, True]))
    write_deltalake(str(tmp_path / "t"), data, partition_by=partition)
    write_deltalake(str(tmp_path / "t"), data, mode="append")
    DeltaTable(str(tmp_path / "t")).create_checkpoint()
    write_deltalake(str(tmp_path / "t"), data, mode="append")
    DeltaTable(str(tmp_path / "t")).delete("id = 2")
    expected = read_deltalake(tmp_path / "t")
    assert expected.num_rows > 0
    assert rows(lakebed.open(tmp_path / "t").to_arrow()) == rows(expected)


def test_both_can_write_to_one_table_in_turns(tmp_path: Path) -> None:
    path = tmp_path / "t"
    for number in range(24):
        data = pa.table({"n": pa.array([number], pa.int64())})
        if number % 2:
            write_deltalake(str(path), data, mode="append")
        else:
            lakebed.write(path, data)
    expected = [{"n": number} for number in range(24)]
    assert rows(lakebed.open(path).to_arrow()) == rows(pa.Table.from_pylist(expected))
    assert rows(read_deltalake(path)) == rows(pa.Table.from_pylist(expected))


def rows(table: pa.Table) -> list[str]:
    return sorted(repr(_plain(row)) for row in table.to_pylist())


def _plain(value: Any) -> Any:
    """Readers differ in how they show maps and times; the values must be the same."""
    if isinstance(value, dict):
        return [(name, _plain(value[name])) for name in sorted(value)]
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, dt.datetime):
        return value.astimezone(UTC).isoformat()
    return value
