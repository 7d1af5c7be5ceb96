"""Work grows with the number of columns, not with its square."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lakebed
from testkit.gauges import instructions

FEW, MANY = 100, 800


def wide(count: int) -> pa.Table:
    return pa.table({f"c{n}": pa.array([n], pa.int64()) for n in range(count)})


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """Instructions for few and for many columns, of what is done to a table one after the other."""
    found: dict[str, list[int]] = {}
    for count in (FEW, FEW, MANY):
        path, rows = tmp_path_factory.mktemp("wide"), wide(count)
        fewer = rows.select(rows.column_names[: count // 2])
        steps = {
            "write": lambda path=path, rows=rows: lakebed.write(path, rows),
            "append": lambda path=path, rows=rows: lakebed.write(path, rows, mode="append"),
            "append half": lambda path=path, rows=fewer: lakebed.write(path, rows, mode="append"),
            "read": lambda path=path: lakebed.open(path).to_arrow(),
            "filter": lambda path=path: lakebed.open(path).scan(["c1"], where="c2 = 1").to_arrow(),
        }
        for name, step in steps.items():
            found.setdefault(name, []).append(instructions(step))
    return found


@pytest.mark.parametrize("step", ["write", "append", "append half", "read", "filter"])
def test_work_on_wide_tables_grows_with_their_columns(
    costs: dict[str, list[int]], step: str
) -> None:
    # The first of the three pays for imports and caches.
    _, few, many = costs[step]
    assert many < 1.5 * few * MANY / FEW


@pytest.mark.parametrize("at_once", [1, 3, 7, 100])
def test_columns_that_are_read_in_parts_are_all_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """pyarrow takes 40 kB for each column that it reads at once."""
    monkeypatch.setattr("lakebed.arrow.scan._COLUMNS_AT_ONCE", at_once)
    lakebed.write(tmp_path, wide(6).append_column("s", [[{"a": 1, "b.c": 2}]]))
    lakebed.write(tmp_path, wide(7), mode="append", merge_schema=True)
    expected = [
        {**{f"c{n}": n for n in range(6)}, "s": {"a": 1, "b.c": 2}, "c6": None},
        {**{f"c{n}": n for n in range(6)}, "s": None, "c6": 6},
    ]
    found = lakebed.open(tmp_path).to_arrow().to_pylist()
    assert sorted(found, key=lambda row: row["s"] is None) == expected
    assert (
        lakebed.open(tmp_path).scan(["c5", "c1"]).to_arrow().to_pylist() == [{"c5": 5, "c1": 1}] * 2
    )
