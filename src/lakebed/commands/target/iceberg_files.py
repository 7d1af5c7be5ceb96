"""Which files of a table readers of Iceberg could not use as they are.

PROTOCOL: Writer Requirements for IcebergCompatV1 and V2. A file fits if every column in it has its
id, at every depth, its partition values are in it, it has no deletion vector, and its timestamps
are no INT96. Files with the tag of the version were written so; of others the footers tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.commands.target.file_footers import files_whose_footer
from lakebed.errors import TablePropertyError
from lakebed.formats.arrow_types import FIELD_ID, parquet_schema
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.file_state import ADD_FIELDS
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add, Metadata
from lakebed.spec.columns.column_mapping import mapping_mode, physical_name, physical_schema
from lakebed.spec.iceberg_compat import IcebergCompat
from lakebed.spec.schema import parse_schema
from lakebed.transaction.row_tracking import physical_records


def unfit_files(
    snapshot: Snapshot, metadata: Metadata, compat: IcebergCompat, adds: Sequence[Add] | None = None
) -> list[Add]:
    """Those of the files (all, if none are given) that a table with this metadata cannot have."""
    if adds is None:
        adds = list(adds_from_table(snapshot.files(ADD_FIELDS)))
    clear = [add for add in adds if _is_clear(add)]
    known = {add.path for add in clear}
    unfit = [add for add in adds if add.path not in known]
    asked = [add for add in clear if not compat.has_tag(add)]
    return [*unfit, *files_whose_footer(snapshot.store, asked, _Footers(metadata).is_unfit)]


def files_to_upgrade(snapshot: Snapshot, compat: IcebergCompat, adds: Sequence[Add]) -> list[Add]:
    """The files that REORG rewrites: as in delta-spark also files that fit, but have no tag.

    Where files have no tags, the footers tell.
    """
    if not compat.tags:
        return unfit_files(snapshot, snapshot.metadata, compat, adds)
    return [add for add in adds if not (compat.has_tag(add) and _is_clear(add))]


def check_files(snapshot: Snapshot, metadata: Metadata, compat: IcebergCompat) -> None:
    """Refuses a version of Iceberg compatibility that some files of the table do not have."""
    unfit = unfit_files(snapshot, metadata, compat)
    if unfit:
        raise TablePropertyError(
            f"{len(unfit)} of the files of the table cannot be read by Iceberg as they are, among "
            f"them {unfit[0].path}: they lack ids of columns, partition values or numbers of rows, "
            "or have deletion vectors",
            hint=f"run {compat.reorg}, which writes them anew and sets the properties",
            condition="DELTA_ICEBERG_COMPAT_VIOLATION.FILES_NOT_ICEBERG_COMPAT",
        )


def _is_clear(add: Add) -> bool:
    """As far as the log tells."""
    return add.deletion_vector is None and physical_records(add) is not None


class _Footers:
    """What the footers of a table's files must say."""

    def __init__(self, metadata: Metadata) -> None:
        schema = parse_schema(metadata.schema_string)
        mode = mapping_mode(metadata.configuration)
        self._schema = parquet_schema(physical_schema(schema, mode), with_field_ids=True)
        self._partitions = {
            physical_name(schema.field(each)) for each in metadata.partition_columns
        }

    def is_unfit(self, footer: pq.FileMetaData) -> bool:
        columns = footer.schema
        if any(columns.column(i).physical_type == "INT96" for i in range(len(columns))):
            return True
        stored = columns.to_arrow_schema()
        ids = _by_id(stored)
        missing = (each for each in self._schema if _id(each) not in ids)
        if any(each.name in self._partitions for each in missing):
            return True
        return _lacks_ids(self._schema, stored)


def _lacks_ids(wanted: Iterable[pa.Field], stored: Iterable[pa.Field]) -> bool:
    """A column that a file has not at all is null to everybody."""
    fields = list(stored)
    ids, names = _by_id(fields), {field.name for field in fields}
    for field in wanted:
        found = ids.get(_id(field))
        if found is None and field.name in names:
            return True
        if found is not None and _lacks_ids_inside(field.type, found.type):
            return True
    return False


def _lacks_ids_inside(wanted: pa.DataType, stored: pa.DataType) -> bool:
    if pa.types.is_struct(wanted) and pa.types.is_struct(stored):
        return _lacks_ids(_fields(wanted), _fields(stored))
    parts = list(zip(_parts(wanted), _parts(stored), strict=False))
    return any(
        (_id(one) is not None and _id(one) != _id(other)) or _lacks_ids_inside(one.type, other.type)
        for one, other in parts
    )


def _parts(kind: pa.DataType) -> list[pa.Field]:
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [kind.value_field]
    return []


def _fields(kind: pa.DataType) -> Iterator[pa.Field]:
    return (kind.field(place) for place in range(kind.num_fields))


def _by_id(fields: Iterable[pa.Field]) -> Mapping[bytes | None, pa.Field]:
    return {_id(field): field for field in fields if _id(field) is not None}


def _id(field: pa.Field) -> bytes | None:
    found: bytes | None = (field.metadata or {}).get(FIELD_ID.encode())
    return found
