"""INSERT with IF NOT EXISTS, REPLACE USING and REPLACE ON: which rows of the table matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.commands.rows.row_condition import materialized
from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.write.write_frame import FrameWrite, write_frame
from lakebed.errors import InvalidArgumentError, SchemaError, SchemaMismatchError
from lakebed.log.snapshot import Snapshot
from lakebed.sessions.native.question import Question
from lakebed.sessions.native.read_plans import opened
from lakebed.settings.setting_table import AUTO_MERGE, USER_METADATA
from lakebed.spark.columns.projection import quote
from lakebed.spark.internals.classic_columns import column_sql
from lakebed.spark.read.command_reads import CommandReads
from lakebed.spark.session.session_settings import all_settings
from lakebed.spark.write.insert_columns import (
    assigned_by_name,
    assigned_by_position,
    with_absent_partitions,
)
from lakebed.spec.schema import StructField
from lakebed.tables.delta_table import DeltaTable


def has_partition(asked: Question, clauses: Mapping[str, str]) -> bool:
    """Whether an INSERT with IF NOT EXISTS has nothing to do."""
    if "if_not_exists" not in clauses:
        return False
    rows = DeltaTable.forPath(asked.session, asked.path).toDF()
    for name, value in orjson.loads(clauses["if_not_exists"]).items():
        column = F.col(quote(name))
        rows = rows.where(column.eqNullSafe(F.lit(value).cast(rows.schema[name].dataType)))
    return bool(rows.limit(1).count())


def replaces_partitions(asked: Question, clauses: Mapping[str, str]) -> bool:
    """Whether the statement says REPLACE USING, which is about partitions alone."""
    if "replace_using" not in clauses:
        return False
    snapshot = opened(asked)
    names: list[str] = orjson.loads(clauses["replace_using"])
    given = {field.name for field in _fields(snapshot, names)}
    if given != set(snapshot.partition_columns):
        raise InvalidArgumentError(
            "REPLACE USING takes all partition columns of the table and no others",
            hint="use REPLACE WHERE, or MERGE",
        )
    return True


def replace_on(asked: Question) -> None:
    """Rows of the table that meet a row of the query go, and all of these come."""
    session, snapshot = asked.session, opened(asked)
    clauses: Mapping[str, str] = asked.request["clauses"]
    settings = all_settings(session)
    merges = "evolves" in clauses or AUTO_MERGE.read(settings)
    reads = CommandReads(snapshot, lambda *_: None)
    # They are asked for twice: what is inserted must be what was compared.
    source = materialized(reads.pinned(asked.frame(asked.given[0])))
    condition = Column(asked.given[1])
    options = WriteOptions(
        mode="overwrite",
        merge_schema=merges,
        user_metadata=USER_METADATA.of(session),
        replace_where=column_sql(session, condition),
        check_replaced=False,
        replace_matching=True,
        reads_table=reads.reads_target,
    )
    rows = _as_stored(source, snapshot, orjson.loads(clauses["replace_on"]), merges=merges)
    names = str(asked.request["alias"]), str(asked.request["source"])
    write = FrameWrite(rows, asked.path, options, matching=_Meeting(source, *names, condition))
    write_frame(write, settings, snapshot)


@dataclass(frozen=True)
class _Meeting:
    """Rows of the table that meet a row of the source, by a condition on both."""

    source: DataFrame
    target_name: str
    source_name: str
    condition: Column

    def __call__(self, rows: DataFrame) -> DataFrame:
        source = self.source.alias(self.source_name)
        return rows.alias(self.target_name).join(source, self.condition, "left_semi")


def _as_stored(
    frame: DataFrame, snapshot: Snapshot, given: Mapping[str, Any], *, merges: bool
) -> DataFrame:
    schema = snapshot.schema
    widens = merges and bool(snapshot.properties.enable_type_widening)
    if given["by_name"]:
        frame = assigned_by_name(frame, schema, widens=widens)
    else:
        listed = bool(given["columns"])
        targets = _fields(snapshot, given["columns"]) if listed else list(schema.fields)
        may_grow = merges and not listed
        check_count(frame, [each.name for each in targets], may_grow=may_grow)
        frame = assigned_by_position(frame, targets, is_listed=listed, widens=widens)
    return with_absent_partitions(frame, schema, snapshot.partition_columns)


def _fields(snapshot: Snapshot, names: Sequence[str]) -> list[StructField]:
    found = []
    for name in names:
        field = snapshot.schema.find(name)
        if field is None:
            raise SchemaError(f"the table has no column {name!r}")
        if field in found:
            raise SchemaError(f"column {name!r} appears twice")
        found.append(field)
    return found


def check_count(frame: DataFrame, names: Sequence[str], *, may_grow: bool) -> None:
    count, wanted = len(frame.columns), len(names)
    if count == wanted or (count > wanted and may_grow):
        return
    raise SchemaMismatchError(
        f"the rows have {count} columns, but values are needed for {wanted}: {', '.join(names)}",
        hint="list the columns that the rows have, as in INSERT INTO t (a, b) ...; others get "
        "their default",
        condition="DELTA_INSERT_COLUMN_ARITY_MISMATCH" if count < wanted else None,
    )
