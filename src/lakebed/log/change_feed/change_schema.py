"""Whether the changes of one version can be read with the schema of another.

All changes of a range have one schema, that of a later version. As in delta-spark only columns that
were added in between are fine: rows from before have null there. A column that was dropped,
renamed or given another type since would be lost, or be read as something that it is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lakebed.errors import SchemaError
from lakebed.spec.actions import Metadata
from lakebed.spec.columns.column_mapping import mapping_mode, physical_name
from lakebed.spec.schema import (
    VOID,
    ArrayType,
    DataType,
    MapType,
    Path,
    StructField,
    StructType,
    parse_schema,
    render_path,
)


@dataclass(frozen=True)
class MetadataAt:
    """The metadata of a table from `version` on."""

    version: int
    metadata: Metadata


def choose_metadata(known: Sequence[MetadataAt], latest: MetadataAt, end: int) -> Metadata:
    """The metadata to read all changes with.

    `known` is what held in the range, oldest first and never empty; `latest` is the table's now.
    Tables with column mapping are read as they were at the end of the range, others as they are
    now. Where that is impossible because of a change after the range, delta-spark refuses; here
    the range is read as it was at its end.
    """
    ending = known[-1]
    is_mapped = any(_mode(each.metadata) != "none" for each in (known[0], ending, latest))
    if not is_mapped and not any(_problem(each, latest) for each in known):
        return latest.metadata
    for index, each in enumerate(known):
        if _problem(each, ending) is not None:
            raise _refusal(each, known[index + 1 :], end)
    return ending.metadata


def schema_of(metadata: Metadata) -> StructType:
    return parse_schema(metadata.schema_string) if metadata.schema_string else StructType(())


def _refusal(start: MetadataAt, later: Sequence[MetadataAt], end: int) -> SchemaError:
    """Names the first version whose schema does not fit the files of `start`."""
    problems = ((each.version, _problem(start, each)) for each in later)
    version, problem = next(found for found in problems if found[1] is not None)
    return SchemaError(
        f"the changes up to version {end} cannot be read together: in version {version} {problem}",
        hint=f"read the changes before version {version} and those from it on apart",
    )


def _problem(older: MetadataAt, newer: MetadataAt) -> str | None:
    """What keeps files of the older version from being read with the newer schema."""
    if older.metadata == newer.metadata:
        return None
    return next(_problems(older.metadata, newer.metadata), None)


def _problems(older: Metadata, newer: Metadata) -> Iterator[str]:
    before, after = _mode(older), _mode(newer)
    if before not in ("none", after):
        yield f"the column mapping changed from {before} to {after}"
    comparison = _Comparison(before != "none", after != "none")
    old_schema, new_schema = schema_of(older), schema_of(newer)
    yield from comparison.structs(old_schema, new_schema, ())
    partitions = comparison.names(old_schema, older, old=True)
    if partitions != comparison.names(new_schema, newer, old=False):
        yield (
            f"the partition columns changed from ({', '.join(older.partition_columns)}) to "
            f"({', '.join(newer.partition_columns)})"
        )


@dataclass(frozen=True)
class _Comparison:
    """Columns are the same if data files have them under the same name."""

    old_mapped: bool
    new_mapped: bool

    def names(self, schema: StructType, metadata: Metadata, *, old: bool) -> list[str]:
        fields = (schema.field(name) for name in metadata.partition_columns)
        return [self._key(field, old=old) for field in fields]

    def structs(self, old: StructType, new: StructType, path: Path) -> Iterator[str]:
        by_key = {self._key(field, old=False): field for field in new.fields}
        for field in old.fields:
            here = (*path, field.name)
            found = by_key.get(self._key(field, old=True))
            if found is None:
                yield f"the column {render_path(here)} was dropped"
            elif found.name != field.name:
                yield f"the column {render_path(here)} was renamed to {found.name}"
            else:
                yield from self._nullability(field.nullable, found.nullable, here)
                yield from self._types(field.data_type, found.data_type, here)

    def _key(self, field: StructField, *, old: bool) -> str:
        is_mapped = self.old_mapped if old else self.new_mapped
        name = physical_name(field) if is_mapped else field.name
        return name if self.new_mapped else name.lower()

    def _types(self, old: DataType, new: DataType, path: Path) -> Iterator[str]:
        if isinstance(old, StructType) and isinstance(new, StructType):
            yield from self.structs(old, new, path)
        elif isinstance(old, ArrayType) and isinstance(new, ArrayType):
            yield from self._nullability(old.contains_null, new.contains_null, path)
            yield from self._types(old.element_type, new.element_type, (*path, "element"))
        elif isinstance(old, MapType) and isinstance(new, MapType):
            yield from self._nullability(old.value_contains_null, new.value_contains_null, path)
            yield from self._types(old.key_type, new.key_type, (*path, "key"))
            yield from self._types(old.value_type, new.value_type, (*path, "value"))
        elif old not in (new, VOID):
            yield f"the column {render_path(path)} changed its type from {old} to {new}"

    def _nullability(self, old: bool, new: bool, path: Path) -> Iterator[str]:
        if old and not new:
            yield f"the column {render_path(path)} stopped taking nulls"


def _mode(metadata: Metadata) -> str:
    return mapping_mode(metadata.configuration)
