"""Every kind of change of a table: how it is run, and what rows others then see."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

import lakebed
from lakebed.commands.alter.cluster_by import cluster_by
from lakebed.commands.alter.columns.add_columns import add_columns
from lakebed.commands.alter.columns.alter_column import alter_column
from lakebed.commands.alter.columns.drop_columns import drop_columns
from lakebed.commands.alter.columns.rename_column import rename_column
from lakebed.commands.alter.constraints import add_constraint, drop_constraint
from lakebed.commands.alter.features.drop_feature import drop_feature
from lakebed.commands.alter.table_properties import set_comment, set_properties, unset_properties
from lakebed.commands.alter.upgrade_protocol import add_feature, upgrade_protocol
from lakebed.commands.create.create_table import TableDefinition, create_table
from lakebed.commands.target.metadata_change import AlterTarget
from lakebed.errors import FeatureDropPendingError
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.maintenance.checkpoint_writer import write_checkpoint
from lakebed.spec.features import supported_features
from lakebed.spec.schema import LONG, StructField, StructType
from lakebed.transaction import Operation, Transaction

Row = dict[str, Any]
ROWS = pa.table({"id": pa.array([1, 2, 3], "int32"), "v": ["a", "b", "c"]})
NAMES = {"delta.columnMapping.mode": "name"}
VECTORS = {"delta.enableDeletionVectors": "true"}
DEFAULTS = {"delta.feature.allowColumnDefaults": "supported"}
NO_WAIT = {"delta.dropFeatureTruncateHistory.retentionDuration": "interval 0 hours"}
NEW = TableDefinition(StructType((StructField("id", LONG),)))


@dataclass(frozen=True)
class Command:
    """`after` is what a row looks like when it is done; None if it is gone."""

    run: Callable[[AlterTarget], Any]
    done: Callable[[lakebed.Table], bool]
    properties: dict[str, str] = field(default_factory=dict)
    prepare: Callable[[Path], Any] = lambda _: None
    after: Callable[[Row], Row | None] = lambda row: row

    def make(self, path: Path) -> None:
        lakebed.write(path, ROWS.slice(0, 1), properties=self.properties)
        lakebed.write(path, ROWS.slice(1))
        self.prepare(path)

    def finish(self, path: Path, target: AlterTarget) -> None:
        if not self.done(lakebed.open(path)):
            self.run(target)

    def rows_after(self, rows: list[Row]) -> list[Row]:
        return [found for found in map(self.after, rows) if found is not None]


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


def _leave_vectors_behind(path: Path) -> None:
    """Nothing uses vectors any more, and all that did happened an hour ago."""
    _delete_by_vector(path)
    with contextlib.suppress(FeatureDropPendingError):
        lakebed.open(path).drop_feature("deletionVectors", truncate_history=True)
    _an_hour_ago(path)
    lakebed.open(path).set_properties(NO_WAIT)


def _leave_protection_behind(path: Path) -> None:
    lakebed.open(path).drop_feature("columnMapping")
    _an_hour_ago(path)
    lakebed.open(path).set_properties(NO_WAIT)


def _an_hour_ago(path: Path) -> None:
    for place, file in enumerate(sorted((path / "_delta_log").glob("*"))):
        moment = time.time() - 3600 + place / 100
        os.utime(file, (moment, moment))


def _with_v2_checkpoint(path: Path) -> None:
    write_checkpoint(lakebed.open(path).snapshot, "v2-parquet", sidecars=1)


def _not_null(path: Path) -> None:
    """The same rows in a table whose column takes no nulls."""
    schema = ROWS.schema.set(0, pa.field("id", pa.int32(), nullable=False))
    lakebed.write(path, ROWS.cast(schema), mode="overwrite", overwrite_schema=True)


def _dropping(feature: str, properties: dict[str, str], **more: Any) -> Command:
    truncate = more.pop("truncate_history", False)
    return Command(
        lambda t: drop_feature(t, feature, truncate_history=truncate),
        lambda t: feature not in supported_features(t.protocol),
        properties,
        **more,
    )


def _comment_of(table: lakebed.Table, name: str) -> Any:
    return table.schema.field(name).metadata.get("comment")


COMMANDS = {
    "set properties": Command(
        lambda t: set_properties(t, {"a": "1"}), lambda t: t.properties.get("a") == "1"
    ),
    "unset properties": Command(
        lambda t: unset_properties(t, ["a"]), lambda t: "a" not in t.properties, {"a": "1"}
    ),
    "table comment": Command(
        lambda t: set_comment(t, "rows"), lambda t: t.snapshot.metadata.description == "rows"
    ),
    "column mapping": Command(
        lambda t: set_properties(t, NAMES), lambda t: "delta.columnMapping.mode" in t.properties
    ),
    "row tracking": Command(
        lambda t: set_properties(t, {"delta.enableRowTracking": "true"}),
        lambda t: "delta.enableRowTracking" in t.properties,
    ),
    "add columns": Command(
        lambda t: add_columns(t, {"n": "int"}),
        lambda t: "n" in t.schema,
        after=lambda row: {**row, "n": None},
    ),
    "rename": Command(
        lambda t: rename_column(t, "v", "w"),
        lambda t: "w" in t.schema,
        NAMES,
        after=lambda row: {"id": row["id"], "w": row["v"]},
    ),
    "drop columns": Command(
        lambda t: drop_columns(t, ["v"]),
        lambda t: "v" not in t.schema,
        NAMES,
        after=lambda row: {"id": row["id"]},
    ),
    "reorder": Command(
        lambda t: alter_column(t, "v", first=True),
        lambda t: t.schema.names == ("v", "id"),
        after=lambda row: {"v": row["v"], "id": row["id"]},
    ),
    "column comment": Command(
        lambda t: alter_column(t, "v", comment="text"), lambda t: _comment_of(t, "v") == "text"
    ),
    "nullability": Command(
        lambda t: alter_column(t, "id", nullable=True),
        lambda t: t.schema.field("id").nullable,
        prepare=_not_null,
    ),
    "widen type": Command(
        lambda t: alter_column(t, "id", type="bigint"),
        lambda t: t.schema.field("id").data_type == LONG,
        {"delta.enableTypeWidening": "true"},
    ),
    "default": Command(
        lambda t: alter_column(t, "v", default="'x'"),
        lambda t: "CURRENT_DEFAULT" in t.schema.field("v").metadata,
        DEFAULTS,
    ),
    "drop default": Command(
        lambda t: alter_column(t, "v", drop_default=True),
        lambda t: "CURRENT_DEFAULT" not in t.schema.field("v").metadata,
        DEFAULTS,
        lambda path: lakebed.open(path).alter_column("v", default="'x'"),
    ),
    "constraint": Command(
        lambda t: add_constraint(t, "c", "id > 0"), lambda t: "delta.constraints.c" in t.properties
    ),
    "drop constraint": Command(
        lambda t: drop_constraint(t, "c"),
        lambda t: "delta.constraints.c" not in t.properties,
        prepare=lambda path: lakebed.open(path).add_constraint("c", "id > 0"),
    ),
    "cluster by": Command(lambda t: cluster_by(t, "id"), lambda t: t.clustering_columns == ("id",)),
    "upgrade protocol": Command(
        lambda t: upgrade_protocol(t, 1, 3), lambda t: t.protocol.min_writer_version == 3
    ),
    "add feature": Command(
        lambda t: add_feature(t, "vacuumProtocolCheck"),
        lambda t: "vacuumProtocolCheck" in supported_features(t.protocol),
    ),
    "drop mapping": _dropping("columnMapping", NAMES),
    "drop vectors": _dropping("deletionVectors", VECTORS, prepare=_delete_by_vector),
    "drop widening": _dropping(
        "typeWidening",
        {"delta.enableTypeWidening": "true"},
        prepare=lambda path: lakebed.open(path).alter_column("id", type="bigint"),
    ),
    "drop row tracking": _dropping("rowTracking", {"delta.enableRowTracking": "true"}),
    "drop timestamps": _dropping("inCommitTimestamp", {"delta.enableInCommitTimestamps": "true"}),
    "drop v2 checkpoints": _dropping(
        "v2Checkpoint", {"delta.checkpointPolicy": "v2"}, prepare=_with_v2_checkpoint
    ),
    "drop vacuum check": _dropping(
        "vacuumProtocolCheck", {"delta.feature.vacuumProtocolCheck": "supported"}
    ),
    "drop with history": _dropping(
        "deletionVectors", VECTORS, prepare=_leave_vectors_behind, truncate_history=True
    ),
    "drop protection": _dropping(
        "checkpointProtection", NAMES, prepare=_leave_protection_behind, truncate_history=True
    ),
    "replace": Command(
        lambda t: create_table(t, NEW, "create_or_replace"),
        lambda t: t.schema.names == ("id",),
        after=lambda _: None,
    ),
}
