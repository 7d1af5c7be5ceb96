"""Which files of a table an overwrite replaces: all, those of a predicate, or whole partitions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from lakebed.arrow.rewrite import Rewrite, Rewritten, num_left
from lakebed.arrow.write.write import FileLayout
from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.target.write_target import Target
from lakebed.commands.write.row_source import Rows
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
from lakebed.expressions.zones import depends_on_zone, is_utc
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.selection import select_files
from lakebed.log.snapshot import Snapshot
from lakebed.settings.setting_table import REPLACE_DATA_COLUMNS
from lakebed.spec.actions import Add, AddCdc, Remove
from lakebed.spec.columns.column_mapping import physical_name
from lakebed.spec.features import is_supported
from lakebed.spec.partition_values import parse_column
from lakebed.spec.schema import StructField
from lakebed.transaction import Transaction


@dataclass(frozen=True)
class Replaced:
    """Files that go, files with the rows of them that stay, and what the history says of it."""

    removes: list[Remove] = field(default_factory=list)
    adds: list[Add] = field(default_factory=list)
    changes: list[AddCdc] = field(default_factory=list)
    metrics: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Replacing:
    """One overwrite of rows in a table that exists."""

    snapshot: Snapshot
    transaction: Transaction
    options: WriteOptions
    rows: Rows
    table: Target
    """What the table becomes."""
    layout: FileLayout

    def replace(self, new: Sequence[Add]) -> Replaced:
        """What `new` files take the place of. The transaction learns what this depends on."""
        if self.options.replace_where is not None:
            return self._where(self.options.replace_where, new)
        if self.options.replaces_partitions and self.snapshot.partition_columns:
            return self._partitions(new)
        self.transaction.read_whole_table()
        return Replaced(_removes(self.snapshot.files()))

    def _partitions(self, new: Sequence[Add]) -> Replaced:
        if not new:
            return Replaced()
        condition = _in_partitions_of(new, self.snapshot)
        chosen = select_files(self.snapshot, condition, _ALL).files
        removes = _removes(chosen)
        self.transaction.read_files(condition, chosen)
        return Replaced(removes)

    def _where(self, sql: str, new: Sequence[Add]) -> Replaced:
        predicate = self._predicate(sql)
        # If only Spark understands it, every file may have such rows.
        chosen = select_files(self.snapshot, predicate, _ALL).files
        if predicate is not None and self._is_about_partitions(predicate):
            self.transaction.read_files(predicate, chosen)
            return Replaced(_removes(chosen))
        self._check_data_columns(sql)
        self.transaction.read_predicate(predicate)
        adds = list(adds_from_table(chosen))
        return self._rows(sql, adds, new) if adds else Replaced()

    def _rows(self, sql: str, adds: Sequence[Add], new: Sequence[Add]) -> Replaced:
        """Some rows of the files go. The files stay with a vector, or others take their place."""
        snapshot = self.snapshot
        # A write that only arranges rows anew has no changes to tell, and changes whole files.
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
        return Replaced(removes, list(found.adds), list(found.changes), _metrics(found, gone))

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
            )


_ALL = (
    "path",
    "partitionValues",
    "size",
    "modificationTime",
    "dataChange",
    "stats",
    "tags",
    "deletionVector",
    "baseRowId",
    "defaultRowCommitVersion",
    "clusteringProvider",
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


def _literals(texts: list[str | None], column: StructField) -> list[Literal]:
    values = parse_column(pa.array(texts, pa.string()), column.data_type, column=column.name)
    return [Literal(_raw(value), column.data_type) for value in values]


def _raw(value: pa.Scalar) -> object:
    """Dates are days and timestamps microseconds, as in literals of predicates."""
    is_temporal = pa.types.is_temporal(value.type)
    return value.value if is_temporal and value.is_valid else value.as_py()
