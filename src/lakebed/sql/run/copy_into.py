"""COPY INTO."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame

from lakebed.commands.copy_files import FORMATS, CopyRequest, copy_files, preview
from lakebed.commands.target.row_target import RowTarget
from lakebed.errors import SqlError
from lakebed.log.snapshot import Snapshot
from lakebed.spark.plane_selection import plane_for
from lakebed.spark.write.insert_columns import copied_by_name, copied_by_position
from lakebed.sql.column_errors import pointing_at
from lakebed.sql.column_lookup import check_once, nearest, top_column
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.copy_into import CopyStatement
from lakebed.sql.open_tables import open_table
from lakebed.sql.statement import Slice
from lakebed.tables.delta_service_methods import copied_frame

_OPTIONS = ("force", "mergeSchema")


def run_copy(context: SqlContext, statement: CopyStatement) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    _check(context, statement)
    plane = plane_for(context.session, found.log.store, found.root, {})
    target = RowTarget(context.session, found.log, plane)
    flags = {key.lower(): value.lower() == "true" for key, value in statement.copy_options.items()}
    request = CopyRequest(
        statement.source,
        statement.file_format,
        _Arrange(context, statement),
        statement.files,
        statement.pattern,
        statement.format_options,
        force=flags.get("force", False),
        merge_schema=flags.get("mergeschema", False),
    )
    with pointing_at(context, [*(statement.select or ()), statement.where]):
        if statement.validate is not None:
            return _validated(context, statement, preview(target, request))
        return copied_frame(context.session, copy_files(target, request))


class _Arrange:
    """From the columns of the files to those of the table."""

    def __init__(self, context: SqlContext, statement: CopyStatement) -> None:
        self._context = context
        self._statement = statement

    def __call__(self, frame: DataFrame, snapshot: Snapshot) -> DataFrame:
        statement, schema = self._statement, snapshot.schema
        if statement.where is not None:
            frame = frame.where(self._column(statement.where))
        if statement.select is not None:
            frame = frame.select(*map(self._column, statement.select))
        if not statement.by_position:
            return copied_by_name(frame, schema)
        refs = statement.columns
        targets = list(schema.fields)
        if refs is not None:
            targets = [top_column(self._context, ref, schema) for ref in refs]
            check_once(self._context, refs, [(field.name,) for field in targets])
        if len(frame.columns) != len(targets):
            raise SqlError(
                f"the files have {len(frame.columns)} columns, but values are needed for "
                f"{len(targets)}: {', '.join(field.name for field in targets)}",
                sql=self._context.sql,
                position=statement.table.position,
                hint="list the columns that the files have, as in COPY INTO t (a, b)",
            )
        return copied_by_position(frame, targets)

    def _column(self, part: Slice) -> Column:
        return self._context.column(part.text, part)


def _check(context: SqlContext, statement: CopyStatement) -> None:
    at = statement.table.position
    if statement.file_format not in FORMATS:
        raise SqlError(
            f"files of the format {statement.file_format} cannot be loaded",
            sql=context.sql,
            position=_place(context.sql, "FILEFORMAT", at),
            hint=nearest(statement.file_format, FORMATS),
        )
    known = {name.lower() for name in _OPTIONS}
    for key, value in statement.copy_options.items():
        place = _place(context.sql, key, at)
        if key.lower() not in known:
            message = f"COPY INTO has no option {key}"
            hint = nearest(key, _OPTIONS)
            raise SqlError(message, sql=context.sql, position=place, hint=hint)
        if value.lower() not in ("true", "false"):
            message = f"the option {key} is {value!r}"
            hint = "it is true or false"
            raise SqlError(message, sql=context.sql, position=place, hint=hint)


def _place(sql: str, word: str, start: int) -> int:
    found = sql.lower().find(word.lower(), start)
    return start if found < 0 else found


def _validated(context: SqlContext, statement: CopyStatement, frame: DataFrame | None) -> DataFrame:
    if frame is None:
        return context.empty()
    count = statement.validate
    return frame if count is None or count < 0 else frame.limit(count)
