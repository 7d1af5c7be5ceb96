"""What hangs on a column: constraints, generated columns, and settings that name it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from lakebed.commands.target.column_names import STATS_COLUMNS, render_list, starts_with
from lakebed.errors import PredicateError, SchemaError
from lakebed.expressions import parse_expression, references
from lakebed.expressions.parser.tokens import Kind, tokenize
from lakebed.log.snapshot import Snapshot
from lakebed.spec.columns.column_metadata import generation_expression, invariants
from lakebed.spec.properties import parse_column_list
from lakebed.spec.schema import Path, StructField, StructType, quote_name, render_path


def check_nothing_depends(
    snapshot: Snapshot, path: Path, verb: str, among: Sequence[StructField] | None = None
) -> None:
    """Refuses to change a column that SQL of the table speaks of.

    `among` are the columns that stay, whose expressions and invariants count; all by default.
    """
    columns = snapshot.schema.fields if among is None else among
    rules = _rules(snapshot, StructType(tuple(columns)))
    found = [f"{what} ({sql})" for what, sql in rules if _speaks_of(sql, path, snapshot.schema)]
    if found:
        raise SchemaError(
            f"column {render_path(path)} cannot be {verb}: {', '.join(found)} depends on it",
            hint="drop the constraint first; a generated column goes with drop_columns",
        )


def renamed_in_settings(configuration: Mapping[str, str], path: Path, new: Path) -> dict[str, str]:
    """The properties after a column got another name."""
    return _with_stats_columns(
        configuration,
        lambda column: (*new, *column[len(path) :]) if starts_with(column, path) else column,
    )


def dropped_from_settings(configuration: Mapping[str, str], path: Path) -> dict[str, str]:
    """The properties after a column is gone."""
    return _with_stats_columns(
        configuration, lambda column: None if starts_with(column, path) else column
    )


def _with_stats_columns(
    configuration: Mapping[str, str], change: Callable[[Path], Path | None]
) -> dict[str, str]:
    text = configuration.get(STATS_COLUMNS)
    if text is None:
        return dict(configuration)
    columns = (change(column) for column in parse_column_list(text))
    kept = [column for column in columns if column is not None]
    return {**configuration, STATS_COLUMNS: render_list(kept)}


def _rules(snapshot: Snapshot, columns: StructType) -> Iterator[tuple[str, str]]:
    for name, sql in snapshot.properties.constraints.items():
        yield f"the CHECK constraint {quote_name(name)}", sql
    for path, sql in invariants(columns).items():
        yield f"the invariant of {render_path(path)}", sql
    for field in columns.fields:
        expression = generation_expression(field)
        if expression is not None:
            yield f"the generated column {quote_name(field.name)}", expression


def _speaks_of(sql: str, path: Path, schema: StructType) -> bool:
    """Whether the SQL uses the column, something inside it or the column that it is in.

    SQL that only Spark understands counts as using every column whose name is in it.
    """
    try:
        used = references(parse_expression(sql, schema))
    except PredicateError:
        return _mentions(sql, path[0])
    return any(starts_with(each, path) or starts_with(path, each) for each in used)


def _mentions(sql: str, name: str) -> bool:
    try:
        tokens = tokenize(sql)
    except PredicateError:
        return True
    words = (token.text.lower() for token in tokens if token.kind in (Kind.WORD, Kind.QUOTED))
    return name.lower() in words
