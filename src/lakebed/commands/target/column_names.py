"""Names of columns as users give them, and as the history shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from lakebed.errors import InvalidArgumentError
from lakebed.spec.columns.schema_edits import Position
from lakebed.spec.properties import TableProperties, parse_column_list
from lakebed.spec.schema import (
    ArrayType,
    DataType,
    MapType,
    Path,
    StructField,
    StructType,
    render_path,
)

ColumnName = str | Sequence[str]
STATS_COLUMNS = TableProperties.data_skipping_stats_columns.key


def to_path(name: Any) -> Path:
    """A dotted name such as `address.city` as a path; parts with dots need backticks.

    A sequence of names is the path itself.
    """
    if isinstance(name, Sequence) and not isinstance(name, str) and name:
        if all(isinstance(part, str) and part for part in name):
            return tuple(name)
    elif isinstance(name, str) and name.strip():
        try:
            paths = parse_column_list(name)
        except ValueError as error:
            raise _no_name(name, str(error)) from error
        if len(paths) == 1:
            return paths[0]
    raise _no_name(name, "it must be one name")


def to_position(first: Any, after: Any) -> Position:
    if not isinstance(first, bool) or not isinstance(after, str | None):
        raise InvalidArgumentError(
            f"first={first!r} and after={after!r} are not a position",
            hint="give first=True, or after= and the name of a column beside it",
        )
    if first and after is not None:
        raise InvalidArgumentError("give first or after, not both")
    if after is None:
        return Position(first)
    return Position(after=to_path(after)[-1])


def described(parent: Path, field: StructField) -> dict[str, Any]:
    """A column as delta-spark's history shows it."""
    return {
        "name": ".".join((*parent, field.name)),
        "type": type_name(field.data_type),
        "nullable": field.nullable,
        "metadata": dict(field.metadata),
    }


def type_name(data_type: DataType) -> str:
    """The name without its parts, as Spark's `typeName` gives it."""
    if isinstance(data_type, StructType):
        return "struct"
    if isinstance(data_type, ArrayType):
        return "array"
    return "map" if isinstance(data_type, MapType) else str(data_type)


def as_json(value: Any) -> str:
    return orjson.dumps(value).decode()


def starts_with(path: Path, start: Path) -> bool:
    """Whether a path leads to, or into, the column at `start`."""
    same = zip(path, start, strict=False)
    return len(path) >= len(start) and all(a.lower() == b.lower() for a, b in same)


def render_list(paths: Sequence[Path]) -> str:
    """The paths as `delta.dataSkippingStatsColumns` has them."""
    return ",".join(render_path(path) for path in paths)


def _no_name(name: Any, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{name!r} does not name a column: {why}",
        hint="give a name such as price or address.city; put backticks around unusual names",
    )
