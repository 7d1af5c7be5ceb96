"""INSERT: rows of a query into a table, by position or by name."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from lakebed.errors import InvalidArgumentError, SqlError
from lakebed.spark.assigning import assigned_by_name, assigned_by_position
from lakebed.spark.functions import functions_of
from lakebed.spark.projection import spark_type
from lakebed.spec.schema import StructField
from lakebed.sql.column_errors import pointing_at
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.insert import InsertStatement, PartitionPart
from lakebed.sql.names_in import check_once, nearest, renamed, top_column
from lakebed.sql.query import query_frame
from lakebed.sql.run.default_values import without_defaults
from lakebed.sql.statement import Slice
from lakebed.sql.tables import OpenTable, open_table

_DYNAMIC = "partitionOverwriteMode"
_OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"
_AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"


def run_insert(context: SqlContext, statement: InsertStatement) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    insert = _Insert(context, statement, found)
    with pointing_at(context, [statement.replace_where]):
        insert.run()
    return context.empty()


class _Insert:
    def __init__(self, context: SqlContext, statement: InsertStatement, found: OpenTable) -> None:
        self._context = context
        self._statement = statement
        self._found = found
        self._schema = found.snapshot.schema
        self._static = self._static_values()

    def run(self) -> None:
        statement = self._statement
        if statement.if_not_exists and self._has_partition():
            return
        frame = self._with_static(self._by_name() if statement.by_name else self._by_position())
        writer = frame.write.format("delta")
        options = self._options()
        mode = "append" if options is None else "overwrite"
        writer.mode(mode).options(**(options or {})).save(self._found.location)

    # --- rows ---------------------------------------------------------------------------------

    def _by_name(self) -> DataFrame:
        return assigned_by_name(self._query(self._statement.query.text), self._schema)

    def _by_position(self) -> DataFrame:
        targets = self._targets()
        text, targets = without_defaults(self._statement.query.text, targets)
        frame = self._query(text)
        self._check_count(frame, targets)
        return assigned_by_position(frame, targets)

    def _query(self, text: str) -> DataFrame:
        ctes = self._statement.ctes
        whole = text if ctes is None else f"{ctes} {text}"
        return query_frame(self._context.session, whole)

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
        return str(self._context.session.conf.get(_AUTO_MERGE, "false")).lower() == "true"

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
        f = functions_of(frame)
        for name, part in self._static.items():
            kind = spark_type(self._schema.field(name).data_type)
            frame = frame.withColumn(name, f.expr(str(part.value)).cast(kind))
        return frame

    def _static_condition(self) -> str:
        return " AND ".join(
            _equals(name, part.value) for name, part in self._static.items() if part.value
        )

    def _has_partition(self) -> bool:
        if len(self._static) != len(self._found.snapshot.partition_columns):
            raise SqlError(
                "IF NOT EXISTS needs a value for each partition column",
                sql=self._context.sql,
                position=self._statement.table.position,
            )
        rows = self._found.delta().toDF().where(self._static_condition())
        return bool(rows.limit(1).count())

    # --- what is replaced ---------------------------------------------------------------------

    def _options(self) -> dict[str, str] | None:
        """None if nothing is."""
        statement = self._statement
        if statement.replace_where is not None:
            return {"replaceWhere": renamed(statement.replace_where, self._found.names, None)}
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


def _equals(name: str, value: Slice | None) -> str:
    quoted = "`" + name.replace("`", "``") + "`"
    text = "NULL" if value is None else value.text
    return f"{quoted} IS NULL" if text.upper() == "NULL" else f"{quoted} = {text}"
