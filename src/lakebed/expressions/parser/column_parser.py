"""Names in SQL as columns of a schema."""

from __future__ import annotations

from difflib import get_close_matches

from lakebed.errors import PredicateError
from lakebed.expressions.coercion import Term
from lakebed.expressions.parser.tokens import Token
from lakebed.expressions.tree import Column
from lakebed.spec.columns.column_metadata import collations, length_limits
from lakebed.spec.schema import DataType, Path, StructField, StructType, quote_name, render_path


def resolve_column(schema: StructType, names: list[Token], sql: str) -> Term:
    """The column that dotted names in any case lead to."""
    field = StructField("", schema)
    path: Path = ()
    for name in names:
        if not isinstance(field.data_type, StructType):
            raise _no_fields(path, field.data_type, name, sql)
        found = field.data_type.find(name.text)
        if found is None:
            raise _unknown(field.data_type, path, name, sql)
        path, field = (*path, found.name), found
    _refuse_collation(field, path, names[0], sql)
    limit = length_limits(field).get(())
    char_length = limit.length if limit is not None and limit.padded else None
    return Term(Column(path, field.data_type), sql, names[0].position, char_length)


def _refuse_collation(field: StructField, path: Path, at: Token, sql: str) -> None:
    collation = collations(field).get(field.name)
    if collation is not None and not collation.upper().endswith("UTF8_BINARY"):
        raise PredicateError(
            f"column {render_path(path)} compares text by the collation {collation}, "
            "which is not supported",
            sql=sql,
            position=at.position,
        )


def _no_fields(path: Path, data_type: DataType, name: Token, sql: str) -> PredicateError:
    return PredicateError(
        f"column {render_path(path)} is of type {data_type} and has no fields",
        sql=sql,
        position=name.position,
    )


def _unknown(struct: StructType, path: Path, name: Token, sql: str) -> PredicateError:
    folded = {each.lower(): each for each in struct.names}
    close = get_close_matches(name.text.lower(), folded, n=1)
    shown = ", ".join(map(quote_name, struct.names[:20])) + (", ..." if len(struct) > 20 else "")
    where = f" in {render_path(path)}" if path else ""
    return PredicateError(
        f"there is no column {quote_name(name.text)}{where}",
        sql=sql,
        position=name.position,
        hint=f"Did you mean {quote_name(folded[close[0]])}?" if close else f"There are: {shown}.",
    )
