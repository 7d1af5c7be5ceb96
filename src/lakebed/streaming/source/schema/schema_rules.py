"""Which changes of a schema a stream may pass, as delta-spark decides it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lakebed.spec.actions import Metadata
from lakebed.spec.columns.column_mapping import PHYSICAL_NAME, mapping_mode, physical_name
from lakebed.spec.columns.type_widening import can_widen
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
    transform,
    walk,
)


def schema_of(metadata: Metadata) -> StructType:
    return parse_schema(metadata.schema_string) if metadata.schema_string else StructType(())


@dataclass(frozen=True)
class Compatibility:
    """Whether files of one schema can be read with another.

    `allows_missing`: columns that files have may be left out. `widens`: types may become wider.
    """

    allows_missing: bool = False
    widens: bool = False

    def holds(self, stored: StructType, read: StructType) -> bool:
        """Columns that only `read` has are fine: they are null. No null may be lost."""
        names = {field.name.lower() for field in read.fields}
        if not self.allows_missing and any(f.name.lower() not in names for f in stored.fields):
            return False
        found = ((stored.find(field.name), field) for field in read.fields)
        return all(each is None or self._field(each, field) for each, field in found)

    def _field(self, stored: StructField, read: StructField) -> bool:
        is_read = read.nullable or not stored.nullable
        return stored.name == read.name and is_read and self._type(stored.data_type, read.data_type)

    def _type(self, stored: DataType, read: DataType) -> bool:
        if isinstance(stored, StructType) and isinstance(read, StructType):
            return self.holds(stored, read)
        if isinstance(stored, ArrayType) and isinstance(read, ArrayType):
            is_read = read.contains_null or not stored.contains_null
            return is_read and self._type(stored.element_type, read.element_type)
        if isinstance(stored, MapType) and isinstance(read, MapType):
            is_read = read.value_contains_null or not stored.value_contains_null
            keys = self._type(stored.key_type, read.key_type)
            return is_read and keys and self._type(stored.value_type, read.value_type)
        return stored in (VOID, read) or (self.widens and can_widen(stored, read))


@dataclass(frozen=True)
class ColumnChanges:
    """What cannot be undone by reading more columns. Columns are compared by physical names."""

    renamed: tuple[tuple[Path, Path], ...] = ()
    dropped: tuple[Path, ...] = ()
    widened: tuple[tuple[Path, DataType, DataType], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.renamed or self.dropped or self.widened)

    def __str__(self) -> str:
        return "; ".join(
            (
                *(f"{render_path(a)} was renamed to {render_path(b)}" for a, b in self.renamed),
                *(f"{render_path(path)} was dropped" for path in self.dropped),
                *(f"{render_path(p)} was widened from {a} to {b}" for p, a, b in self.widened),
            )
        )


def column_changes(old: StructType, new: StructType) -> ColumnChanges:
    before, after = _by_physical_path(old), _by_physical_path(new)
    both = [(path, before[path], after[path]) for path in before if path in after]
    return ColumnChanges(
        tuple((one, other) for _, (one, _), (other, _) in both if one[-1] != other[-1]),
        tuple(logical for path, (logical, _) in before.items() if path not in after),
        tuple(_widened(both)),
    )


def has_mapping_changes(old: Metadata, new: Metadata) -> bool:
    """Whether columns were renamed or dropped, partitions changed, or column mapping went."""
    before, after = (mapping_mode(each.configuration) for each in (old, new))
    if after == "none":
        return before != "none"
    changes = column_changes(schema_of(old), schema_of(new))
    if changes.renamed or changes.dropped:
        return True
    return old.partition_columns != new.partition_columns


def partition_schema(metadata: Metadata) -> StructType:
    schema = schema_of(metadata)
    return StructType(tuple(schema.field(name) for name in metadata.partition_columns))


def has_changed(old: Metadata, new: Metadata) -> bool:
    """Whether a stream that keeps track of the schema has to take a change up."""
    return (
        _compared(schema_of(old)) != _compared(schema_of(new))
        or partition_schema(old) != partition_schema(new)
        or _own_properties(old) != _own_properties(new)
    )


def physical(schema: StructType) -> StructType:
    """By physical names, as far as the columns have any."""
    return transform(schema, lambda _, field: replace(field, name=_physical_name(field)))


_INTERNAL = (
    "delta.generationExpression",
    "delta.identity.allowExplicitInsert",
    "delta.identity.highWaterMark",
    "delta.identity.start",
    "delta.identity.step",
)


def _physical_name(field: StructField) -> str:
    return physical_name(field) if PHYSICAL_NAME in field.metadata else field.name


def _by_physical_path(schema: StructType) -> dict[Path, tuple[Path, StructField]]:
    stored = walk(physical(schema))
    return {path: each for each, (path, _) in zip(walk(schema), stored, strict=True)}


_Pair = tuple[Path, tuple[Path, StructField], tuple[Path, StructField]]


def _widened(both: Sequence[_Pair]) -> list[tuple[Path, DataType, DataType]]:
    found = []
    for _, (_, one), (logical, other) in both:
        for path, before, after in _leaves(one.data_type, other.data_type, logical):
            if before != after and can_widen(before, after):
                found.append((path, before, after))
    return found


def _leaves(old: DataType, new: DataType, path: Path) -> list[tuple[Path, DataType, DataType]]:
    """Types at the same place, down to structs, whose fields have paths of their own."""
    if isinstance(old, StructType) or isinstance(new, StructType):
        return []
    if isinstance(old, ArrayType) and isinstance(new, ArrayType):
        return _leaves(old.element_type, new.element_type, (*path, "element"))
    if isinstance(old, MapType) and isinstance(new, MapType):
        keys = _leaves(old.key_type, new.key_type, (*path, "key"))
        return keys + _leaves(old.value_type, new.value_type, (*path, "value"))
    return [(path, old, new)]


def _compared(schema: StructType) -> StructType:
    """Without what only writers need."""

    def plain(_: Path, field: StructField) -> StructField:
        kept = {key: value for key, value in field.metadata.items() if key not in _INTERNAL}
        return replace(field, metadata=kept)

    return transform(schema, plain)


def _own_properties(metadata: Metadata) -> dict[str, str]:
    return {k: v for k, v in metadata.configuration.items() if k.startswith("delta.")}
