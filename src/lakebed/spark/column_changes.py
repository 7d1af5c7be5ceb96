"""How ALTER TABLE makes the columns of a catalog's entry those of its table."""

from __future__ import annotations

from collections.abc import Iterator

from lakebed.spark.located_schema import LOCATION
from lakebed.spark.sql_text import column_text, quoted, type_text
from lakebed.spec.schema import StructField, StructType


def keeps_location(entry: StructType, table: StructType) -> bool:
    """Whether a column that stays has the location, which no SQL can give to new ones."""
    return any(LOCATION in field.metadata for field in _kept(entry, table))


def column_changes(entry: StructType, table: StructType) -> Iterator[str]:
    """What follows ALTER TABLE and the name, one change after the other."""
    kept = _kept(entry, table)
    gone = [quoted(field.name) for field in entry.fields if field not in kept]
    if gone:
        yield f"DROP COLUMNS ({', '.join(gone)})"
    names = [field.name for field in kept]
    for place, field in enumerate(table.fields):
        position = "FIRST" if place == 0 else f"AFTER {quoted(table.fields[place - 1].name)}"
        if field.name not in names:
            names.insert(place, field.name)
            yield f"ADD COLUMNS ({column_text(field)} {position})"
        elif names[place] != field.name:
            names.remove(field.name)
            names.insert(place, field.name)
            yield f"ALTER COLUMN {quoted(field.name)} {position}"


def _kept(entry: StructType, table: StructType) -> list[StructField]:
    wanted = {field.name: type_text(field.data_type) for field in table.fields}
    return [each for each in entry.fields if wanted.get(each.name) == type_text(each.data_type)]
