"""Names of columns in statements, against the columns that a table has."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from lakebed.errors import SqlError
from lakebed.expressions.parser.tokens import Kind, Token, tokenize
from lakebed.spec.schema import DataType, Path, StructField, StructType
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.column_refs import ColumnRef
from lakebed.sql.statement import Slice

Qualifier = tuple[str, ...]


def column_path(
    context: SqlContext, ref: ColumnRef, schema: StructType, names: Sequence[Qualifier] = ()
) -> Path:
    """The column or field as the table spells it. `names` are those of the table."""
    parts = ref.parts
    if parts[0] not in schema:
        for name in names:
            if len(parts) > len(name) and _same(parts[: len(name)], name):
                parts = parts[len(name) :]
                break
    path: list[str] = []
    inside: DataType = schema
    for part in parts:
        field = inside.find(part) if isinstance(inside, StructType) else None
        if field is None:
            raise unknown_column(context, ref, part, inside)
        path.append(field.name)
        inside = field.data_type
    return tuple(path)


def top_column(
    context: SqlContext, ref: ColumnRef, schema: StructType, names: Sequence[Qualifier] = ()
) -> StructField:
    """A column of the table itself."""
    path = column_path(context, ref, schema, names)
    if len(path) > 1:
        message = f"{ref} is a field inside of a column, not a column"
        raise SqlError(message, sql=context.sql, position=ref.position)
    return schema.field(path[0])


def unknown_column(context: SqlContext, ref: ColumnRef, part: str, inside: DataType) -> SqlError:
    known = list(inside.names) if isinstance(inside, StructType) else []
    message = f"the table has no column {ref}"
    return SqlError(message, sql=context.sql, position=ref.position, hint=nearest(part, known))


def nearest(name: str, known: Sequence[str]) -> str:
    """Which of the known names may have been meant."""
    spelled = {each.lower(): each for each in known}
    near = [spelled[each] for each in get_close_matches(name.lower(), spelled, n=2)]
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"there are: {', '.join(known)}" if known else "there are none"


def check_once(context: SqlContext, refs: Sequence[ColumnRef], paths: Sequence[Path]) -> None:
    for index, path in enumerate(paths):
        if path in paths[:index]:
            message = f"{refs[index]} appears twice"
            raise SqlError(message, sql=context.sql, position=refs[index].position)


def renamed(text: Slice, names: Sequence[Qualifier], name: str | None) -> str:
    """The text with a name of the table before columns replaced; None: with none at all."""
    tokens = tokenize(text.text)
    out, start, index = "", 0, 0
    while index < len(tokens):
        after = _after_name(tokens, index, names)
        if after is None:
            index += 1
            continue
        shown = "" if name is None else f"{_quoted(name)}."
        out += text.text[start : tokens[index].position] + shown
        start, index = tokens[after].end, after + 1
    return out + text.text[start:]


def _after_name(tokens: list[Token], index: int, names: Sequence[Qualifier]) -> int | None:
    """The dot that ends a name of the table that begins here."""
    if tokens[index].kind not in _NAMES or (index and tokens[index - 1].is_symbol(".")):
        return None
    for name in names:
        end = index + 2 * len(name) - 1
        dots = range(index + 1, end + 1, 2)
        if end + 1 >= len(tokens) or not all(tokens[dot].is_symbol(".") for dot in dots):
            continue
        found = [tokens[at] for at in range(index, end, 2)]
        if all(each.kind in _NAMES for each in found) and _same([t.text for t in found], name):
            return end
    return None


_NAMES = (Kind.WORD, Kind.QUOTED)


def _same(parts: Sequence[str], name: Sequence[str]) -> bool:
    return [part.lower() for part in parts] == [part.lower() for part in name]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
