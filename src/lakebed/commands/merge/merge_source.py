"""The source of a MERGE and its join with the target.

The source is read once and its rows are numbered. The keys of the join tell which part of the
target it can match.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame

from lakebed.commands.merge.ambiguous_match import SHOWN, ambiguous_match
from lakebed.commands.merge.key_predicates import MOST_VALUES, all_of, among, between, has_order
from lakebed.commands.merge.merge_clauses import SOURCE, source_name, target_name
from lakebed.commands.merge.merge_request import INSERTS, MergeRequest
from lakebed.commands.rows.new_values import as_column
from lakebed.commands.rows.row_condition import is_repeatable
from lakebed.commands.rows.row_scan import RowScan
from lakebed.commands.target.row_target import RowTarget
from lakebed.errors import InvalidArgumentError, MultipleMatchesError
from lakebed.expressions import Expression
from lakebed.expressions.equalities import Name, equal_names
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.file_state import ADD_FIELDS
from lakebed.log.selection import select_files
from lakebed.log.snapshot import Snapshot
from lakebed.spark.columns.projection import is_same_type, quote
from lakebed.spark.columns.spark_types import incoming_schema
from lakebed.spark.plane.position_bitmaps import FILE, POSITION
from lakebed.spark.read.command_reads import CommandReads
from lakebed.spark.session.session_kind import functions_of, is_connect
from lakebed.spec.columns.column_metadata import collations
from lakebed.spec.schema import (
    StructField,
    StructType,
)


@dataclass(frozen=True)
class JoinKey:
    """A column of the target that must equal a value of the source."""

    field: StructField
    value: Column


@dataclass(frozen=True)
class SourceSummary:
    """`predicate` is true for every row of the target that the source can match."""

    num_rows: int
    predicate: Expression | None


class MergeSource:
    """The rows of a source, each with a number in the column `SOURCE`."""

    def __init__(self, frame: DataFrame, *, numbered: bool) -> None:
        self._given = frame
        self._f = functions_of(frame)
        self.schema: StructType = incoming_schema(frame)
        doubled = [n for n in self.schema.names if self.schema.names.count(n) > 1]
        if doubled:
            raise InvalidArgumentError(
                f"the source has more than one column {doubled[0]!r}",
                hint="select or rename its columns first",
            )
        self._numbered = numbered
        self.millis = 0
        """How long it took to store the rows, if they had to be."""

    @cached_property
    def frame(self) -> DataFrame:
        """With the columns a second time, under numbers."""
        f = self._f
        rows = self._rows
        copies = {
            source_name(number): f.col(quote(name)) for number, name in enumerate(self.schema.names)
        }
        return rows.withColumns(copies)

    @cached_property
    def _rows(self) -> DataFrame:
        """Stored, unless they are certainly the same each time they are read."""
        rows = self._given.withColumn(SOURCE, self._f.monotonically_increasing_id())
        if not self._numbered and is_repeatable(self._given):
            return rows
        started = time.monotonic()
        stored = rows.localCheckpoint()
        self.millis = int((time.monotonic() - started) * 1000)
        return stored

    def summarize(self, keys: Sequence[JoinKey], snapshot: Snapshot) -> SourceSummary:
        """One pass over the source: how many rows, and which values of the keys."""
        f = self._f
        usable = [key for key in keys if has_order(key.field.data_type)]
        asked = [f.count(f.lit(1)).alias("rows")]
        for number, key in enumerate(usable):
            asked += [
                f.min(key.value).alias(f"min{number}"),
                f.max(key.value).alias(f"max{number}"),
            ]
        found = self.frame.agg(*asked).toArrow()
        num_rows = found.column("rows")[0].as_py()
        if usable and num_rows <= MOST_VALUES:
            return SourceSummary(num_rows, all_of(self._values(usable)))
        partitions = {name.lower() for name in snapshot.partition_columns}
        tests: list[Expression] = []
        for number, key in enumerate(usable):
            bounds = [found.column(f"{end}{number}")[0] for end in ("min", "max")]
            if key.field.name.lower() in partitions:
                tests += self._one_of(key)
            tests += between(key.field, bounds)
        return SourceSummary(num_rows, all_of(tests))

    def _values(self, keys: Sequence[JoinKey]) -> list[Expression]:
        """All values of the keys of a small source: they match fewer files than their bounds."""
        named = [key.value.alias(f"v{number}") for number, key in enumerate(keys)]
        table = self.frame.select(*named).toArrow()
        return [
            test
            for number, key in enumerate(keys)
            for test in among(key.field, table.column(f"v{number}").unique())
        ]

    def _one_of(self, key: JoinKey) -> list[Expression]:
        """The partitions that the source is about, unless they are very many."""
        distinct = self.frame.select(key.value.alias("v")).distinct().limit(MOST_VALUES + 1)
        values = distinct.toArrow().column("v")
        return [] if len(values) > MOST_VALUES else among(key.field, values)


class MergeSources:
    """The source of each attempt: read once, unless it reads the target, which has changed."""

    def __init__(self, request: MergeRequest) -> None:
        self._request = request
        self._source: MergeSource | None = None

    def of(self, reads: CommandReads) -> MergeSource:
        if self._source is not None:
            return self._source
        inserts = bool(self._request.numbers(*INSERTS))
        source = MergeSource(reads.pinned(self._request.source), numbered=inserts)
        self._source = None if reads.reads_target else source
        return source


class MergeJoin:
    """The join of the target with the source, from the side of the target."""

    def __init__(
        self, target: RowTarget, snapshot: Snapshot, request: MergeRequest, source: MergeSource
    ) -> None:
        self._target = target
        self._snapshot = snapshot
        self._request = request
        self._source = source
        self._f = functions_of(request.source)

    def summary(self) -> SourceSummary:
        """What the source can match in the target, as far as Spark tells what is compared."""
        keys = [self._key(name, value) for name, value in self._equalities()]
        return self._source.summarize([key for key in keys if key is not None], self._snapshot)

    def scan(self, predicate: Expression | None) -> RowScan:
        """The files with rows for which the predicate may be true; all files if it is None."""
        snapshot = self._snapshot
        if predicate is None:
            files = snapshot.files(ADD_FIELDS)
        else:
            files = select_files(snapshot, predicate, ADD_FIELDS).files
        return RowScan(snapshot, self._target.plane, list(adds_from_table(files)))

    def joined(self, scan: RowScan, how: str, summary: SourceSummary | None) -> DataFrame:
        """The rows of the scan with those of the source, which is broadcast if it is small."""
        f = self._f
        frame = scan.frame()
        copies = {
            target_name(number): f.col(quote(name))
            for number, name in enumerate(self._snapshot.schema.names)
        }
        target = frame.withColumns(copies).alias(self._alias)
        source = self._source.frame
        if summary is not None and self._is_small(summary):
            source = f.broadcast(source)
        return target.join(source, as_column(frame, self._request.condition), how)

    def ambiguous_match(self, marked: DataFrame, scan: RowScan) -> MultipleMatchesError:
        """The error for a row of the table that several rows of the source would change."""
        f = self._f
        doubled = marked.where(f.col(SOURCE).isNotNull()).groupBy(FILE, POSITION)
        numbers = doubled.agg(f.sort_array(f.collect_list(SOURCE)).alias("rows"))
        first = numbers.where(f.size("rows") > 1).orderBy(FILE, POSITION).first()
        assert first is not None
        names = [source_name(number) for number in range(len(self._source.schema))]
        wanted = f.col(SOURCE).isin(first["rows"][:SHOWN])
        rows = self._source.frame.where(wanted).select(*names).collect()
        shown = [dict(zip(self._source.schema.names, row, strict=True)) for row in rows]
        fields = (self._target_field(name) for name, _ in self._equalities())
        keys = [field.name for field in fields if field is not None]
        place = (scan.adds[first[FILE]], first[POSITION])
        return ambiguous_match(self._snapshot, place, keys, len(first["rows"]), shown)

    def _equalities(self) -> list[tuple[str, Column]]:
        """Columns of the target that must equal something of the source alone."""
        if is_connect(self._request.source):
            named = NamedKeys(self._source.frame, self._snapshot.schema, self._alias)
            return named.find(self._request.condition)
        from lakebed.spark.internals.plans import equal_keys

        empty = RowScan(self._snapshot, self._target.plane, [])
        return equal_keys(self.joined(empty, "inner", None))

    def _key(self, name: str, value: Column) -> JoinKey | None:
        """None if the statistics of the files do not say what the join compares."""
        field = self._target_field(name)
        # Texts of other collations are in an order that statistics do not follow.
        if field is None or collations(field):
            return None
        given = incoming_schema(self._source.frame.select(value.alias("v"))).fields[0]
        is_same = is_same_type(given.data_type, field.data_type) and not collations(given)
        return JoinKey(field, value) if is_same else None

    @property
    def _alias(self) -> str:
        return self._request.target_alias or _TARGET

    def _target_field(self, name: str) -> StructField | None:
        """A column of the target under its name or its number."""
        schema = self._snapshot.schema
        numbers = {target_name(number): field for number, field in enumerate(schema.fields)}
        return numbers.get(name) or schema.find(name)

    def _is_small(self, summary: SourceSummary) -> bool:
        threshold = str(self._target.session.conf.get("spark.sql.autoBroadcastJoinThreshold"))
        if threshold.startswith("-"):
            return False
        return summary.num_rows * _BYTES_OF_VALUE * len(self._source.schema) <= _MOST_BROADCAST


@dataclass(frozen=True)
class NamedKeys:
    """`source` is the frame that is joined, `schema` and `alias` are those of the target."""

    source: DataFrame
    schema: StructType
    alias: str

    def find(self, condition: str | Column) -> list[tuple[str, Column]]:
        """Columns of the target, and what they must equal in the source alone."""
        found = []
        for one, other in self._equalities(condition):
            for here, there in ((one, other), (other, one)):
                column = self._target_column(here)
                if column is None or self._may_be_of_target(there):
                    continue
                if self._is_of_source(here) is False and self._is_of_source(there) is True:
                    found.append((column, self._column(there)))
        return found

    def _equalities(self, condition: str | Column) -> list[tuple[Name, Name]]:
        if isinstance(condition, str):
            return equal_names(condition)
        from lakebed.spark.internals.connect.connect_columns import equalities

        return equalities(self.source.sparkSession, condition)

    def _target_column(self, name: Name) -> str | None:
        """The column of the target that a name is, if it is not one of the source."""
        *before, last = name
        if before and [part.lower() for part in before] != [self.alias.lower()]:
            return None
        if before and before[0].lower() in self._target_names:
            # The alias may be a struct as well.
            return None
        return last if last.lower() in self._target_names else None

    def _may_be_of_target(self, name: Name) -> bool:
        first = name[0].lower()
        return first == self.alias.lower() or first in self._target_names

    @property
    def _target_names(self) -> set[str]:
        numbered = {target_name(number) for number in range(len(self.schema))}
        return numbered | {name.lower() for name in self.schema.names}

    def _is_of_source(self, name: Name) -> bool | None:
        """Whether the source has such a column, by Spark's own rules; None if it is not known."""
        try:
            _ = self.source.select(self._column(name)).schema
        except AnalysisException as error:
            is_absent = str(error.getCondition()).startswith("UNRESOLVED_COLUMN")
            return False if is_absent else None
        return True

    def _column(self, name: Name) -> Any:
        return functions_of(self.source).col(".".join(map(quote, name)))


_TARGET = "__lakebed_target"
_BYTES_OF_VALUE = 16
_MOST_BROADCAST = 32 * 1024 * 1024
