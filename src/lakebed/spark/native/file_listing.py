"""Which files of a snapshot a scan reads: by partition values, then by statistics."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import DataFileError, EvaluationError
from lakebed.expressions import FileColumnsProtocol, conjunction, skip
from lakebed.expressions.generated import GeneratedBounds
from lakebed.log.selection import SCAN_FIELDS, file_columns, generated_bounds
from lakebed.log.snapshot import Snapshot
from lakebed.spark.errors import jvm_errors
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.native.filters import Filter
from lakebed.spark.native.partitions import FileGroups, Partitioning
from lakebed.spec.columns.column_mapping import mapping_mode
from lakebed.spec.paths import decode_path, is_absolute, split_absolute


@dataclass(frozen=True)
class SelectedFiles:
    """The files to read, and how many were left after each step."""

    groups: FileGroups
    total: int
    in_partitions: int

    @property
    def num_files(self) -> int:
        return len(self.groups.order)


class Listing:
    """The files of one snapshot, as columns."""

    def __init__(
        self,
        jvm: Jvm,
        snapshot: Snapshot,
        root: str,
        only: Sequence[str] | None = None,
        *,
        mode: str | None = None,
    ) -> None:
        """`mode` is the mapping mode that columns are named by, if not that of the snapshot."""
        self.snapshot = snapshot
        self.root = root
        self.only = only
        self.mode = mode or mapping_mode(snapshot.metadata.configuration)
        self.is_apart = False
        """Whether every file is in a group of its own, for scans that need its ids of rows."""
        self._jvm = jvm
        self._folders: set[str] = set()

    def each_apart(self) -> Listing:
        """The same files, each in a group of its own."""
        apart = Listing(self._jvm, self.snapshot, self.root, self.only, mode=self.mode)
        apart.is_apart = True
        return apart

    @cached_property
    def files(self) -> pa.Table:
        return self.snapshot.files(SCAN_FIELDS)

    @cached_property
    def name(self) -> str:
        """The table and its version; a part of the files gets a name of its own."""
        snapshot = self.snapshot
        name = f"Delta[{snapshot.metadata.id} version {snapshot.version} at {self.root}]"
        if self.is_apart:
            name = f"{name} with row ids"
        return name if self.only is None else f"{name} {uuid.uuid4()}"

    @cached_property
    def partitioning(self) -> Partitioning:
        schema = self.snapshot.schema
        fields = [schema.field(name) for name in self.snapshot.partition_columns]
        return Partitioning(self._jvm, fields, self._partition_values, self.mode)

    def _partition_values(self) -> pa.MapArray:
        return self.files.column("partitionValues").combine_chunks()

    @cached_property
    def has_vectors(self) -> bool:
        return self._vector_keys is not None

    @cached_property
    def num_rows_with_vectors(self) -> int:
        """The rows of all files that have a vector, as far as statistics say; else a guess."""
        if not self.has_vectors:
            return 0
        rows = file_columns(self.snapshot).num_records()
        # A row that takes less than a byte of its file is rare.
        guess = pc.coalesce(rows, self.files.column("size").combine_chunks())
        return int(pc.sum(guess.filter(self._has_vector)).as_py())

    def vectors(self, places: pa.Int64Array) -> list[dict[str, Any] | None]:
        """The descriptors of the deletion vectors of files, which delete no more rows than these
        have: a few bytes may mark any number, which would all be kept in memory.
        """
        found: list[dict[str, Any] | None]
        found = self.files.column("deletionVector").take(places).to_pylist()
        counts = file_columns(self.snapshot).num_records().take(places).to_pylist()
        for raw, count, place in zip(found, counts, places.to_pylist(), strict=True):
            if raw is not None and count is not None and raw["cardinality"] > count:
                raise DataFileError(
                    f"its deletion vector deletes {raw['cardinality']} rows, but it has {count}",
                    file=self.files.column("path")[place].as_py(),
                    hint="restore an earlier version of the table",
                )
        return found

    @cached_property
    def _has_vector(self) -> pa.BooleanArray:
        return pc.is_valid(self.files.column("deletionVector").combine_chunks())

    @cached_property
    def _vector_keys(self) -> pa.Int64Array | None:
        """A number of its own for each file with a deletion vector; None if there is none."""
        if not pc.any(self._has_vector).as_py():
            return None
        return pc.if_else(self._has_vector, self.all_places, pa.scalar(-1, pa.int64()))

    @cached_property
    def all_places(self) -> pa.Int64Array:
        return pc.indices_nonzero(pa.repeat(True, self.files.num_rows)).cast(pa.int64())

    def select(
        self, partition_filters: Sequence[Filter], filters: Sequence[Filter]
    ) -> SelectedFiles:
        by_values = self.in_partitions(partition_filters)
        if filters and self._generated:
            by_values = pc.and_(by_values, self.by_generated(filters))
        kept = pc.and_(by_values, self.may_match(filters)) if filters else by_values
        if self.only is not None:
            only = pa.array(self.only, pa.string())
            kept = pc.and_(kept, pc.is_in(self.files.column("path").combine_chunks(), only))
        apart = self.all_places if self.is_apart else self._vector_keys
        groups = self.partitioning.group(self.all_places.filter(kept), apart)
        matching = self.partitioning.matching(groups, partition_filters)
        return SelectedFiles(matching, self.files.num_rows, int(pc.sum(by_values).as_py() or 0))

    def in_partitions(self, filters: Sequence[Filter]) -> pa.BooleanArray:
        """True for files whose partition values may meet the filters; Catalyst decides.

        It gets fewer groups this way; Lakebed knows only some of its expressions.
        """
        return self._mask(filters, self._columns)

    def may_match(self, filters: Sequence[Filter]) -> pa.BooleanArray:
        """True for the files in which some row may meet all filters."""
        return self._mask(filters, self._columns)

    def by_generated(self, filters: Sequence[Filter]) -> pa.BooleanArray:
        """The same by the partition columns that are generated from the columns of the filters."""
        if not self._generated:
            return pa.repeat(True, self.files.num_rows)
        return self._mask(filters, self._generated.alone(file_columns(self.snapshot)))

    def _mask(self, filters: Sequence[Filter], columns: FileColumnsProtocol) -> pa.BooleanArray:
        everything = pa.repeat(True, self.files.num_rows)
        if not filters:
            return everything
        condition = conjunction([each.expression for each in filters])
        try:
            return skip(condition, columns, self.snapshot.partition_columns)
        except EvaluationError:
            # Spark may evaluate the same expression without an error, or must report its own.
            return everything

    @cached_property
    def _generated(self) -> GeneratedBounds:
        return generated_bounds(self.snapshot)

    @cached_property
    def _columns(self) -> FileColumnsProtocol:
        return self._generated.over(file_columns(self.snapshot))

    def uris(self, places: pa.Int64Array) -> list[str]:
        """Hadoop's names of files: URIs whose characters are not escaped."""
        paths = self.files.column("path").take(places)
        store = self.snapshot.store
        if store.trusted and _are_simple(paths):
            uris: list[str] = pc.binary_join_element_wise(f"{self.root}/", paths, "").to_pylist()
            return uris
        return [self._uri(path) for path in paths.to_pylist()]

    def _uri(self, path: str) -> str:
        # The same rule as for what Lakebed reads itself.
        home, place = self.snapshot.store.resolve(path)
        home.check_link(place)
        if not is_absolute(path):
            return f"{self.root}/{decode_path(path)}"
        scheme, authority, decoded = split_absolute(path)
        if path.startswith("/"):
            scheme, authority = _home(self.root)
        uri = f"{scheme}://{authority}{decoded}"
        self._serve(uri.rpartition("/")[0])
        return uri

    def _serve(self, folder: str) -> None:
        """A table may have files elsewhere, such as those of the table that it is a clone of."""
        if folder not in self._folders:
            self._folders.add(folder)
            jvm_errors.register_root(folder)


def _are_simple(paths: pa.ChunkedArray) -> bool:
    """Whether all are in the folder of the table, under names without escapes."""
    found = (
        *(pc.starts_with(paths, each) for each in ("/", ".")),
        *(pc.match_substring(paths, each) for each in ("%", ":", "/.", "//")),
    )
    return not any(pc.any(each).as_py() for each in found)


def _home(root: str) -> tuple[str, str]:
    """The scheme and the bucket of the table, for paths that name neither."""
    scheme, authority, _ = split_absolute(root.replace("%", "%25"))
    return scheme, authority
