"""Killed at each write to the store: the table is as before or after, and the next run finishes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from altered_tables import by_duckdb, ordered, target

import lakebed
from faults import Fault, FaultStore
from lakebed.commands.alter.add_columns import add_columns
from lakebed.commands.alter.change import AlterTarget
from lakebed.commands.alter.clustering_columns import cluster_by
from lakebed.commands.alter.constraints import add_constraint
from lakebed.commands.alter.drop_columns import drop_columns
from lakebed.commands.alter.drop_feature import drop_feature
from lakebed.commands.alter.properties import set_properties
from lakebed.commands.alter.rename_column import rename_column
from lakebed.commands.create import TableDefinition, create_table
from lakebed.errors import LakebedError
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.formats.file_actions import adds_from_table
from lakebed.spec.features import supported_features
from lakebed.spec.schema import LONG, StructField, StructType
from lakebed.storage import open_store
from lakebed.transaction import Operation, Transaction

ROWS = pa.table({"id": pa.array([1, 2, 3], "int32"), "v": ["a", "b", "c"]})
NAMES = {"delta.columnMapping.mode": "name"}
NEW = TableDefinition(StructType((StructField("id", LONG),)))


class Killed(BaseException):
    """What no code of the program catches."""


class Command:
    def __init__(
        self,
        run: Callable[[AlterTarget], Any],
        done: Callable[[lakebed.Table], bool],
        properties: dict[str, str] | None = None,
        prepare: Callable[[Path], Any] = lambda _: None,
    ) -> None:
        self.run, self.done, self.properties = run, done, properties or {}
        self.prepare = prepare


COMMANDS = {
    "set properties": Command(
        lambda t: set_properties(t, {"a": "1"}), lambda t: t.properties.get("a") == "1"
    ),
    "row tracking": Command(
        lambda t: set_properties(t, {"delta.enableRowTracking": "true"}),
        lambda t: "delta.enableRowTracking" in t.properties,
    ),
    "add columns": Command(
        lambda t: add_columns(t, {"n": "int"}) if "n" not in t.log.snapshot().schema else None,
        lambda t: "n" in t.schema,
    ),
    "rename": Command(
        lambda t: rename_column(t, "v", "w") if "v" in t.log.snapshot().schema else None,
        lambda t: "w" in t.schema,
        NAMES,
    ),
    "drop columns": Command(
        lambda t: drop_columns(t, ["v"]) if "v" in t.log.snapshot().schema else None,
        lambda t: "v" not in t.schema,
        NAMES,
    ),
    "constraint": Command(
        lambda t: (
            None if t.log.snapshot().properties.constraints else add_constraint(t, "c", "id > 0")
        ),
        lambda t: "delta.constraints.c" in t.properties,
    ),
    "cluster by": Command(lambda t: cluster_by(t, "id"), lambda t: t.clustering_columns == ("id",)),
    "drop mapping": Command(
        lambda t: drop_feature(t, "columnMapping") if _has(t, "columnMapping") else None,
        lambda t: "columnMapping" not in supported_features(t.protocol),
        NAMES,
    ),
    "drop vectors": Command(
        lambda t: drop_feature(t, "deletionVectors") if _has(t, "deletionVectors") else None,
        lambda t: "deletionVectors" not in supported_features(t.protocol),
        {"delta.enableDeletionVectors": "true"},
        lambda path: _delete_by_vector(path),
    ),
    "drop widening": Command(
        lambda t: drop_feature(t, "typeWidening") if _has(t, "typeWidening") else None,
        lambda t: "typeWidening" not in supported_features(t.protocol),
        {"delta.enableTypeWidening": "true"},
        lambda path: lakebed.open(path).alter_column("id", type="bigint"),
    ),
    "drop row tracking": Command(
        lambda t: drop_feature(t, "rowTracking") if _has(t, "rowTracking") else None,
        lambda t: "rowTracking" not in supported_features(t.protocol),
        {"delta.enableRowTracking": "true"},
    ),
    "replace": Command(
        lambda t: create_table(t, NEW, "create_or_replace"), lambda t: t.schema.names == ("id",)
    ),
}


def _delete_by_vector(path: Path) -> None:
    """A file with one row too many comes, and the row goes by a vector."""
    lakebed.write(
        path, pa.table({"id": pa.array([1, 1], "int32"), "v": ["a", "a"]}), mode="overwrite"
    )
    snapshot = lakebed.open(path).snapshot
    transaction = Transaction(snapshot, operation=Operation("DELETE"))
    transaction.mark_rows(adds_from_table(snapshot.files())[0], RowIndexSet.from_indexes([1]))
    transaction.commit().unwrap()
    lakebed.write(path, ROWS.slice(1))


def _has(table: AlterTarget, feature: str) -> bool:
    return feature in supported_features(table.log.snapshot().protocol)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_killed_leaves_a_whole_table_and_can_be_finished(
    tmp_path: Path, name: str
) -> None:
    """To be killed after a write is to be killed before the next one."""
    command = COMMANDS[name]
    origin = tmp_path / "origin"
    lakebed.write(origin, ROWS.slice(0, 1), properties=command.properties)
    lakebed.write(origin, ROWS.slice(1))
    command.prepare(origin)
    count = _writes(tmp_path, origin, command)
    assert count >= 1
    for number in range(1, count + 1):
        path = tmp_path / f"killed-{number}"
        shutil.copytree(origin, path)
        with pytest.raises(Killed):
            command.run(target(path, _killed_at(path, number)))
        whole = lakebed.open(path)
        # Replacing a table is what takes its rows away, and dropping a column its values.
        if not command.done(whole) or name not in ("replace", "drop columns", "rename"):
            _check_rows(path)
        command.run(target(path))
        assert command.done(lakebed.open(path)), number
        if name not in ("replace", "drop columns", "rename"):
            _check_rows(path)


def _check_rows(path: Path) -> None:
    wanted = ordered(ROWS.to_pylist())
    for rows in (
        lakebed.open(path).to_arrow(["id", "v"]).to_pylist(),
        [{"id": row["id"], "v": row["v"]} for row in by_duckdb(path)],
    ):
        assert ordered(rows) == wanted


class _WriteFaults(FaultStore):
    """Only what changes the store counts."""

    def _record(self, method: str, path: str) -> Fault | None:
        if method not in ("put", "put_if_absent", "delete"):
            return None
        return super()._record(method, path)


def _killed_at(path: Path, number: int) -> FaultStore:
    return _WriteFaults(open_store(str(path)), Fault(None, number, "before", Killed()))


def _writes(folder: Path, origin: Path, command: Command) -> int:
    path = folder / "counted"
    shutil.copytree(origin, path)
    store = _WriteFaults(open_store(str(path)))
    command.run(target(path, store))
    assert command.done(lakebed.open(path))
    return len(store.calls)


def test_a_store_that_fails_is_an_error_of_ours_and_the_rows_stay(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lakebed.write(path, ROWS)
    store = _WriteFaults(open_store(str(path)), *(Fault(None, n, "before") for n in range(1, 9)))
    with pytest.raises(LakebedError):
        set_properties(target(path, store), {"a": "1"})
    assert ordered(by_duckdb(path)) == ordered(ROWS.to_pylist())
