"""Any sequence of commands without Spark does what the model of `row_change_machine` does.

Other readers than Lakebed's look at the rows after each change: delta-rs, and DuckDB where columns
are not mapped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from deltalake import QueryBuilder
from row_change_machine import LONG, Counts, labelled, run_machine, several_matches
from row_change_model import SCHEMA, Expr, Merge, Plain, Row, When, plain

import lakebed
from lakebed.tables.table_changes import Changed

METHODS = {
    "whenMatched": "when_matched",
    "whenNotMatched": "when_not_matched",
    "whenNotMatchedBySource": "when_not_matched_by_source",
}


# ruff: noqa: ARG002 - an engine without Columns and partitions of DataFrames


@dataclass(frozen=True)
class ArrowEngine:
    planes: Sequence[str] = ("",)
    aliases: Sequence[str] = ("",)
    files: dict[str, int] = field(default_factory=lambda: {"max_rows_per_file": 4})

    def start(self, plane: str) -> None: ...

    def end(self) -> None: ...

    def create(
        self,
        path: str,
        rows: list[Row],
        options: Mapping[str, Any],
        partitions: list[str],
        spread: bool,
    ) -> None:
        properties = {name: str(value).lower() for name, value in options.items()}
        lakebed.write(
            path,
            arrow(rows),
            properties=properties,
            partition_by=partitions or None,
            **self._spread(spread),
        )

    def append(self, path: str, rows: list[Row], spread: bool) -> None:
        lakebed.write(path, arrow(rows), mode="append", **self._spread(spread))

    def overwrite(
        self, path: str, rows: list[Row], spread: bool, where: str | None, dynamic: bool
    ) -> None:
        more: dict[str, Any] = {"partition_overwrite": "dynamic"} if dynamic else {}
        more |= {} if where is None else {"replace_where": where}
        lakebed.write(path, arrow(rows), mode="overwrite", **more, **self._spread(spread))

    def delete(self, path: str, alias: str, test: Expr | None, as_column: bool) -> Counts:
        changed = lakebed.open(path).delete(text(test))
        check_readers(changed)
        return {"num_affected_rows": changed.num_affected_rows or 0}

    def update(
        self, path: str, alias: str, test: Expr | None, new: Mapping[str, Expr], as_column: bool
    ) -> Counts:
        sql = {name: value.text for name, value in new.items()}
        changed = lakebed.open(path).update(sql, text(test))
        check_readers(changed)
        return {"num_affected_rows": changed.num_affected_rows or 0}

    def merge(
        self,
        path: str,
        merge: Merge,
        source: list[Row],
        as_column: bool,
        evolve: bool,
        spread: bool,
    ) -> Counts:
        rows = arrow(source).select(["d", "n", "k", "p"])
        merger: Any = lakebed.open(path).merge(
            rows, merge.on.text, source_alias="u", target_alias="t", merge_schema=evolve
        )
        for kind, clauses in merge.clauses.items():
            for when in clauses:
                merger = with_clause(merger, METHODS[kind], when)
        changed = merger.execute()
        check_readers(changed)
        names = ("affected", "updated", "deleted", "inserted")
        return {f"num_{name}_rows": getattr(changed, f"num_{name}_rows") for name in names}

    def compact(self, path: str) -> None:
        lakebed.open(path).optimize()

    def query(self, path: str, where: str) -> Counter[Plain]:
        return Counter(map(plain, lakebed.open(path).to_arrow(where=where).to_pylist()))

    def shown(self, path: str, earlier: int) -> Counter[Plain]:
        return Counter(map(labelled, _shown(path, earlier)))

    def _spread(self, spread: bool) -> dict[str, Any]:
        return self.files if spread else {}


def _shown(path: str, earlier: int) -> Iterator[Row]:
    table = lakebed.open(path)
    yield from table.changes(earlier).to_arrow().to_pylist()
    for name, rows in (("now", table), ("then", lakebed.open(path, version=earlier))):
        for row in rows.to_arrow().to_pylist():
            yield {**row, "_change_type": name, "_commit_version": None}


def arrow(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMA)


def text(test: Expr | None) -> str | None:
    return None if test is None else test.text


def with_clause(merger: Any, kind: str, when: When) -> Any:
    test = text(when.condition)
    if when.action == "delete":
        return getattr(merger, f"{kind}_delete")(test)
    if when.new is None:
        return getattr(merger, f"{kind}_{when.action}_all")(test)
    new = {name: value.text for name, value in when.new.items()}
    return getattr(merger, f"{kind}_{when.action}")(new, test)


def check_readers(changed: Changed[Any]) -> None:
    """By delta-rs the table has the rows that Lakebed finds."""
    query = QueryBuilder().register("t", deltalake.DeltaTable(changed.table.url))
    found = pa.table(query.execute("SELECT k, p, n, d FROM t").read_all()).to_pylist()
    assert Counter(map(plain, found)) == Counter(map(plain, changed.table.to_arrow().to_pylist()))


@pytest.mark.timeout(0 if LONG else 600)
def test_any_sequence_of_commands_does_what_the_model_does() -> None:
    run_machine(ArrowEngine(), 25)


def test_several_rows_of_the_source_that_match_one_row() -> None:
    several_matches(ArrowEngine())
