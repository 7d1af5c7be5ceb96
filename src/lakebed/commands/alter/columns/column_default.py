"""Whether a SQL expression can be the default of a column (PROTOCOL: Default Columns)."""

from __future__ import annotations

from lakebed.errors import PredicateError, SchemaError
from lakebed.expressions import Cast, evaluate, parse_expression, references
from lakebed.formats.arrow_types import to_arrow_schema
from lakebed.spec.columns.column_metadata import GENERATION_EXPRESSION, IDENTITY_START
from lakebed.spec.schema import Path, StructField, StructType, render_path

# Values that change while time goes by: every engine knows them, and Lakebed leaves them to Spark.
_MOMENTS = ("current_date", "current_timestamp", "now")


def check_default(path: Path, field: StructField, sql: str) -> None:
    """Refuses a default that no row could get."""
    if len(path) > 1:
        raise SchemaError(f"column {render_path(path)} is inside another: it can have no default")
    for key, what in ((GENERATION_EXPRESSION, "generated"), (IDENTITY_START, "an identity column")):
        if key in field.metadata:
            raise SchemaError(f"column {render_path(path)} is {what}: it can have no default")
    if sql.strip().lower().removesuffix("()") in _MOMENTS or sql.strip().upper() == "NULL":
        return
    nothing = StructType((StructField(field.name, field.data_type),))
    try:
        value = parse_expression(sql, nothing)
    except PredicateError as error:
        raise SchemaError(
            f"{sql!r} cannot be the default of column {render_path(path)}: {error.message}",
            hint="give a value such as 0, 'none' or DATE '2026-01-31'",
        ) from error
    if references(value):
        raise SchemaError(
            f"the default {sql!r} of column {render_path(path)} uses other columns",
            hint="a default is the same for all rows; make a table with a generated column",
        )
    # Raises if the value does not fit the column.
    evaluate(Cast(value, field.data_type), to_arrow_schema(nothing).empty_table())
