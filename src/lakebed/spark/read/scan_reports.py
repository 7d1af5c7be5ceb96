"""What the scans of a query do with the files of Delta tables, and because of which predicate.

The same listing that answers Spark is asked here, with the filters that are in Spark's plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from lakebed.expressions import And, Expression, Opaque, Or, references
from lakebed.expressions.tree import walk
from lakebed.log.selection import file_columns
from lakebed.spark.columns.spark_types import stored_name
from lakebed.spark.internals.jvm import ROW_INDEX, JavaObject, Jvm, ScanNode
from lakebed.spark.native.file_index import DeltaFileIndex, find_index
from lakebed.spark.native.file_listing import Listing
from lakebed.spark.native.filters import Filter
from lakebed.spark.native.vector_columns import HIDDEN
from lakebed.spec.schema import StructType
from lakebed.spec.schema import walk as walk_fields

Kind = Literal["partition", "statistics", "dynamic", "rows"]


@dataclass(frozen=True)
class Predicate:
    """A part of the query's condition: what it is checked against, and how many files that spares.

    `partition`: the values of partition columns. `statistics`: those of each file. `dynamic`: known
    only when the query runs. `rows`: no use before the rows are read; the note says why.
    """

    sql: str
    kind: Kind
    files_spared: int | None
    note: str = ""


@dataclass(frozen=True)
class ScanReport:
    """One scan of a Delta table in the plan of a query.

    Numbers of files and rows are those before dynamic filters, which may spare more.
    """

    table: str
    version: int
    files_listed: int
    files_pruned_by_partition: int
    files_skipped_by_statistics: int
    files_read: int
    files_with_deletion_vectors: int
    """Of those that are read."""
    bytes_total: int
    bytes_read: int
    rows_total: int | None
    """Without the deleted ones; None if some file does not say how many it has."""
    rows_read: int | None
    columns_read: tuple[str, ...]
    predicates: tuple[Predicate, ...]
    row_group_filters: tuple[str, ...]
    """The conditions by which the Parquet reader leaves out row groups of the files."""

    @property
    def is_dynamic(self) -> bool:
        return any(each.kind == "dynamic" for each in self.predicates)


def scan_reports(frame: DataFrame) -> list[ScanReport]:
    """A report for each scan of a Delta table that the DataFrame would make."""
    jvm = Jvm.of(frame.sparkSession)
    found = []
    for scan in jvm.scans(frame):
        index = find_index(scan.index_name)
        if index is not None:
            found.append(_Explainer(jvm, scan, index).report())
    return found


class _Explainer:
    """Looks at one scan."""

    def __init__(self, jvm: Jvm, scan: ScanNode, index: DeltaFileIndex) -> None:
        self._jvm = jvm
        self._scan = scan
        self._index = index
        self._listing: Listing = index.listing
        self._names = _Names(self._listing.snapshot.schema, self._listing.mode)
        self._on_partitions = self._read(scan.partition_filters)
        self._on_data = self._read(scan.data_filters)
        self._all = self._listing.select([], []).groups.order
        self._in_partitions = self._listing.select(self._on_partitions, []).groups.order
        self._selected = self._listing.select(self._on_partitions, self._on_data).groups.order

    def report(self) -> ScanReport:
        read = self._selected
        pruned = len(self._all) - len(self._in_partitions)
        derived = self._spared_by_generated(self._on_data)
        snapshot = self._listing.snapshot
        return ScanReport(
            table=self._listing.root,
            version=snapshot.version,
            files_listed=len(self._all),
            files_pruned_by_partition=pruned + derived,
            files_skipped_by_statistics=len(self._in_partitions) - derived - len(read),
            files_read=len(read),
            files_with_deletion_vectors=self._with_vectors(read),
            bytes_total=self._bytes(self._all),
            bytes_read=self._bytes(read),
            rows_total=self._rows(self._all),
            rows_read=self._rows(read),
            columns_read=tuple(self._columns()),
            predicates=tuple(self._predicates()),
            row_group_filters=tuple(map(self._names.logical, _parts(self._scan.pushed_filters))),
        )

    # --- files ---

    def _bytes(self, files: pa.Int64Array) -> int:
        return int(pc.sum(self._listing.files.column("size").take(files)).as_py() or 0)

    def _rows(self, files: pa.Int64Array) -> int | None:
        rows = file_columns(self._listing.snapshot).num_rows().take(files)
        return None if rows.null_count else int(pc.sum(rows).as_py() or 0)

    def _with_vectors(self, files: pa.Int64Array) -> int:
        return sum(vector is not None for vector in self._listing.vectors(files))

    def _spared_by_generated(self, filters: Sequence[Filter]) -> int:
        """By partition columns that are generated from the columns of these filters."""
        kept = self._listing.by_generated(filters).take(self._in_partitions)
        return len(kept) - int(pc.sum(kept).as_py() or 0)

    def _columns(self) -> Iterator[str]:
        for name in self._scan.columns:
            if name != ROW_INDEX:
                yield self._names.logical(name)

    # --- predicates ---

    def _read(self, sources: Sequence[JavaObject]) -> list[Filter]:
        """Those whose values are known before the query runs, without that of deletion vectors."""
        known = [each for each in sources if not self._jvm.is_dynamic(each)]
        known = [each for each in known if HIDDEN not in each.sql()]
        return self._index.read_filters(known)

    def _predicates(self) -> Iterator[Predicate]:
        yield from (self._partition_predicate(each) for each in self._on_partitions)
        yield from (self._data_predicate(each) for each in self._on_data)
        filters = [*self._scan.partition_filters, *self._scan.data_filters]
        dynamic = [each for each in filters if self._jvm.is_dynamic(each)]
        for each in dynamic:
            note = "known only when the query runs"
            yield Predicate(self._sql(each), "dynamic", None, note)
        known = {str(each.sql()) for each in filters}
        for each in self._scan.conditions:
            if str(each.sql()) not in known and HIDDEN not in each.sql():
                yield self._row_predicate(each)

    def _partition_predicate(self, filter_: Filter) -> Predicate:
        kept = len(self._listing.select([filter_], []).groups.order)
        return Predicate(self._sql(filter_.source), "partition", len(self._all) - kept)

    def _data_predicate(self, filter_: Filter) -> Predicate:
        sql = self._sql(filter_.source)
        if not _is_understood(filter_.expression):
            return Predicate(sql, "rows", None, "no statistics can tell")
        kept = len(self._listing.select(self._on_partitions, [filter_]).groups.order)
        spared = len(self._in_partitions) - kept
        note = "" if spared else self._why_nothing(filter_.expression)
        if spared and self._spared_by_generated([filter_]) == spared:
            note = "by partition columns that are generated from it"
        return Predicate(sql, "statistics", spared, note)

    def _row_predicate(self, condition: JavaObject) -> Predicate:
        note = "partition and data columns in one condition"
        if self._jvm.is_dynamic(condition):
            note = "known only when the query runs"
        elif not bool(condition.deterministic()):
            note = "differs from row to row"
        elif "_metadata" in condition.toString():
            note = "about the file, not its rows"
        return Predicate(self._sql(condition), "rows", None, note)

    def _why_nothing(self, expression: Expression) -> str:
        columns = file_columns(self._listing.snapshot)
        for path in sorted(references(expression)):
            known = (columns.minimum(path), columns.null_count(path))
            if all(each is None or each.null_count == len(each) for each in known):
                return f"no statistics of {'.'.join(path)}"
        return ""

    def _sql(self, source: JavaObject) -> str:
        return self._names.logical(str(source.sql()))


class _Names:
    """Replaces the column names of data files in Spark's strings by those of the table."""

    def __init__(self, schema: StructType, mode: str) -> None:
        pairs = {stored_name(field, mode): field.name for _, field in walk_fields(schema)}
        self._logical = {stored: name for stored, name in pairs.items() if stored != name}
        longest_first = sorted(map(re.escape, self._logical), key=len, reverse=True)
        name = rf"(?<![\w-])`?({'|'.join(longest_first)})`?(?![\w-])"
        self._pattern = re.compile(rf"{_QUOTED}|{name}")

    def logical(self, text: str) -> str:
        """The text with the names of the table; what is in quotes is a value."""
        if not self._logical:
            return text
        return self._pattern.sub(lambda found: self._logical.get(found[1], found[0]), text)


_QUOTED = r"'(?:[^'\\]|\\.)*'"


def _is_understood(expression: Expression) -> bool:
    """Whether some part of it can be decided by statistics."""
    if isinstance(expression, And):
        return any(map(_is_understood, expression.children))
    if isinstance(expression, Or):
        return all(map(_is_understood, expression.children))
    return not any(isinstance(each, Opaque) for each in walk(expression))


def _parts(text: str) -> list[str]:
    """The elements of a list that Spark has printed, in which commas may be inside of brackets."""
    found, depth, part = [], 0, ""
    for character in text.removeprefix("[").removesuffix("]"):
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            found.append(part.strip())
            part = ""
        else:
            part += character
    return [each for each in [*found, part.strip()] if each]
