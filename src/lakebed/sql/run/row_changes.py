"""Columns that MERGE assigns."""

from __future__ import annotations

from collections.abc import Sequence

from lakebed.spec.column_metadata import current_default
from lakebed.spec.schema import StructType
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.row_changes import Assigned
from lakebed.sql.names_in import Qualifier, check_once, column_path


def assigned_columns(
    context: SqlContext,
    assigned: Sequence[Assigned],
    schema: StructType,
    names: Sequence[Qualifier],
) -> list[str]:
    """The columns as the table spells them; an error at the place of one that it has not."""
    refs = [each.column for each in assigned]
    paths = [column_path(context, ref, schema, names) for ref in refs]
    check_once(context, refs, paths)
    return [rendered(path) for path in paths]


def default_text(schema: StructType, name: str) -> str:
    """What DEFAULT stands for."""
    field = next((each for each in schema.fields if rendered((each.name,)) == name), None)
    return (None if field is None else current_default(field)) or "NULL"


def rendered(path: Sequence[str]) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in path)
