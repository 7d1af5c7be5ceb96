"""Which files OPTIMIZE and REORG rewrite, and which of them together.

Small files, files with deleted rows and files with dropped columns go into bins, by partition.

Clustered tables (PROTOCOL: Clustered Table): files that were clustered together are a cube and
carry its id in a tag, as in delta-spark. New files are in none. Each run makes one cube of what is
in none, so it rewrites what was added, whatever the size of the table.

A query looks into every cube, so small ones must not pile up. Cubes whose sizes are within a factor
of four are a tier; if there are four of a tier, they are taken along and become one of the next:
each byte is rewritten once for each tier that it climbs. What a run takes along is never more than
what was added or a few files, whichever is more; larger cubes stay as they are until a full run.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.arrow.file_columns import physical_names
from lakebed.commands.optimize.optimize_request import Sizes
from lakebed.commands.target.file_footers import files_whose_footer
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add
from lakebed.spec.columns.column_mapping import mapping_mode, physical_schema
from lakebed.spec.schema import ArrayType, DataType, MapType, StructType
from lakebed.transaction.row_tracking import physical_records


@dataclass(frozen=True)
class Bin:
    """Files of one partition whose rows go into new files."""

    adds: tuple[Add, ...]

    @cached_property
    def size(self) -> int:
        return sum(live_bytes(add) for add in self.adds)

    @property
    def partition(self) -> tuple[tuple[str, str | None], ...]:
        return partition_of(self.adds[0])


def partition_of(add: Add) -> tuple[tuple[str, str | None], ...]:
    return tuple(sorted(add.partition_values.items()))


def deleted_share(add: Add) -> float:
    """Of the rows of a file; 1 if some are deleted and the number of rows is not known."""
    if add.deletion_vector is None:
        return 0.0
    total = physical_records(add)
    return add.deletion_vector.cardinality / total if total else 1.0


def live_bytes(add: Add) -> int:
    """About what is left of a file without its deleted rows."""
    if add.deletion_vector is None:
        return add.size
    known = physical_records(add)
    return add.size if not known else max(1, int(add.size * (1 - deleted_share(add))))


def worth_compacting(adds: Iterable[Add], sizes: Sizes) -> list[Add]:
    return [
        add for add in adds if add.size < sizes.min_file or deleted_share(add) > sizes.max_deleted
    ]


def with_deleted_rows(adds: Iterable[Add]) -> list[Add]:
    return [add for add in adds if deleted_share(add) > 0]


def crowded(adds: Iterable[Add], least: int) -> list[Add]:
    """Those of partitions that have so many."""
    return [add for one in by_partition(adds) if len(one.adds) >= least for add in one.adds]


def packed(adds: Iterable[Add], max_bytes: int) -> list[Bin]:
    """Files by partition, smallest first, in bins of up to so many bytes."""
    partitions: dict[tuple[tuple[str, str | None], ...], list[Add]] = {}
    for add in adds:
        partitions.setdefault(partition_of(add), []).append(add)
    return [one for group in partitions.values() for one in _packed(group, max_bytes)]


def _packed(adds: Sequence[Add], max_bytes: int) -> list[Bin]:
    bins: list[list[Add]] = [[]]
    filled = 0
    for add in sorted(adds, key=live_bytes):
        size = live_bytes(add)
        if bins[-1] and filled + size > max_bytes:
            bins.append([])
            filled = 0
        bins[-1].append(add)
        filled += size
    return [Bin(tuple(each)) for each in bins if each]


def changes_something(one: Bin, sizes: Sizes) -> bool:
    """One file alone is rewritten only to get rid of its deleted rows."""
    return len(one.adds) > 1 or deleted_share(one.adds[0]) > sizes.max_deleted


def by_partition(adds: Iterable[Add]) -> list[Bin]:
    return packed(adds, max_bytes=1 << 62)


def batches(bins: Sequence[Bin], max_bytes: int) -> list[list[Bin]]:
    """Bins that are committed together, in their order."""
    found: list[list[Bin]] = []
    filled = 0
    for one in bins:
        if not found or filled + one.size > max_bytes:
            found.append([])
            filled = 0
        found[-1].append(one)
        filled += one.size
    return found


# --- cubes ----------------------------------------------------------------------------------------

PROVIDER = "liquid"
CUBE_ID, CUBE_COLUMNS, CUBE_CURVE = "ZCUBE_ID", "ZCUBE_ZORDER_BY", "ZCUBE_ZORDER_CURVE"


@dataclass(frozen=True)
class Cube:
    """Files that were clustered together by the columns that count now."""

    id: str
    adds: list[Add] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(add.size for add in self.adds)


def to_cluster(
    adds: Iterable[Add], columns: Sequence[str], max_file: int, *, full: bool = False
) -> list[Add]:
    """The files to make one cube of. `full` takes also those of other columns or providers."""
    loose: list[Add] = []
    cubes: dict[str, Cube] = {}
    for add in adds:
        known = cube_of(add, columns)
        if known is not None:
            cubes.setdefault(known, Cube(known)).adds.append(add)
        elif full or not _is_foreign(add):
            loose.append(add)
    if full:
        every = [add for cube in cubes.values() for add in cube.adds]
        return [*loose, *every] if loose or len(cubes) > 1 else []
    if not loose:
        return []
    most = max(sum(add.size for add in loose), _FEW_FILES * max_file)
    return [*loose, *_taken_along(cubes.values(), most)]


def _taken_along(cubes: Iterable[Cube], most: int) -> list[Add]:
    """Cubes of full tiers, from the smallest on, up to so many bytes."""
    tiers: dict[int, list[Cube]] = {}
    for cube in cubes:
        tiers.setdefault(int(log(max(1, cube.size), _TIER)), []).append(cube)
    found: list[Add] = []
    for _, tier in sorted(tiers.items()):
        size = sum(cube.size for cube in tier)
        if len(tier) >= _TIER and size <= most:
            found += [add for cube in tier for add in cube.adds]
            most -= size
    return found


def cube_of(add: Add, columns: Sequence[str]) -> str | None:
    """The cube of a file, if it is clustered by these columns."""
    tags = add.tags or {}
    if add.clustering_provider != PROVIDER or tags.get(CUBE_COLUMNS) != _columns(columns):
        return None
    return tags.get(CUBE_ID)


def _is_foreign(add: Add) -> bool:
    """Clustered, but by other columns or by another provider: left alone unless asked for."""
    return add.clustering_provider is not None


def in_cube(adds: Iterable[Add], columns: Sequence[str]) -> list[Add]:
    """New files with the tags of a new cube."""
    tags = {CUBE_ID: str(uuid.uuid4()), CUBE_COLUMNS: _columns(columns), CUBE_CURVE: "hilbert"}
    return [
        replace(add, clustering_provider=PROVIDER, tags={**(add.tags or {}), **tags})
        for add in adds
    ]


def _columns(columns: Sequence[str]) -> str:
    return orjson.dumps(list(columns)).decode()


_TIER = 4
_FEW_FILES = 4


# --- dropped columns ------------------------------------------------------------------------------


def with_dropped_columns(snapshot: Snapshot, adds: Sequence[Add]) -> list[Add]:
    """The files that still have a column or a field of a struct that the schema no longer has.

    DROP COLUMN changes the log alone (PROTOCOL: Column Mapping). Only the footers of the files tell
    whether they have the column.
    """
    mode = mapping_mode(snapshot.metadata.configuration)
    known = _children(physical_schema(snapshot.schema, mode))
    # Ids of rows are in columns that no schema has (PROTOCOL: Row Tracking).
    properties = snapshot.properties
    for name in (
        properties.materialized_row_id_column,
        properties.materialized_row_commit_version_column,
    ):
        if name is not None:
            known[name.lower()] = None

    def has_more(footer: pq.FileMetaData) -> bool:
        fields = physical_names(footer.schema.to_arrow_schema(), snapshot.schema, mode)
        return any(_is_extra(field, known) for field in fields)

    return files_whose_footer(snapshot.store, adds, has_more)


def _is_extra(field: pa.Field, known: Mapping[str, DataType | None]) -> bool:
    name = field.name.lower()
    return name not in known or _has_extra(field.type, known[name])


def _has_extra(stored: pa.DataType, wanted: DataType | None) -> bool:
    if pa.types.is_struct(stored) and isinstance(wanted, StructType):
        known = _children(wanted)
        return any(_is_extra(field, known) for field in _fields(stored))
    if _is_list(stored) and isinstance(wanted, ArrayType):
        return _has_extra(stored.value_type, wanted.element_type)
    if pa.types.is_map(stored) and isinstance(wanted, MapType):
        return _has_extra(stored.key_type, wanted.key_type) or _has_extra(
            stored.item_type, wanted.value_type
        )
    return False


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _fields(kind: pa.DataType) -> Iterable[pa.Field]:
    return (kind.field(place) for place in range(kind.num_fields))


def _children(schema: StructType) -> dict[str, DataType | None]:
    return {field.name.lower(): field.data_type for field in schema.fields}
