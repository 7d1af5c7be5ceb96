"""SQL type names such as `bigint` or `array<varchar(10)>`, as column metadata holds them.

`delta.typeChanges` (PROTOCOL: Type Change Metadata) and Spark's char/varchar metadata hold types as
strings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lakebed.errors import SchemaError
from lakebed.spec.schema import (
    BYTE,
    FLOAT,
    INTEGER,
    LONG,
    MAX_DEPTH,
    SHORT,
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    parse_primitive,
)


def parse_sql_type(text: str) -> DataType:
    """The type; `char(n)` and `varchar(n)` become primitive types of that name."""
    reader = _Reader(text)
    parsed = reader.data_type(0)
    reader.end()
    return parsed


_SYNONYMS: Mapping[str, DataType] = {
    "tinyint": BYTE,
    "smallint": SHORT,
    "int": INTEGER,
    "bigint": LONG,
    "real": FLOAT,
    "dec": parse_primitive("decimal"),
    "numeric": parse_primitive("decimal"),
}
_BLANK = re.compile(r"\s*")
_WORD = re.compile(r"[a-z_]+", re.IGNORECASE)
_PARAMETERS = re.compile(r"\s*\(([^()]*)\)")
_NAME = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^:,<>`\s]+))\s*:?")
_NOT_NULL = re.compile(r"\s*not\s+null\b", re.IGNORECASE)
_COLLATION = re.compile(r"\s+collate\s+(\w+)", re.IGNORECASE)
_LENGTH = re.compile(r"\s*(\d+)\s*", re.ASCII)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def data_type(self, depth: int) -> DataType:
        word = self.take(_WORD)
        if word is None or depth > MAX_DEPTH:
            raise self.broken("expected the name of a type")
        name = word[0].lower()
        if name == "array" and self.skip("<"):
            element = self.data_type(depth + 1)
            return self.closed(ArrayType(element))
        if name == "map" and self.skip("<"):
            key = self.data_type(depth + 1)
            self.expect(",")
            return self.closed(MapType(key, self.data_type(depth + 1)))
        if name == "struct" and self.skip("<"):
            return self.struct(depth)
        return self.primitive(name)

    def struct(self, depth: int) -> DataType:
        fields: list[StructField] = []
        while not self.skip(">"):
            if fields:
                self.expect(",")
            name = self.take(_NAME)
            if name is None:
                raise self.broken("expected the name of a field")
            kind = self.data_type(depth + 1)
            plain = name[2] if name[1] is None else name[1].replace("``", "`")
            fields.append(StructField(plain, kind, self.take(_NOT_NULL) is None))
        return StructType(tuple(fields))

    def primitive(self, name: str) -> DataType:
        collation = self.take(_COLLATION)
        if collation is not None:
            return parse_primitive(f"{name} collate {collation[1].upper()}")
        parameters = self.take(_PARAMETERS)
        if parameters is None:
            return _SYNONYMS.get(name) or parse_primitive(name)
        length = _LENGTH.fullmatch(parameters[1])
        if name in ("char", "varchar") and length is not None:
            return PrimitiveType(f"{name}({length[1]})")
        if name in ("decimal", "dec", "numeric"):
            scale = "" if "," in parameters[1] else ",0"
            return parse_primitive(f"decimal({parameters[1]}{scale})")
        return parse_primitive(f"{name}{parameters[0].strip()}")

    def closed(self, parsed: DataType) -> DataType:
        self.expect(">")
        return parsed

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        if pattern is _WORD:
            self.take(_BLANK)
        found = pattern.match(self.text, self.position)
        if found is not None:
            self.position = found.end()
        return found

    def skip(self, mark: str) -> bool:
        self.take(_BLANK)
        found = self.text.startswith(mark, self.position)
        self.position += len(mark) if found else 0
        return found

    def expect(self, mark: str) -> None:
        if not self.skip(mark):
            raise self.broken(f"expected {mark!r}")

    def end(self) -> None:
        self.take(_BLANK)
        if self.position != len(self.text):
            raise self.broken("expected the end")

    def broken(self, message: str) -> SchemaError:
        return SchemaError(f"not a type: {self.text!r}: {message} at position {self.position}")
