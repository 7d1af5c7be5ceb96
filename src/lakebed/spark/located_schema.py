"""Columns of a catalog's entry that say where the table is.

Spark tells a Python data source neither the name nor the location of a table of its catalog, only
its columns, with their notes. So each column has the location in its notes, and Lakebed's data
source finds the table on the server alone: in views and functions, and where no client looks.
"""

from __future__ import annotations

from dataclasses import replace

from lakebed.errors import InvalidArgumentError, SchemaMismatchError, StorageUrlError
from lakebed.spark.location import as_url
from lakebed.spark.types import visible_schema
from lakebed.spec.schema import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    UserDefinedType,
    as_nullable,
    transform,
)
from lakebed.storage.locations import parse_location

LOCATION = "__lakebed_location"
"""Spark shows it to nobody, and writers drop notes whose names begin like this."""


def located(schema: StructType, location: str) -> StructType:
    """As a catalog is given it, on every column: any of them may be dropped one day."""
    shown = transform(visible_schema(schema), lambda _, field: _plain(field))
    url = _url(location)
    if url is None:
        return shown
    return StructType(tuple(each.with_metadata({LOCATION: url}) for each in shown.fields))


def location_of(schema: StructType) -> str | None:
    found = (field.metadata.get(LOCATION) for field in schema.fields)
    return next((str(each) for each in found if each is not None), None)


def same_columns(entry: StructType, table: StructType) -> bool:
    return _columns(entry) == _columns(located(table, ""))


def check_columns(entry: StructType, table: StructType, url: str) -> None:
    """Rows of other columns than those that Spark has planned with would be wrong ones."""
    if not same_columns(entry, table):
        raise SchemaMismatchError(
            f"the catalog has other columns than the table at {url}, which has changed since",
            hint="REFRESH TABLE with the name of the table tells the catalog",
        )


def _columns(schema: StructType) -> list[tuple[str, DataType]]:
    bare = transform(as_nullable(schema), lambda _, field: replace(field, metadata={}))
    return [(field.name, field.data_type) for field in bare.fields]


def _plain(field: StructField) -> StructField:
    return replace(field, data_type=_without_classes(field.data_type))


def _without_classes(data_type: DataType) -> DataType:
    """A type of users as what is stored of it: the server need not have its class."""
    if isinstance(data_type, UserDefinedType):
        return _without_classes(data_type.sql_type)
    if isinstance(data_type, ArrayType):
        return replace(data_type, element_type=_without_classes(data_type.element_type))
    if isinstance(data_type, MapType):
        key, value = _without_classes(data_type.key_type), _without_classes(data_type.value_type)
        return replace(data_type, key_type=key, value_type=value)
    return data_type


def _url(location: str) -> str | None:
    """None for what no store of Lakebed's can open: such a table is not read by it either."""
    if not location:
        return None
    try:
        return parse_location(as_url(location)).url
    except (InvalidArgumentError, StorageUrlError):
        return None
