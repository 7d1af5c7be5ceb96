"""Table schemas as values, and their JSON form (PROTOCOL: Schema Serialization Format).

Reading is lenient, as delta-spark is: a schema with two columns of one name is parsed. The rules
for schemas that are about to be written are in `spec.columns.schema_validation`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import orjson

from lakebed.errors import SchemaError

Path = tuple[str, ...]
CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
MAX_DEPTH = 64


class DataType:
    """A type of the protocol. `str()` gives it on one line; `to_json` as the log writes it."""

    def to_json(self) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class PrimitiveType(DataType):
    """A type without parts, known by its name. The geospatial types keep their parameters in it."""

    name: str

    @property
    def is_geospatial(self) -> bool:
        return _GEOSPATIAL.fullmatch(self.name) is not None

    def to_json(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name


STRING = PrimitiveType("string")
LONG = PrimitiveType("long")
INTEGER = PrimitiveType("integer")
SHORT = PrimitiveType("short")
BYTE = PrimitiveType("byte")
FLOAT = PrimitiveType("float")
DOUBLE = PrimitiveType("double")
BOOLEAN = PrimitiveType("boolean")
BINARY = PrimitiveType("binary")
DATE = PrimitiveType("date")
TIMESTAMP = PrimitiveType("timestamp")
TIMESTAMP_NTZ = PrimitiveType("timestamp_ntz")
VOID = PrimitiveType("void")
VARIANT = PrimitiveType("variant")


@dataclass(frozen=True)
class DecimalType(DataType):
    precision: int
    scale: int

    def __post_init__(self) -> None:
        if not (1 <= self.precision <= 38 and 0 <= self.scale <= self.precision):
            raise SchemaError(
                f"{self} is no type: the precision must be 1 to 38, the scale 0 to the precision"
            )

    def to_json(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True)
class ArrayType(DataType):
    element_type: DataType
    contains_null: bool = True

    def to_json(self) -> dict[str, Any]:
        return {
            "type": "array",
            "elementType": self.element_type.to_json(),
            "containsNull": self.contains_null,
        }

    def __str__(self) -> str:
        return f"array<{self.element_type}{_not_null(self.contains_null)}>"


@dataclass(frozen=True)
class MapType(DataType):
    key_type: DataType
    value_type: DataType
    value_contains_null: bool = True

    def to_json(self) -> dict[str, Any]:
        return {
            "type": "map",
            "keyType": self.key_type.to_json(),
            "valueType": self.value_type.to_json(),
            "valueContainsNull": self.value_contains_null,
        }

    def __str__(self) -> str:
        return f"map<{self.key_type}, {self.value_type}{_not_null(self.value_contains_null)}>"


@dataclass(frozen=True)
class UserDefinedType(DataType):
    """A Spark UDT: outside the protocol, but delta-spark writes it. Stored as its `sql_type`."""

    sql_type: DataType
    definition: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return dict(self.definition)

    def __str__(self) -> str:
        return f"udt<{self.sql_type}>"


@dataclass(frozen=True)
class StructField:
    """A column. `metadata` is kept as the log has it; `spec.columns.column_metadata` reads it."""

    name: str
    data_type: DataType
    nullable: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.data_type.to_json(),
            "nullable": self.nullable,
            "metadata": dict(self.metadata),
        }

    def with_metadata(self, changes: Mapping[str, Any]) -> StructField:
        """The field with keys set, or removed where the value is None."""
        merged = {**self.metadata, **changes}
        removed = {key for key, value in changes.items() if value is None}
        return replace(self, metadata={k: v for k, v in merged.items() if k not in removed})

    def __str__(self) -> str:
        return f"{quote_name(self.name)}: {self.data_type}{_not_null(self.nullable)}"


@dataclass(frozen=True)
class StructType(DataType):
    """The schema of a table, or a struct column. Names are found whatever their case."""

    fields: tuple[StructField, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(self.fields))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.fields)

    def find(self, name: str) -> StructField | None:
        return self._exact.get(name) or self._folded.get(name.lower())

    def field(self, name: str) -> StructField:
        found = self.find(name)
        if found is None:
            raise SchemaError(f"there is no column {name!r}", hint=f"the columns are: {self}")
        return found

    def to_json(self) -> dict[str, Any]:
        return {"type": "struct", "fields": [each.to_json() for each in self.fields]}

    def __iter__(self) -> Iterator[StructField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __bool__(self) -> bool:
        return True

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def __str__(self) -> str:
        return f"struct<{', '.join(map(str, self.fields))}>"

    @cached_property
    def _exact(self) -> dict[str, StructField]:
        return {each.name: each for each in reversed(self.fields)}

    @cached_property
    def _folded(self) -> dict[str, StructField]:
        return {each.name.lower(): each for each in reversed(self.fields)}


# --- JSON --------------------------------------------------------------------------------------


def parse_schema(schema_string: str) -> StructType:
    """The schema in a `metaData` action's `schemaString`."""
    try:
        raw = orjson.loads(schema_string)
    except orjson.JSONDecodeError as error:
        raise SchemaError(f"the schema is not valid JSON: {error}") from error
    parsed = parse_type(raw)
    if not isinstance(parsed, StructType):
        raise SchemaError(f"a table's schema must be a struct, not {parsed}")
    return parsed


def schema_to_json(schema: StructType) -> str:
    """The schema as Spark writes it into the log: compact, in Spark's order of keys."""
    try:
        return orjson.dumps(schema.to_json()).decode()
    except (TypeError, ValueError) as error:
        raise SchemaError(f"the schema cannot be written as JSON: {error}") from error


def parse_type(raw: Any, path: Path = (), depth: int = 0) -> DataType:
    """A type from its decoded JSON; `path` is where it stands, for error messages."""
    if depth > MAX_DEPTH:
        raise _broken(path, f"types are nested more than {MAX_DEPTH} deep")
    if isinstance(raw, str):
        return parse_primitive(raw, path)
    kind = raw.get("type") if isinstance(raw, dict) else None
    if kind == "struct":
        return _parse_struct(raw, path, depth)
    if kind == "array":
        element = parse_type(raw.get("elementType"), (*path, "element"), depth + 1)
        return ArrayType(element, _flag(raw, "containsNull", path))
    if kind == "map":
        key = parse_type(raw.get("keyType"), (*path, "key"), depth + 1)
        value = parse_type(raw.get("valueType"), (*path, "value"), depth + 1)
        return MapType(key, value, _flag(raw, "valueContainsNull", path))
    if kind == "udt":
        return UserDefinedType(parse_type(raw.get("sqlType"), path, depth + 1), raw)
    if isinstance(kind, str) and len(raw) == 1:
        # The protocol's own example spells a variant inside an array as an object.
        return parse_primitive(kind, path)
    raise _broken(path, f"not a type: {_excerpt(raw)}")


def parse_primitive(name: str, path: Path = ()) -> DataType:
    known = _PRIMITIVES.get(name)
    if known is not None:
        return known
    decimal = _DECIMAL.fullmatch(name)
    if decimal is not None:
        try:
            return DecimalType(int(decimal[1]), int(decimal[2]))
        except SchemaError as error:
            raise _broken(path, error.message) from error
    if _GEOSPATIAL.fullmatch(name):
        return PrimitiveType(name)
    if name == "string collate UTF8_BINARY":
        # Spark states the collation that strings have without one, where its client did.
        return STRING
    raise _broken(path, f"unknown type {name!r}")


# --- walking -----------------------------------------------------------------------------------


def walk(data_type: DataType, path: Path = ()) -> Iterator[tuple[Path, StructField]]:
    """Every struct field with its field path, outer before inner (PROTOCOL: Field Path)."""
    if isinstance(data_type, StructType):
        for each in data_type.fields:
            here = (*path, each.name)
            yield here, each
            yield from walk(each.data_type, here)
    else:
        for step, inner, _ in _parts(data_type):
            yield from walk(inner, (*path, step))


def walk_types(data_type: DataType) -> Iterator[DataType]:
    """The type and every type inside it."""
    yield data_type
    for _, inner, _ in _parts(data_type):
        yield from walk_types(inner)


def walk_structs(data_type: DataType, path: Path = ()) -> Iterator[tuple[Path, StructType]]:
    """Every struct with the field path that leads to it; the type itself has the path `()`."""
    if isinstance(data_type, StructType):
        yield path, data_type
    for step, inner, _ in _parts(data_type):
        yield from walk_structs(inner, (*path, step))


def transform(schema: StructType, change: Callable[[Path, StructField], StructField]) -> StructType:
    """The schema with `change` applied to every struct field, outer before inner.

    The path that `change` sees has the names as they were, whatever it renames.
    """
    return _transform_struct(schema, change, ())


def as_nullable(schema: StructType) -> StructType:
    """The schema with every field, element and map value nullable."""
    return StructType(
        tuple(replace(f, nullable=True, data_type=_relaxed(f.data_type)) for f in schema)
    )


def without_void(schema: StructType) -> StructType:
    """The schema of data files, which leave void columns out (PROTOCOL: Void Type)."""
    return StructType(
        tuple(
            replace(each, data_type=without_void(each.data_type))
            if isinstance(each.data_type, StructType)
            else each
            for each in schema.fields
            if each.data_type != VOID
        )
    )


def resolve(schema: StructType, path: Path) -> tuple[Path, StructField]:
    """The field at a field path given in any case, and the path as the schema spells it."""
    found = find_path(schema, path)
    if found is None:
        raise SchemaError(
            f"there is no column {render_path(path)!r}", hint=f"the columns are: {schema}"
        )
    return found


def find_path(data_type: DataType, path: Path) -> tuple[Path, StructField] | None:
    """What `resolve` gives, or None."""
    if not path:
        return None
    step, rest = path[0], path[1:]
    if isinstance(data_type, StructType):
        found = data_type.find(step)
        if found is None or not rest:
            return None if found is None else ((found.name,), found)
        return _under(found.name, find_path(found.data_type, rest))
    inner = {name: kind for name, kind, _ in _parts(data_type)}.get(step.lower())
    return None if inner is None else _under(step.lower(), find_path(inner, rest))


# --- rendering ---------------------------------------------------------------------------------


def quote_name(name: str) -> str:
    """The name as SQL takes it: in backticks unless it is a plain identifier."""
    return name if _IDENTIFIER.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def render_path(path: Path) -> str:
    return ".".join(map(quote_name, path))


def render_tree(data_type: DataType) -> str:
    """One line a column, nested columns below their parents."""
    return "\n".join(_tree_lines(data_type, " "))


def _tree_lines(data_type: DataType, indent: str) -> Iterator[str]:
    for name, inner, nullable in _parts(data_type):
        label = type(inner).__name__[:-4].lower() if _nested(inner) else str(inner)
        yield f"{indent}|-- {quote_name(name)}: {label}{_not_null(nullable)}"
        if _nested(inner):
            yield from _tree_lines(inner, f"{indent}|    ")


def _parts(data_type: DataType) -> list[tuple[str, DataType, bool]]:
    if isinstance(data_type, StructType):
        return [(each.name, each.data_type, each.nullable) for each in data_type.fields]
    if isinstance(data_type, ArrayType):
        return [("element", data_type.element_type, data_type.contains_null)]
    if isinstance(data_type, MapType):
        value = ("value", data_type.value_type, data_type.value_contains_null)
        return [("key", data_type.key_type, True), value]
    return []


def _nested(data_type: DataType) -> bool:
    return any(isinstance(inner, StructType) for inner in walk_types(data_type))


def _not_null(nullable: bool) -> str:
    return "" if nullable else " not null"


# --- helpers -----------------------------------------------------------------------------------

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,9})\s*,\s*(-?\d{1,9})\s*\)", re.ASCII)
_GEOSPATIAL = re.compile(r"(?:geometry|geography)(?:\(.*\))?")
_CHAR = re.compile(r"(?:char|varchar)\(\s*\d+\s*\)", re.ASCII)
_PRIMITIVES: Mapping[str, DataType] = {
    **{
        each.name: each
        for each in (
            STRING,
            LONG,
            INTEGER,
            SHORT,
            BYTE,
            FLOAT,
            DOUBLE,
            BOOLEAN,
            BINARY,
            DATE,
            TIMESTAMP,
            TIMESTAMP_NTZ,
            VOID,
            VARIANT,
        )
    },
    # Spellings that Spark reads too: its own of earlier versions, and its default decimal.
    "null": VOID,
    "timestamp_ltz": TIMESTAMP,
    "decimal": DecimalType(10, 0),
}


def _parse_struct(raw: dict[str, Any], path: Path, depth: int) -> StructType:
    fields = raw.get("fields")
    if not isinstance(fields, list):
        raise _broken(path, "a struct without a list of fields")
    return StructType(tuple(_parse_field(each, path, depth + 1) for each in fields))


def _parse_field(raw: Any, path: Path, depth: int) -> StructField:
    name = raw.get("name") if isinstance(raw, dict) else None
    if not isinstance(name, str):
        raise _broken(path, f"a field without a name: {_excerpt(raw)}")
    here = (*path, name)
    metadata = raw.get("metadata")
    if not isinstance(metadata, dict | None):
        raise _broken(here, "the metadata is not an object")
    kind, metadata = raw.get("type"), metadata or {}
    if isinstance(kind, str) and _CHAR.fullmatch(kind):
        # Spark reads such a type, but stores it as a string with its limit in the metadata.
        kind, metadata = "string", {CHAR_VARCHAR: kind, **metadata}
    return StructField(name, parse_type(kind, here, depth), _flag(raw, "nullable", here), metadata)


def _flag(raw: dict[str, Any], name: str, path: Path) -> bool:
    value = raw.get(name, True)
    if not isinstance(value, bool):
        raise _broken(path, f"{name} is not a boolean")
    return value


def _broken(path: Path, message: str) -> SchemaError:
    where = f" at {render_path(path)}" if path else ""
    return SchemaError(f"the schema is not valid{where}: {message}")


def _excerpt(raw: Any) -> str:
    text = repr(raw)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _transform_struct(
    schema: StructType, change: Callable[[Path, StructField], StructField], path: Path
) -> StructType:
    fields = []
    for each in schema.fields:
        new = change((*path, each.name), each)
        inner = _transform_inside(new.data_type, change, (*path, each.name))
        fields.append(new if inner is new.data_type else replace(new, data_type=inner))
    return StructType(tuple(fields))


def _transform_inside(
    data_type: DataType, change: Callable[[Path, StructField], StructField], path: Path
) -> DataType:
    if isinstance(data_type, StructType):
        return _transform_struct(data_type, change, path)
    if isinstance(data_type, ArrayType):
        element = _transform_inside(data_type.element_type, change, (*path, "element"))
        return replace(data_type, element_type=element)
    if isinstance(data_type, MapType):
        key = _transform_inside(data_type.key_type, change, (*path, "key"))
        value = _transform_inside(data_type.value_type, change, (*path, "value"))
        return replace(data_type, key_type=key, value_type=value)
    return data_type


def _relaxed(data_type: DataType) -> DataType:
    if isinstance(data_type, StructType):
        return as_nullable(data_type)
    if isinstance(data_type, ArrayType):
        return ArrayType(_relaxed(data_type.element_type), True)
    if isinstance(data_type, MapType):
        return MapType(_relaxed(data_type.key_type), _relaxed(data_type.value_type), True)
    return data_type


def _under(name: str, found: tuple[Path, StructField] | None) -> tuple[Path, StructField] | None:
    return None if found is None else ((name, *found[0]), found[1])
