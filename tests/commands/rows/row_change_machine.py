"""Any sequence of commands on any kind of table, against a model in plain Python.

The model is a dict of rows by number, and knows SQL's logic of three values. After each command
the table has the rows of the model, by the engine, by the standalone reader and by its files read
by hand; the change feed and the history say what the model did; each earlier version reads as it
was. On tables with row tracking the numbers of the model are the row ids.

The run of every day is short and always the same; with `LAKEBED_LONG=300` it is random and has so
many sequences.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Protocol
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from row_change_model import (
    AFFECTED,
    ALIASES,
    CONSTANTS,
    MERGES,
    ROW,
    SIDES,
    SOURCES,
    TEXTS,
    Env,
    Expr,
    Merge,
    Plain,
    Row,
    Step,
    When,
    assigned,
    column,
    compared,
    conditions,
    either,
    is_null,
    is_true,
    literal,
    plain,
    values,
    within,
)

import lakebed
from lakebed.errors import MultipleMatchesError
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.deleted_rows import deleted_rows
from lakebed.spec.actions import Add
from lakebed.spec.columns.column_mapping import physical_name
from lakebed.spec.schema import StructType

LONG = int(os.environ.get("LAKEBED_LONG", "0"))
Counts = dict[str, int]


# --- the table and its model ---------------------------------------------------------------------


@dataclass(frozen=True)
class Stored:
    """A row in a file, with its id and the version that changed it, if the table has those."""

    number: int | None
    version: int | None
    row: Row


class Engine(Protocol):
    """One way to change tables. Counts of rows are as `num_affected_rows` and so on."""

    planes: Sequence[str]
    """Of which a table may be changed by one."""
    aliases: Sequence[str]
    """By which expressions of DELETE and UPDATE may call the table; "" is none."""

    def start(self, plane: str) -> None: ...

    def end(self) -> None: ...

    def create(
        self,
        path: str,
        rows: list[Row],
        options: Mapping[str, Any],
        partitions: list[str],
        spread: bool,
    ) -> None: ...

    def append(self, path: str, rows: list[Row], spread: bool) -> None: ...

    def overwrite(
        self, path: str, rows: list[Row], spread: bool, where: str | None, dynamic: bool
    ) -> None:
        """All rows, those for which a condition is true, or the partitions of the new ones."""
        ...

    def delete(self, path: str, alias: str, test: Expr | None, as_column: bool) -> Counts: ...

    def update(
        self, path: str, alias: str, test: Expr | None, new: Mapping[str, Expr], as_column: bool
    ) -> Counts: ...

    def merge(
        self,
        path: str,
        merge: Merge,
        source: list[Row],
        as_column: bool,
        evolve: bool,
        spread: bool,
    ) -> Counts: ...

    def compact(self, path: str) -> None: ...

    def query(self, path: str, where: str) -> Counter[Plain]: ...

    def shown(self, path: str, earlier: int) -> Counter[Plain]:
        """This version as "now", an earlier one as "then", and all changes from there on."""
        ...


class Sequences(RuleBasedStateMachine):
    engine: ClassVar[Engine]

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = str(Path(self.folder.name) / "table")
        self.rows: dict[int, Row] = {}
        self.versions: dict[int, int] = {}
        self.past: list[Counter[Plain]] = []
        self.feeds: list[Counter[Plain]] = []
        self.operations: list[str] = []
        self.fresh = count()
        self.seen: set[int] = set()

    def teardown(self) -> None:
        self.engine.end()
        self.folder.cleanup()

    # --- commands ---

    @initialize(
        vectors=st.booleans(),
        partitioned=st.booleans(),
        mapping=st.sampled_from(["none", "name"]),
        tracking=st.booleans(),
        plane=st.integers(0, 1),
        rows=st.lists(ROW, min_size=5, max_size=20) | st.just([]),
        spread=st.booleans(),
    )
    def create(
        self,
        vectors: bool,
        partitioned: bool,
        mapping: str,
        tracking: bool,
        plane: int,
        rows: list[Row],
        spread: bool,
    ) -> None:
        self.tracking, self.partitioned = tracking, partitioned
        planes = self.engine.planes
        self.engine.start(planes[plane % len(planes)])
        options = {
            "delta.enableDeletionVectors": vectors,
            "delta.columnMapping.mode": mapping,
            "delta.enableChangeDataFeed": True,
            "delta.enableRowTracking": tracking,
            "delta.checkpointInterval": 4,
        }
        self.engine.create(self.path, rows, options, ["p"] if partitioned else [], spread)
        self.check(Step("WRITE", {}, rows, output(rows)))

    @rule(
        rows=st.lists(ROW, max_size=6),
        kind=st.sampled_from(["append", "append", "where", "dynamic", "all"]),
        chosen=st.lists(st.none() | TEXTS, min_size=1, max_size=2),
        spread=st.booleans(),
    )
    def write(self, rows: list[Row], kind: str, chosen: list[str | None], spread: bool) -> None:
        """Tables without partitions are appended to, or replaced as a whole."""
        test, where, dynamic = CONSTANTS[0], None, False
        if kind == "append" or (kind == "where" and not self.partitioned):
            test = CONSTANTS[1]
        elif kind == "where":
            test = within(column("", "p"), chosen)
            test = either(test, is_null(column("", "p"))) if None in chosen else test
            rows = [row for row in rows if is_true(test, {"": row})]
            where = test.text
        elif kind == "dynamic" and self.partitioned:
            touched = [row["p"] for row in rows]
            test = Expr("", lambda env: env[""]["p"] in touched)
            dynamic = True
        if test is CONSTANTS[1]:
            self.engine.append(self.path, rows, spread)
        else:
            self.engine.overwrite(self.path, rows, spread, where, dynamic)
        self.check(Step("WRITE", dict.fromkeys(self.found(test)), rows, output(rows)))

    @rule(alias=ALIASES, data=st.data(), as_column=st.booleans())
    def delete(self, alias: str, data: st.DataObject, as_column: bool) -> None:
        alias = alias if alias in self.engine.aliases else ""
        test = data.draw(st.none() | conditions(*SIDES[alias]))
        counts = self.engine.delete(self.path, alias, test, as_column)
        found = self.found(test)
        assert counts == {"num_affected_rows": len(found)}
        step = Step("DELETE", dict.fromkeys(found), metrics={"numDeletedRows": len(found)})
        self.check(step)

    @rule(alias=ALIASES, data=st.data(), as_column=st.booleans())
    def update(self, alias: str, data: st.DataObject, as_column: bool) -> None:
        alias = alias if alias in self.engine.aliases else ""
        test = data.draw(st.none() | conditions(*SIDES[alias]))
        new = data.draw(values(*SIDES[alias]))
        counts = self.engine.update(self.path, alias, test, new, as_column)
        found = self.found(test)
        changes = {number: assigned(env[""], new, env) for number, env in found.items()}
        assert counts == {"num_affected_rows": len(found)}
        self.check(Step("UPDATE", {**changes}, metrics={"numUpdatedRows": len(found)}))

    def found(self, test: Expr | None) -> dict[int, Env]:
        envs = {number: {"": row, "t": row} for number, row in self.rows.items()}
        return {number: env for number, env in envs.items() if is_true(test, env)}

    @rule(name=st.sampled_from(["k", "n"]), data=st.data(), insert=st.booleans())
    def upsert(self, name: str, data: st.DataObject, insert: bool) -> None:
        """The MERGE that most people write, with a source that no row matches twice."""
        unique = {row[name]: row for row in data.draw(SOURCES)}
        merge = data.draw(MERGES)
        on = compared(column("t", name), "=", column("u", name))
        others = [When("insert", None)] if insert else merge.not_matched
        whole = Merge(on, merge.matched or [When("update", None)], others, merge.by_source)
        self.merge(whole, list(unique.values()), False, False, False)

    # Large strategies are drawn inside: Hypothesis prints all those that a rule is given.
    @rule(data=st.data(), as_column=st.booleans(), evolve=st.booleans(), spread=st.booleans())
    def merge_rows(self, data: st.DataObject, as_column: bool, evolve: bool, spread: bool) -> None:
        self.merge(data.draw(MERGES), data.draw(SOURCES), as_column, evolve, spread)

    def merge(
        self, merge: Merge, source: list[Row], as_column: bool, evolve: bool, spread: bool
    ) -> None:
        step = merge.run(self.rows, source)
        asked = (self.path, merge, source, as_column, evolve, spread)
        if step is None:
            with pytest.raises(MultipleMatchesError):
                self.engine.merge(*asked)
            self.check(Step("MERGE"))
            return
        counts = {name: step.metrics[f"numTargetRows{name.capitalize()}"] for name in AFFECTED}
        affected = {f"num_{name}_rows": number for name, number in counts.items()}
        assert self.engine.merge(*asked) == {
            "num_affected_rows": sum(counts.values()),
            **affected,
        }
        self.check(step)

    @rule()
    def compact(self) -> None:
        """Rows move to other files, and stay the same rows."""
        self.engine.compact(self.path)
        moved = lakebed.open(self.path).version == len(self.past)
        self.check(Step("OPTIMIZE"), is_commit=moved)

    @precondition(lambda self: bool(self.rows))
    @rule(data=st.data(), checkpoint=st.booleans())
    def query(self, data: st.DataObject, checkpoint: bool) -> None:
        """What is skipped by statistics and partitions has no row that is asked for."""
        test = data.draw(conditions(""))
        if checkpoint:
            lakebed.open(self.path).checkpoint()
        wanted = Counter(plain(row) for row in self.rows.values() if is_true(test, {"": row}))
        assert self.engine.query(self.path, test.text) == wanted
        assert self.standalone(where=test.text) == wanted

    # --- what holds after each ---

    def check(self, step: Step, is_commit: bool | None = None) -> None:
        before = dict(self.rows)
        if is_commit is None:
            # What changes nothing is no version, but for the one that creates the table.
            is_commit = not self.past or bool(step.changes) or bool(step.inserted)
        if is_commit:
            self.operations.append(step.operation)
            self.feeds.append(step.feed(before))
            self.take(step)
            self.past.append(Counter(plain(row) for row in self.rows.values()))
        version = len(self.past) - 1
        table = lakebed.open(self.path)
        assert table.version == version
        if is_commit:
            self.check_history(table, step)
        earlier = random.randrange(version + 1)
        wanted = Counter({("now", *row): times for row, times in self.past[-1].items()})
        wanted += Counter({("then", *row): times for row, times in self.past[earlier].items()})
        for number, feed in enumerate(self.feeds[earlier:], earlier):
            wanted += Counter({(number, *change): times for change, times in feed.items()})
        assert self.engine.shown(self.path, earlier) == wanted
        for number, rows in enumerate(self.past):
            assert self.standalone(number) == rows, f"version {number}"

    def take(self, step: Step) -> None:
        """The model becomes what the command makes of it; new rows get the ids of the table."""
        version = len(self.past)
        for number, row in step.changes.items():
            if row is None:
                del self.rows[number], self.versions[number]
            else:
                self.rows[number], self.versions[number] = row, version
        stored = list(self.stored())
        if not self.tracking:
            added = dict(zip(self.fresh, step.inserted))  # noqa: B905
            self.rows.update(added)
            self.versions.update(dict.fromkeys(added, version))
            held = Counter(plain(each.row) for each in stored)
            assert held == Counter(plain(row) for row in self.rows.values())
            return
        found = {each.number: each for each in stored}
        assert len(found) == len(stored), "row ids are not unique"
        kept = {number: each for number, each in found.items() if number in self.rows}
        assert {number: each.row for number, each in kept.items()} == self.rows
        assert {number: each.version for number, each in kept.items()} == self.versions
        new = {number: each for number, each in found.items() if number not in kept}
        assert not new.keys() & self.seen, "a row has the id of another that is gone"
        assert {each.version for each in new.values()} <= {version}
        inserted = Counter(plain(each.row) for each in new.values())
        assert inserted == Counter(plain(row) for row in step.inserted)
        for new_number, each in new.items():
            assert new_number is not None
            self.rows[new_number], self.versions[new_number] = each.row, version
        self.seen.update(self.rows)

    def check_history(self, table: lakebed.Table, step: Step) -> None:
        history = table.history().to_pylist()
        assert [entry["operation"] for entry in reversed(history)] == self.operations
        metrics = dict(history[0]["operationMetrics"])
        assert {name: metrics.get(name) for name in step.metrics} == {
            name: str(number) for name, number in step.metrics.items()
        }

    # --- ways to the rows ---

    def standalone(self, version: int | None = None, where: str | None = None) -> Counter[Plain]:
        table = lakebed.open(self.path, version=version).to_arrow(where=where)
        return Counter(map(plain, table.to_pylist()))

    def stored(self) -> Iterable[Stored]:
        """The rows as the files have them, without the scans of Lakebed."""
        snapshot = lakebed.open(self.path).snapshot
        for add in adds_from_table(snapshot.files()):
            gone = deleted_rows(snapshot.store, add.deletion_vector, file=add.path)
            data = pq.ParquetFile(Path(self.path) / unquote(add.path)).read().to_pylist()
            for place, row in enumerate(data):
                if place not in gone:
                    yield Stored(
                        *row_ids(add, place, row, snapshot.metadata.configuration),
                        logical(snapshot.schema, {**row, **add.partition_values}),
                    )


def labelled(row: Row) -> Plain:
    version = row["_commit_version"]
    label = (row["_change_type"],) if version is None else (version, row["_change_type"])
    return (*label, *plain(row))


def row_ids(
    add: Add, place: int, row: Row, properties: Mapping[str, str]
) -> tuple[int | None, int | None]:
    """PROTOCOL, Row Tracking: what the file keeps in columns of its own goes first."""
    if properties.get("delta.enableRowTracking") != "true":
        return None, None
    prefix = "delta.rowTracking.materialized"
    number = row.get(properties[f"{prefix}RowIdColumnName"])
    version = row.get(properties[f"{prefix}RowCommitVersionColumnName"])
    assert add.base_row_id is not None
    return (
        add.base_row_id + place if number is None else number,
        add.default_row_commit_version if version is None else version,
    )


def logical(schema: StructType, row: Row) -> Row:
    found = {}
    for each in schema.fields:
        value = row.get(physical_name(each))
        is_struct = isinstance(each.data_type, StructType) and value is not None
        found[each.name] = logical(each.data_type, value) if is_struct else value  # type: ignore[arg-type]
    return found


def output(rows: Sequence[Row]) -> dict[str, int]:
    return {"numOutputRows": len(rows)}


def run_machine(engine: Engine, examples: int) -> None:
    run_state_machine_as_test(
        type("Machine", (Sequences,), {"engine": engine}),
        settings=settings(
            max_examples=LONG or examples,
            stateful_step_count=12 if LONG else 6,
            derandomize=LONG == 0,
            database=None,
            phases=[Phase.generate, Phase.shrink] if LONG else [Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )


def several_matches(engine: Engine) -> None:
    """An unconditional delete takes them all, and the change feed has the row once."""
    machine: Any = type("Machine", (Sequences,), {"engine": engine})()
    try:
        rows = [{"k": k, "p": "x", "n": k, "d": None} for k in (1, 1, 2, 3)]
        machine.create(True, False, "none", True, 0, rows, False)
        on = compared(column("t", "k"), "=", column("u", "k"))
        three = compared(column("t", "k"), "=", literal(3))
        others = [When("update", three, {"n": literal(9)})]
        twice = [rows[0], rows[0]]
        machine.merge(Merge(on, [When("delete", None)], [], others), twice, False, False, False)
        is_two = compared(column("u", "k"), "=", literal(2))
        disputed = Merge(on, [When("delete", is_two)], [], [])
        machine.merge(disputed, [rows[2], rows[2]], True, False, False)
        assert machine.operations == ["WRITE", "MERGE"]
    finally:
        machine.teardown()
