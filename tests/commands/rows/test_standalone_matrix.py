"""Every kind of change on every kind of table without Spark: the twin of `test_row_change_matrix`.

DuckDB computes what the rows should be, delta-rs reads them after each change, and the change feed
of each version is the difference.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from test_row_change_matrix import CHANGES, KINDS, Rows, adds_ever, difference, others

import lakebed
from lakebed.tables.table import Table
from lakebed.tables.table_changes import TableMerger

NAMES = ["id", "part", "name", "score"]


def merging(table: Table, source: pa.Table, predicate: str = "t.id = s.id") -> TableMerger[Table]:
    return table.merge(source, predicate, source_alias="s", target_alias="t")


def merge_everything(table: Table, source: pa.Table) -> Any:
    merge = merging(table, source, "t.id + 1 = s.id + 1")
    merge = merge.when_matched_delete("s.name = 's12'").when_matched_update_all()
    merge = merge.when_not_matched_insert_all("s.id < 50")
    merge = merge.when_not_matched_by_source_delete("t.score = 0")
    return merge.when_not_matched_by_source_update({"score": "t.score + 100"}).execute()


NEW = {"id": "s.id", "part": "s.part", "name": "'new'", "score": "0"}
DONE: dict[str, Callable[[Table, pa.Table], Any]] = {
    "delete": lambda t, _: t.delete("id % 7 = 3 OR name IS NULL"),
    "update": lambda t, _: t.update(
        {"score": "score - 20", "part": "concat(part, 'x')"}, "score > 20"
    ),
    "merge_update": lambda t, s: (
        merging(t, s).when_matched_update({"score": "t.score + s.score"}, "s.score > 1").execute()
    ),
    "merge_delete": lambda t, s: merging(t, s).when_matched_delete("s.score = 1").execute(),
    "merge_insert": lambda t, s: (
        merging(t, s).when_not_matched_insert(NEW, "s.score <> 5").execute()
    ),
    "merge_update_not_in_source": lambda t, s: (
        merging(t, s).when_not_matched_by_source_update({"name": "'kept'"}, "t.id < 6").execute()
    ),
    "merge_delete_not_in_source": lambda t, s: (
        merging(t, s).when_not_matched_by_source_delete("t.id > 25").execute()
    ),
    "merge_everything": merge_everything,
}


@pytest.mark.parametrize(("vectors", "partitioned", "mapping", "feed"), KINDS)
def test_all_changes(
    tmp_path: Path,
    states: list[Rows],
    vectors: bool,
    partitioned: bool,
    mapping: str,
    feed: bool,
) -> None:
    path = str(tmp_path / "table")
    properties = {
        "delta.enableDeletionVectors": str(vectors).lower(),
        "delta.columnMapping.mode": mapping,
        "delta.enableChangeDataFeed": str(feed).lower(),
    }
    parts = ["part"] if partitioned else None
    lakebed.write(path, start(), properties=properties, partition_by=parts, max_rows_per_file=15)
    for (change, expected), before in zip(
        zip(CHANGES, states[1:], strict=True), states, strict=False
    ):
        changed = DONE[change.__name__](lakebed.open(path), source())
        assert others(path) == expected, change.__name__
        assert_counts(changed, difference(before, expected))
    assert rows(lakebed.open(path).to_arrow()) == states[-1]
    marked = [add for add in adds_ever(path) if add.get("deletionVector")]
    assert bool(marked) == vectors
    assert {name[:4] for add in adds_ever(path) for name in add["partitionValues"]} == (
        {"part" if mapping == "none" else "col-"} if partitioned else set()
    )
    if feed:
        found = changes(path)
        for version, (before, after) in enumerate(pairwise(states), start=1):
            assert found[version] == difference(before, after), version


def assert_counts(changed: Any, wanted: Counter[tuple[Any, ...]]) -> None:
    kinds = Counter[str]()
    for change, times in wanted.items():
        kinds[change[0]] += times
    assert changed.num_deleted_rows == kinds["delete"]
    assert changed.num_inserted_rows == kinds["insert"]
    # An update may leave a row as it was: the score 0 that is added.
    assert changed.num_updated_rows >= kinds["update_postimage"]


@pytest.fixture(scope="module")
def states() -> list[Rows]:
    """The rows at first and after each change, by DuckDB."""
    found = [rows(start())]
    with duckdb.connect() as connection:
        connection.register("source", source())
        for sql in CHANGES.values():
            before = pa.Table.from_pylist(
                [dict(zip(NAMES, row, strict=True)) for row in found[-1]], start().schema
            )
            connection.register("before", before)
            text = sql.replace("LEFT ANTI JOIN", "ANTI JOIN")
            found.append(sorted(connection.execute(text).fetchall(), key=str))
            assert found[-1] != found[-2], sql
    return found


def start() -> pa.Table:
    ids = range(30)
    names = [None if number == 11 else f"n{number}" for number in ids]
    scores = pa.array(list(ids), pa.int32())
    return pa.table([list(ids), [f"p{n % 3}" for n in ids], names, scores], names=NAMES)


def source() -> pa.Table:
    found = [(n, f"p{n % 4}", f"s{n}", n // 4 % 6) for n in range(8, 60, 4)]
    columns = [list(each) for each in zip(*found, strict=True)]
    return pa.table([*columns[:3], pa.array(columns[3], pa.int32())], names=NAMES)


def rows(table: pa.Table) -> Rows:
    return sorted((tuple(row[name] for name in NAMES) for row in table.to_pylist()), key=str)


def changes(path: str) -> dict[int, Counter[tuple[Any, ...]]]:
    """The change feed by version."""
    found: dict[int, Counter[tuple[Any, ...]]] = defaultdict(Counter)
    for row in lakebed.open(path).changes(1).to_arrow().to_pylist():
        change = (row["_change_type"], *(row[name] for name in NAMES))
        found[row["_commit_version"]][change] += 1
    return found
