"""Work grows with the number of columns, not with its square."""

from __future__ import annotations

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
