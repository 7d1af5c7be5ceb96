"""Which files of a table an overwrite replaces: all, those of a predicate, or whole partitions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.target.write_target import Target
from lakebed.data_files.file_layout import FileLayout
from lakebed.data_files.file_rewrites import Rewrite, Rewritten, num_left
from lakebed.errors import InvalidArgumentError, PredicateError
from lakebed.expressions import (
    And,
    Column,
    Compare,
    Expression,
    In,
    IsNull,
    Literal,
    Or,
    parse_predicate,
    references,
)
from lakebed.expressions.time_zones import depends_on_zone, is_utc
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.file_state import ADD_FIELDS
from lakebed.log.selection import select_files
from lakebed.log.snapshot import Snapshot
from lakebed.settings.setting_table import REPLACE_DATA_COLUMNS
from lakebed.spec.actions import Add, AddCdc, Remove
from lakebed.spec.columns.column_mapping import physical_name
from lakebed.spec.features import is_supported
from lakebed.spec.partition_values import parse_column
from lakebed.spec.schema import StructField
from lakebed.transaction import Transaction
from lakebed.transaction.row_tracking import physical_records


class OverwriteRows(Protocol):
    """Rows of a write that can replace some of the rows of files."""

    @property
    def spark_zone(self) -> str | None:
        """The time zone in which Spark reads predicates; None if Lakebed reads them."""
        ...

    def rewrite(self, wanted: Rewrite) -> Rewritten:
        """Finds the rows of some files that go, and writes those that stay where that is needed."""
        ...


@dataclass(frozen=True)
class Overwritten:
    """Removed files, new files with those of their rows that stay, and metrics for the history."""

    removes: list[Remove] = field(default_factory=list)
    adds: list[Add] = field(default_factory=list)
    changes: list[AddCdc] = field(default_factory=list)
    metrics: Mapping[str, int] = field(default_factory=dict)
    marks: bool = False
    """Whether deletion vectors mark rows that go."""


@dataclass(frozen=True)
class Overwrite:
    """One overwrite of rows in a table that exists."""

    snapshot: Snapshot
    transaction: Transaction
    options: WriteOptions
    rows: OverwriteRows
    table: Target
    """What the table becomes."""
    layout: FileLayout

    def replace(self, new: Sequence[Add]) -> Overwritten:
        """What `new` files take the place of. The transaction learns what this depends on."""
        if self.options.replace_where is not None:
            return self._where(self.options.replace_where, new)
        if self.options.replaces_partitions and self.snapshot.partition_columns:
            return self._partitions(new)
        self.transaction.read_whole_table()
        return Overwritten(_removes(self.snapshot.files()))

    def _partitions(self, new: Sequence[Add]) -> Overwritten:
        if not new:
            return Overwritten()
        condition = _in_partitions_of(new, self.snapshot)
        chosen = select_files(self.snapshot, condition, ADD_FIELDS).files
        removes = _removes(chosen)
        self.transaction.read_files(condition, chosen)
        return Overwritten(removes)

    def _where(self, sql: str, new: Sequence[Add]) -> Overwritten:
        predicate = self._predicate(sql)
        # If only Spark understands it, every file may have such rows.
        chosen = select_files(self.snapshot, predicate, ADD_FIELDS).files
        if predicate is not None and self._is_about_partitions(predicate):
            self.transaction.read_files(predicate, chosen)
            adds = list(adds_from_table(chosen))
            return Overwritten(_removes(chosen), metrics=_metrics_of_whole_files(adds))
        self._check_data_columns(sql)
        self.transaction.read_predicate(predicate)
        adds = list(adds_from_table(chosen))
        return self._rows(sql, adds, new) if adds else Overwritten()

    def _rows(self, sql: str, adds: Sequence[Add], new: Sequence[Add]) -> Overwritten:
        """Some rows of the files go. The files stay with a vector, or others take their place."""
        snapshot = self.snapshot
        # A write that only rearranges rows has no changes for the feed, and replaces whole files.
        changes_data = self.options.data_change
        enabled = snapshot.properties.enable_deletion_vectors and changes_data
        vectors = bool(enabled) and is_supported(snapshot.protocol, "deletionVectors")
        wanted = Rewrite(
            snapshot,
            adds,
            sql,
            new,
            self.table.metadata,
            self.table.protocol,
            self.layout,
            marks_only=vectors,
            feed=bool(snapshot.properties.enable_change_data_feed) and changes_data,
        )
        found = self.rows.rewrite(wanted)
        gone = [add for add, rows in found.marks if not vectors or not num_left(add, rows)]
        if vectors:
            for add, rows in found.marks:
                self.transaction.mark_rows(add, rows)
        else:
            self.transaction.read_paths(gone)
        now = int(time.time() * 1000)
        removes = [] if vectors else [Remove.of(add, timestamp=now) for add in gone]
        return Overwritten(
            removes,
            list(found.adds),
            list(found.changes),
            _metrics(found, gone),
            marks=vectors and bool(found.marks),
        )

    def _predicate(self, sql: str) -> Expression | None:
        """None if Lakebed would not choose the rows that Spark chooses."""
        if self.options.replace_matching:
            return None
        zone = self.rows.spark_zone
        try:
            predicate = parse_predicate(sql, self.snapshot.schema)
        except PredicateError:
            if zone is None:
                raise
            return None
        is_other = zone is not None and not is_utc(zone) and depends_on_zone(predicate)
        return None if is_other else predicate

    def _is_about_partitions(self, predicate: Expression) -> bool:
        partitions = {name.lower() for name in self.snapshot.partition_columns}
        return all(path[0].lower() in partitions for path in references(predicate))

    def _check_data_columns(self, sql: str) -> None:
        if not self.options.replace_data_columns and not self.options.replace_matching:
            raise InvalidArgumentError(
                f"replaceWhere {sql!r} is not about partition columns alone, and "
                f"{REPLACE_DATA_COLUMNS.name} is false",
                hint=f"the table is partitioned by {list(self.snapshot.partition_columns)}",
                condition="DELTA_NON_PARTITION_COLUMN_REFERENCE",
            )


def _removes(files: pa.Table) -> list[Remove]:
    now = int(time.time() * 1000)
    return [Remove.of(add, timestamp=now) for add in adds_from_table(files)]


def _metrics(found: Rewritten, gone: Sequence[Add]) -> dict[str, int]:
    return {
        "numCopiedRows": found.num_copied,
        "numDeletedRows": found.num_deleted,
        "numAddedChangeFiles": len(found.changes),
        "numRemovedFiles": len(gone),
        "numRemovedBytes": sum(add.size for add in gone),
    }


def _metrics_of_whole_files(gone: Sequence[Add]) -> dict[str, int]:
    """How many rows went is not counted where the log does not know it."""
    counts = [num_left(add, RowIndexSet()) for add in gone if physical_records(add) is not None]
    deleted = {"numDeletedRows": sum(counts)} if len(counts) == len(gone) else {}
    return {
        "numCopiedRows": 0,
        **deleted,
        "numAddedChangeFiles": 0,
        "numRemovedFiles": len(gone),
        "numRemovedBytes": sum(add.size for add in gone),
    }


def _in_partitions_of(new: Sequence[Add], snapshot: Snapshot) -> Expression:
    """The condition that a row is in the partition of one of the files."""
    fields = [snapshot.schema.field(name) for name in snapshot.partition_columns]
    keys = [physical_name(each) for each in fields]
    found = dict.fromkeys(tuple(add.partition_values.get(key) for key in keys) for add in new)
    columns = [_literals([values[i] for values in found], each) for i, each in enumerate(fields)]
    if len(fields) == 1:
        return _is_one_of(fields[0], columns[0])
    each_partition = [
        And(tuple(_is_one_of(f, [v]) for f, v in zip(fields, values, strict=True)))
        for values in zip(*columns, strict=True)
    ]
    return each_partition[0] if len(each_partition) == 1 else Or(tuple(each_partition))


def _is_one_of(column: StructField, values: Sequence[Literal]) -> Expression:
    name = Column((column.name,), column.data_type)
    some = tuple(value for value in values if value.value is not None)
    tests: list[Expression] = [IsNull(name)] if len(some) < len(values) else []
    if len(some) == 1:
        tests.append(Compare("=", name, some[0]))
    elif some:
        tests.append(In(name, some))
    return tests[0] if len(tests) == 1 else Or(tuple(tests))


def _literals(strings: list[str | None], column: StructField) -> list[Literal]:
    values = parse_column(pa.array(strings, pa.string()), column.data_type, column=column.name)
    return [Literal(_raw(value), column.data_type) for value in values]


def _raw(value: pa.Scalar) -> object:
    """Dates are days and timestamps microseconds, as in literals of predicates."""
    is_temporal = pa.types.is_temporal(value.type)
    return value.value if is_temporal and value.is_valid else value.as_py()
