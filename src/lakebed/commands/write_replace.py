"""Which files of a table an overwrite replaces: all, those of a predicate, or whole partitions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from lakebed.arrow.write import FileLayout
from lakebed.commands.rows import Rows
from lakebed.commands.write_options import WriteOptions
from lakebed.errors import InvalidArgumentError, PredicateError, UnsupportedFeatureError
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
from lakebed.spec.actions import Add, Remove
from lakebed.spec.column_mapping import physical_name
from lakebed.spec.partition_values import parse_column
from lakebed.spec.schema import StructField
from lakebed.transaction import Transaction


@dataclass(frozen=True)
class Replaced:
    """Files that go, and files with the rows of them that stay."""

    removes: list[Remove] = field(default_factory=list)
    adds: list[Add] = field(default_factory=list)


@dataclass(frozen=True)
class Replacing:
    """One overwrite of rows in a table that exists."""

    snapshot: Snapshot
    transaction: Transaction
    options: WriteOptions
    rows: Rows
    layout: FileLayout

    def replace(self, new: Sequence[Add]) -> Replaced:
        """What `new` files take the place of. The transaction learns what this depends on."""
        if self.options.replace_where is not None:
            return self._where(self.options.replace_where)
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

    def _where(self, sql: str) -> Replaced:
        predicate = self._predicate(sql)
        if predicate is None:
            # Only Spark understands it: then every file may have such rows.
            self.transaction.read_whole_table()
            chosen = self.snapshot.files()
        else:
            chosen = select_files(self.snapshot, predicate, _ALL).files
            self.transaction.read_files(predicate, chosen)
        if predicate is not None and self._is_about_partitions(predicate):
            return Replaced(_removes(chosen))
        self._check_data_columns(sql)
        if not chosen.num_rows:
            return Replaced()
        self._check_rewrite()
        return Replaced(_removes(chosen), self.rows.keep(self.snapshot, chosen, sql, self.layout))

    def _predicate(self, sql: str) -> Expression | None:
        """None if Lakebed would not choose the rows that Spark chooses."""
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
        if not self.options.replace_data_columns:
            raise InvalidArgumentError(
                f"replaceWhere {sql!r} is not about partition columns alone, and "
                "spark.databricks.delta.replaceWhere.dataColumns.enabled is false",
                hint=f"the table is partitioned by {list(self.snapshot.partition_columns)}",
            )

    def _check_rewrite(self) -> None:
        """Rows that stay get new files, which these features want to hear more about."""
        properties = self.snapshot.properties
        asked = {
            "the change data feed": properties.enable_change_data_feed,
            "row tracking": properties.enable_row_tracking,
        }
        for feature, enabled in asked.items():
            if enabled:
                raise UnsupportedFeatureError(
                    f"replaceWhere on columns that the table is not partitioned by would rewrite "
                    f"files, which is not supported yet on a table with {feature}",
                    hint="use a predicate on partition columns alone",
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
