"""MERGE INTO."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame

from lakebed.errors import InvalidArgumentError, SqlError
from lakebed.sql.column_errors import pointing_at
from lakebed.sql.context import SqlContext
from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.merge import MergeStatement, When
from lakebed.sql.names_in import Qualifier, renamed
from lakebed.sql.run.row_changes import assigned_columns, default_column
from lakebed.sql.statement import Slice
from lakebed.sql.tables import OpenTable, open_table
from lakebed.tables.merge_builder import DeltaMergeBuilder


def run_merge(context: SqlContext, statement: MergeStatement) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    merge = _Merge(context, statement, found)
    parts = [statement.condition, *(part for when in statement.whens for part in _parts(when))]
    with pointing_at(context, parts):
        return merge.run()


def _parts(when: When) -> list[Slice]:
    texts = [when.condition, *(each.value for each in when.assigned)]
    return [text for text in texts if text is not None]


class _Merge:
    def __init__(self, context: SqlContext, statement: MergeStatement, found: OpenTable) -> None:
        self._context = context
        self._statement = statement
        self._found = found
        path = found.ref.path
        self._target = statement.alias or (None if path is not None else found.ref.parts[-1])
        self._names = found.names if statement.alias is None else ((statement.alias,),)
        self._source_names = _source_names(statement)

    def run(self) -> DataFrame:
        statement = self._statement
        source = self._source()
        if statement.source_alias is not None:
            source = source.alias(statement.source_alias)
        condition = self._column(statement.condition)
        builder = self._found.delta(self._target).merge(source, condition)
        if statement.evolves:
            builder = builder.withSchemaEvolution()
        for when in statement.whens:
            builder = self._with(builder, when)
        try:
            return builder.execute()
        except InvalidArgumentError as error:
            raise self._placed(error) from error

    def _source(self) -> DataFrame:
        """Spark reads the source as it reads what stands behind FROM."""
        statement = self._statement
        ctes = "" if statement.ctes is None else f"{statement.ctes} "
        names = "" if statement.source_columns is None else f" AS s{statement.source_columns}"
        text = f"{ctes}SELECT * FROM {statement.source}{names}"
        parts = [each for each in (statement.ctes, statement.source) if each is not None]
        return self._context.query(text, *parts)

    def _with(self, builder: DeltaMergeBuilder, when: When) -> DeltaMergeBuilder:
        condition = None if when.condition is None else self._column(when.condition)
        if when.action == "update_all":
            return builder.whenMatchedUpdateAll(condition)
        if when.action == "insert_all":
            return builder.whenNotMatchedInsertAll(condition)
        if when.action == "insert":
            return builder.whenNotMatchedInsert(condition, self._values(when))
        if when.kind == "matched":
            if when.action == "delete":
                return builder.whenMatchedDelete(condition)
            return builder.whenMatchedUpdate(condition, self._values(when))
        if when.action == "delete":
            return builder.whenNotMatchedBySourceDelete(condition)
        return builder.whenNotMatchedBySourceUpdate(condition, self._values(when))

    def _values(self, when: When) -> dict[str, str | Column]:
        schema = self._found.snapshot.schema
        columns = assigned_columns(self._context, when.assigned, schema, self._names)
        values: dict[str, str | Column] = {}
        for name, each in zip(columns, when.assigned, strict=True):
            if each.value is not None:
                values[name] = self._column(each.value)
            elif when.action == "update":
                values[name] = default_column(self._context, schema, name)
        return values

    def _column(self, part: Slice) -> Column:
        return self._context.column(self._text(part), part)

    def _text(self, text: Slice) -> str:
        given = renamed(text, self._names, self._target)
        if self._source_names:
            alias = self._statement.source_alias
            given = renamed(Slice(given, 0), self._source_names, alias)
        return given

    def _placed(self, error: InvalidArgumentError) -> Exception:
        """What is wrong with the clauses as a whole is shown where they begin."""
        first = self._statement.whens[0]
        return SqlError(
            error.message, sql=self._context.sql, position=first.position, hint=error.hint
        )


def _source_names(statement: MergeStatement) -> Sequence[Qualifier]:
    """What expressions may call a source that has no alias: `shop.orders.id`."""
    cursor = Cursor(statement.source.text)
    if not cursor.at_name:
        return ()
    parts = cursor.parts()
    if not cursor.is_at_end or statement.source_alias != parts[-1]:
        return ()
    return tuple(parts[start:] for start in range(len(parts)))
