"""INSERT: rows of a query into a table, by position or by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column, DataFrame

from lakebed.commands.frame_write import FrameWrite, write_frame
from lakebed.commands.row_target import USER_METADATA
from lakebed.commands.stable_rows import stable_rows
from lakebed.commands.write_options import WriteOptions
from lakebed.errors import InvalidArgumentError, SqlError
from lakebed.spark.assigning import (
    assigned_by_name,
    assigned_by_position,
    with_absent_partitions,
    with_values,
)
from lakebed.spark.command_reads import CommandReads
from lakebed.spark.internals.columns import column_sql
from lakebed.spark.session_settings import all_settings
from lakebed.spark.sql_expressions import sql_column
from lakebed.spec.schema import StructField
from lakebed.sql.column_errors import pointing_at
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.insert import InsertStatement, PartitionPart
from lakebed.sql.names_in import check_once, nearest, renamed, top_column
from lakebed.sql.run.default_values import without_defaults
from lakebed.sql.statement import Slice
from lakebed.sql.subqueries import with_views
from lakebed.sql.tables import OpenTable, open_table

_DYNAMIC = "partitionOverwriteMode"
_OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"
_AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"


def run_insert(context: SqlContext, statement: InsertStatement) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    Insert(context, statement, found).run()
    return context.empty()


class Insert:
    """`source` is a FROM clause that stands before the query."""

    def __init__(
        self,
        context: SqlContext,
        statement: InsertStatement,
        found: OpenTable,
        source: Slice | None = None,
    ) -> None:
        self._source = source
        self._context = context
        self._statement = statement
        self._found = found
        self._schema = found.snapshot.schema
        self._reads = CommandReads(found.snapshot, lambda *_: None)
        self._static = self._static_values()

    def run(self) -> None:
        statement = self._statement
        if statement.if_not_exists and self._has_partition():
            return
        with pointing_at(self._context, [statement.replace_where, statement.replace_on]):
            if statement.replace_on is not None:
                self._replace_on(statement.replace_on)
            else:
                self._write(self.rows)

    @cached_property
    def rows(self) -> DataFrame:
        """As the table has them."""
        by_name = self._statement.by_name
        rows = self._with_static(self._by_name() if by_name else self._by_position())
        return with_absent_partitions(rows, self._schema, self._found.snapshot.partition_columns)

    def pin_sources(self, reads: CommandReads) -> None:
        """The versions of other tables are those that the command has read so far.

        That of its own table is decided by its transaction, which has to know what was read.
        """
        self.rows = reads.pinned(self.rows, but=self._found.snapshot.store.url)

    def _write(self, frame: DataFrame) -> None:
        writer = frame.write.format("delta")
        if self._statement.evolves:
            writer = writer.option("mergeSchema", "true")
        options = self._options()
        mode = "append" if options is None else "overwrite"
        writer.mode(mode).options(**(options or {})).save(self._found.location)

    def _replace_on(self, condition: Slice) -> None:
        """Rows of the table that meet a row of the query go, and all of these come."""
        statement, session = self._statement, self._context.session
        names = self._found.names if statement.alias is None else ((statement.alias,),)
        target = statement.alias or (None if self._found.ref.path else self._found.ref.parts[-1])
        with with_views(self._context, [renamed(condition, names, target)]) as (text,):
            assert text is not None
            rows = self.rows
            request = WriteOptions(
                mode="overwrite",
                merge_schema=self._merges,
                user_metadata=session.conf.get(USER_METADATA, None),
                replace_where=condition.text,
                check_replaced=False,
                replace_matching=True,
                reads_table=self._reads.reads_target,
            )
            meets = self._context.column(text, condition)
            matching = _Meeting(self._queried, target, statement.source_alias, meets)
            write = FrameWrite(rows, self._found.location, request, matching=matching)
            write_frame(write, all_settings(session), self._found.snapshot)

    # --- rows ---------------------------------------------------------------------------------

    def _by_name(self) -> DataFrame:
        frame = self._query(self._statement.query.text)
        return assigned_by_name(frame, self._schema, widens=self._widens)

    def _by_position(self) -> DataFrame:
        targets = self._targets()
        text, targets = without_defaults(self._context.session, self._statement.query.text, targets)
        frame = self._query(text)
        self._check_count(frame, targets)
        is_listed = self._statement.columns is not None
        return assigned_by_position(frame, targets, is_listed=is_listed, widens=self._widens)

    def _query(self, text: str) -> DataFrame:
        before = [each for each in (self._statement.ctes, self._source) if each is not None]
        parts = [*before, self._statement.query]
        frame = self._context.query(" ".join([*map(str, before), text]), *parts)
        if self._statement.replace_on is not None:
            # They are asked for twice: what is inserted must be what was compared.
            frame = stable_rows(self._reads.pinned(frame))
        self._queried = frame
        return frame

    def _targets(self) -> list[StructField]:
        """The columns that the query has values for, in its order."""
        refs = self._statement.columns
        if refs is None:
            return [field for field in self._schema.fields if field.name not in self._static]
        fields = [top_column(self._context, ref, self._schema, self._found.names) for ref in refs]
        check_once(self._context, refs, [(field.name,) for field in fields])
        for ref, target in zip(refs, fields, strict=True):
            if target.name in self._static:
                message = f"{ref} has its value in PARTITION already"
                raise SqlError(message, sql=self._context.sql, position=ref.position)
        return fields

    def _check_count(self, frame: DataFrame, targets: Sequence[StructField]) -> None:
        count = len(frame.columns)
        may_grow = self._statement.columns is None and self._merges
        if count == len(targets) or (count > len(targets) and may_grow):
            return
        names = ", ".join(field.name for field in targets)
        raise SqlError(
            f"the rows have {count} columns, but values are needed for {len(targets)}: {names}",
            sql=self._context.sql,
            position=self._statement.query.position,
            hint="list the columns that the rows have, as in INSERT INTO t (a, b) ...; others "
            "get their default",
        )

    @property
    def _merges(self) -> bool:
        setting = str(self._context.session.conf.get(_AUTO_MERGE, "false")).lower()
        return self._statement.evolves or setting == "true"

    @property
    def _widens(self) -> bool:
        return self._merges and bool(self._found.snapshot.properties.enable_type_widening)

    # --- partitions ---------------------------------------------------------------------------

    def _static_values(self) -> dict[str, PartitionPart]:
        found: dict[str, PartitionPart] = {}
        partitions = self._found.snapshot.partition_columns
        for part in self._statement.partition:
            field = top_column(self._context, part.column, self._schema, self._found.names)
            if field.name not in partitions:
                raise SqlError(
                    f"the table is not partitioned by {field.name}",
                    sql=self._context.sql,
                    position=part.column.position,
                    hint=nearest(field.name, partitions),
                )
            if part.value is not None:
                found[field.name] = part
        return found

    def _with_static(self, frame: DataFrame) -> DataFrame:
        given = {name: part.value for name, part in self._static.items()}
        values = {
            name: self._context.column(value.text, value) for name, value in given.items() if value
        }
        return with_values(frame, values, self._schema)

    def _static_condition(self) -> str:
        return " AND ".join(
            _equals(name, self._bound(part.value.text, part.value))
            for name, part in self._static.items()
            if part.value
        )

    def _bound(self, text: str, part: Slice) -> str:
        """A part of the statement with literals in the place of its markers."""
        values = self._context.values
        found = None if values is None else values.column(text, (part,))
        return text if found is None else column_sql(self._context.session, found)

    def _has_partition(self) -> bool:
        if len(self._static) != len(self._found.snapshot.partition_columns):
            raise SqlError(
                "IF NOT EXISTS needs a value for each partition column",
                sql=self._context.sql,
                position=self._statement.table.position,
            )
        rows = self._found.delta().toDF()
        rows = rows.where(sql_column(rows, self._static_condition()))
        return bool(rows.limit(1).count())

    # --- what is replaced ---------------------------------------------------------------------

    def _options(self) -> dict[str, str] | None:
        """None if nothing is."""
        statement = self._statement
        if statement.replace_where is not None:
            text = renamed(statement.replace_where, self._found.names, None)
            return {"replaceWhere": self._bound(text, statement.replace_where)}
        if statement.replace_using:
            return self._using()
        if not statement.overwrites:
            return None
        is_dynamic = any(part.value is None for part in statement.partition)
        mode = str(self._context.session.conf.get(_OVERWRITE_MODE, "static")).lower()
        if self._static and not (is_dynamic and mode == "dynamic"):
            return {"replaceWhere": self._static_condition()}
        return {}

    def _using(self) -> dict[str, str]:
        refs = self._statement.replace_using
        fields = [top_column(self._context, ref, self._schema, self._found.names) for ref in refs]
        names = [field.name for field in fields]
        if set(names) == set(self._found.snapshot.partition_columns):
            return {_DYNAMIC: "dynamic"}
        raise InvalidArgumentError(
            "REPLACE USING takes all partition columns of the table and no others",
            hint="use REPLACE WHERE, or MERGE",
        )


@dataclass(frozen=True)
class _Meeting:
    """Rows of the table that meet a row of the source, by a condition on both."""

    source: DataFrame
    target_name: str | None
    source_name: str | None
    condition: Column

    def __call__(self, rows: DataFrame) -> DataFrame:
        target = rows if self.target_name is None else rows.alias(self.target_name)
        source = self.source if self.source_name is None else self.source.alias(self.source_name)
        return target.join(source, self.condition, "left_semi")


def _equals(name: str, text: str) -> str:
    quoted = "`" + name.replace("`", "``") + "`"
    return f"{quoted} IS NULL" if text.upper() == "NULL" else f"{quoted} = {text}"
