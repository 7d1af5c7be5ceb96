"""Columns under names of their own in the files (PROTOCOL: Column Mapping).

The mode counts only on tables whose protocol supports the `columnMapping` feature; asking the
protocol is the caller's part.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, cast

from lakebed.errors import SchemaError
from lakebed.spec.schema import (
    ArrayType,
    DataType,
    MapType,
    Path,
    StructField,
    StructType,
    find_path,
    render_path,
    resolve,
    transform,
    walk,
)

Mode = Literal["none", "name", "id"]

MODE = "delta.columnMapping.mode"
MAX_COLUMN_ID = "delta.columnMapping.maxColumnId"
COLUMN_ID = "delta.columnMapping.id"
PHYSICAL_NAME = "delta.columnMapping.physicalName"
NESTED_IDS = "delta.columnMapping.nested.ids"
METADATA_KEYS = (
    COLUMN_ID,
    PHYSICAL_NAME,
    NESTED_IDS,
    "parquet.field.id",
    "parquet.field.nested.ids",
)


def mapping_mode(configuration: Mapping[str, str]) -> Mode:
    mode = configuration.get(MODE, "none").lower()
    if mode not in ("none", "name", "id"):
        raise SchemaError(f"{MODE} is {mode!r}", hint="it can be none, name or id")
    return cast(Mode, mode)


# --- reading -----------------------------------------------------------------------------------


def physical_name(field: StructField) -> str:
    """The name in data files, partition values and statistics; the display name if not mapped."""
    name = field.metadata.get(PHYSICAL_NAME, field.name)
    if not isinstance(name, str) or not name:
        raise SchemaError(f"column {field.name!r}: {PHYSICAL_NAME} must be text, not {name!r}")
    return name


def column_id(field: StructField) -> int | None:
    return None if COLUMN_ID not in field.metadata else _valid_id(field, field.metadata[COLUMN_ID])


def nested_ids(field: StructField) -> dict[str, int]:
    """Ids of array elements, map keys and map values inside the field, by dotted path."""
    raw = field.metadata.get(NESTED_IDS, {})
    if not isinstance(raw, dict):
        raise SchemaError(f"column {field.name!r}: {NESTED_IDS} must be an object, not {raw!r}")
    return {path: _valid_id(field, value) for path, value in raw.items()}


def missing_nested_ids(field: StructField) -> bool:
    """Whether an array or a map in the field, not inside a struct of it, has no ids of its own."""
    known = nested_ids(field)
    return any(path not in known for path in _nested_paths(field.data_type, physical_name(field)))


def physical_schema(schema: StructType, mode: str) -> StructType:
    """The schema of the data files: the same columns, at every depth by their physical names."""
    if mode == "none":
        return schema
    return transform(schema, lambda path, field: _physical_field(path, field, mode))


def physical_path(schema: StructType, logical_path: Path, mode: str = "name") -> Path:
    """The path of a column in the data files, given its field path in any case."""
    path, _ = resolve(schema, logical_path)
    return path if mode == "none" else tuple(_physical_steps(schema, path))


def logical_path(schema: StructType, path: Path, mode: str = "name") -> Path:
    """The field path of the column that has the given physical path."""
    stored = walk(physical_schema(schema, mode))
    for (logical, _), (physical, _) in zip(walk(schema), stored, strict=True):
        if physical == path:
            return logical
    raise SchemaError(f"no column is stored as {render_path(path)}")


# --- writing -----------------------------------------------------------------------------------


def assign_column_mapping(
    schema: StructType,
    configuration: Mapping[str, str],
    *,
    keep_names: bool = False,
    reuse: StructType | None = None,
) -> tuple[StructType, dict[str, str]]:
    """Gives every column that lacks them an id and a physical name, and moves the highest id.

    `keep_names` is for the switch of a table that has files from mode `none` to `name`: its columns
    go on under their display names. `reuse` is the schema that an overwrite replaces: columns of
    the same path and type keep what they had.
    """
    if mapping_mode(configuration) == "none":
        return schema, dict(configuration)
    ids = _Ids(max_column_id(schema, configuration))
    if reuse is not None:
        ids.last = max(ids.last, max_column_id(reuse, {}))
        schema = transform(schema, lambda path, field: _reused(path, field, reuse))
    schema = transform(schema, lambda _, field: _assigned(field, ids, keep_names))
    if any(configuration.get(each, "").lower() == "true" for each in _NEEDS_NESTED_IDS):
        schema = transform(schema, lambda _, field: _with_nested_ids(field, ids))
    return schema, {**configuration, MAX_COLUMN_ID: str(ids.last)}


def max_column_id(schema: StructType, configuration: Mapping[str, str]) -> int:
    """The highest id ever given out: ids of dropped columns live on in the property."""
    return max(_recorded_max(configuration), max(_ids(schema), default=0))


def strip(schema: StructType) -> StructType:
    """The schema without any trace of column mapping."""
    return transform(schema, lambda _, field: field.with_metadata(dict.fromkeys(METADATA_KEYS)))


def has_mapping(schema: StructType) -> bool:
    return any(key in field.metadata for _, field in walk(schema) for key in METADATA_KEYS)


def check_assigned(schema: StructType, configuration: Mapping[str, str]) -> None:
    """Refuses to commit a mapped schema with gaps, doubles, or ids above the property."""
    if mapping_mode(configuration) == "none":
        return
    _check_doubles([str(each) for each in _ids(schema)], "id")
    paths = [path for path, _ in walk(physical_schema(schema, "id"))]
    _check_doubles([render_path(path) for path in paths], "physical name")
    highest = max(_ids(schema), default=0)
    if MAX_COLUMN_ID not in configuration or _recorded_max(configuration) < highest:
        raise SchemaError(
            f"{MAX_COLUMN_ID} is {configuration.get(MAX_COLUMN_ID)}, but a column has id {highest}"
        )


def check_mode_change(before: str, after: str) -> None:
    """Only a new table may choose freely; a table with files can go from `none` to `name`."""
    if before != after and (before, after) != ("none", "name"):
        raise SchemaError(
            f"{MODE} cannot change from {before} to {after} on an existing table",
            hint="only the change from none to name is possible; or create a new table",
            condition="DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE",
        )


# --- helpers -----------------------------------------------------------------------------------

_NEEDS_NESTED_IDS = ("delta.enableIcebergCompatV2", "delta.enableIcebergCompatV3")


class _Ids:
    def __init__(self, last: int) -> None:
        self.last = last

    def next(self) -> int:
        self.last += 1
        return self.last


def _recorded_max(configuration: Mapping[str, str]) -> int:
    text = configuration.get(MAX_COLUMN_ID, "0")
    if not (text.isascii() and text.isdigit()):
        raise SchemaError(f"{MAX_COLUMN_ID} must be a whole number, not {text!r}")
    return int(text)


def _valid_id(field: StructField, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise SchemaError(f"column {field.name!r}: {value!r} is not a column id")
    return value


def _ids(schema: StructType) -> Iterator[int]:
    for _, field in walk(schema):
        own = column_id(field)
        if own is not None:
            yield own
        yield from nested_ids(field).values()


def _physical_field(path: Path, field: StructField, mode: str) -> StructField:
    if PHYSICAL_NAME not in field.metadata:
        raise SchemaError(f"column {render_path(path)} has no {PHYSICAL_NAME}, in mode {mode}")
    if mode == "id" and column_id(field) is None:
        raise SchemaError(f"column {render_path(path)} has no {COLUMN_ID}, in mode id")
    return replace(field, name=physical_name(field))


def _physical_steps(schema: StructType, path: Path) -> Iterator[str]:
    here: DataType = schema
    for step in path:
        if isinstance(here, StructType):
            field = here.field(step)
            yield physical_name(field)
            here = field.data_type
        else:
            yield step
            here = _inside(here, step)


def _inside(data_type: DataType, step: str) -> DataType:
    if isinstance(data_type, ArrayType):
        return data_type.element_type
    if isinstance(data_type, MapType):
        return data_type.key_type if step == "key" else data_type.value_type
    return data_type


def _assigned(field: StructField, ids: _Ids, keep_names: bool) -> StructField:
    new: dict[str, Any] = {}
    if COLUMN_ID not in field.metadata:
        new[COLUMN_ID] = ids.next()
    if PHYSICAL_NAME not in field.metadata:
        new[PHYSICAL_NAME] = field.name if keep_names else f"col-{uuid.uuid4()}"
    return field.with_metadata(new)


def _reused(path: Path, field: StructField, before: StructType) -> StructField:
    old = find_path(before, path)
    if old is None or COLUMN_ID in field.metadata:
        return field
    if _shape(old[1].data_type) != _shape(field.data_type):
        return field
    return field.with_metadata({key: old[1].metadata.get(key) for key in METADATA_KEYS[:3]})


def _shape(data_type: DataType) -> DataType:
    """The type without what may differ between two versions of one column."""
    if isinstance(data_type, StructType):
        return StructType(
            tuple(StructField(f.name.lower(), _shape(f.data_type)) for f in data_type)
        )
    if isinstance(data_type, ArrayType):
        return ArrayType(_shape(data_type.element_type))
    if isinstance(data_type, MapType):
        return MapType(_shape(data_type.key_type), _shape(data_type.value_type))
    return data_type


def _with_nested_ids(field: StructField, ids: _Ids) -> StructField:
    known = nested_ids(field)
    wanted = _nested_paths(field.data_type, physical_name(field))
    new = {path: known[path] if path in known else ids.next() for path in wanted}
    return field.with_metadata({NESTED_IDS: new}) if new else field


def _nested_paths(data_type: DataType, path: str) -> Iterator[str]:
    if isinstance(data_type, ArrayType):
        yield f"{path}.element"
        yield from _nested_paths(data_type.element_type, f"{path}.element")
    elif isinstance(data_type, MapType):
        yield f"{path}.key"
        yield from _nested_paths(data_type.key_type, f"{path}.key")
        yield f"{path}.value"
        yield from _nested_paths(data_type.value_type, f"{path}.value")


def _check_doubles(values: list[str], what: str) -> None:
    double = [value for value, count in Counter(values).items() if count > 1]
    if double:
        raise SchemaError(f"two columns have one {what}: {', '.join(sorted(double))}")
