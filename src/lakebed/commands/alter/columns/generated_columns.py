"""Whether generated columns of a new table can be computed, asked of Spark.

PROTOCOL: Generated Columns. delta-spark's rules: an expression has the very type of its column,
uses no other generated column, and gives the same value whenever it is computed.
"""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType as SparkStruct

from lakebed.errors import LakebedError, PredicateError, SchemaError
from lakebed.expressions.allowed import ExpressionKind
from lakebed.expressions.parser.tokens import Kind, tokenize
from lakebed.spark.columns.spark_types import visible_schema
from lakebed.spark.columns.sql_expressions import table_expression
from lakebed.spec.columns.column_metadata import generation_expression
from lakebed.spec.schema import (
    DataType,
    StructField,
    StructType,
    as_nullable,
    parse_type,
    quote_name,
)

_CHANGING = frozenset(
    [
        *("current_date", "current_timestamp", "localtimestamp", "now", "current_user"),
        *("rand", "randn", "random", "shuffle", "uuid"),
        *("monotonically_increasing_id", "spark_partition_id", "input_file_name"),
    ]
)


def check_generated(session: SparkSession, schema: StructType) -> None:
    generated = [(f, sql) for f in schema if (sql := generation_expression(f)) is not None]
    if not generated:
        return
    others = StructType(tuple(f for f in schema if generation_expression(f) is None))
    columns = SparkStruct.fromJson(visible_schema(as_nullable(others)).to_json())
    frame = session.createDataFrame([], columns)
    for field, sql in generated:
        _check_repeatable(field, sql)
        kind = _type_of(frame, field, sql)
        if _plain(kind) != _plain(field.data_type):
            raise SchemaError(
                f"the generated column {quote_name(field.name)} is of type {field.data_type}, but "
                f"its expression {sql!r} is of type {kind}",
                hint=f"write CAST({sql} AS ...) or give the column the other type",
                condition="DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH",
            )


def _type_of(frame: DataFrame, field: StructField, sql: str) -> DataType:
    try:
        value = table_expression(frame, sql, ExpressionKind.GENERATED, field.name, frame.columns)
        found = frame.select(value).schema.fields[0].dataType
    except LakebedError:
        # It is an AnalysisException too, and says what is wrong.
        raise
    except AnalysisException as error:
        raise SchemaError(
            f"the expression {sql!r} of the generated column {quote_name(field.name)} does not "
            f"work: {str(error).splitlines()[0]}",
            hint="it can use all columns that are not generated themselves",
        ) from error
    return parse_type(found.jsonValue())


def _check_repeatable(field: StructField, sql: str) -> None:
    try:
        words = {token.text.lower() for token in tokenize(sql) if token.kind is Kind.WORD}
    except PredicateError:
        return
    changing = sorted(words & _CHANGING)
    if changing:
        raise SchemaError(
            f"the generated column {quote_name(field.name)} uses {changing[0]}, which gives "
            "another value each time",
            hint="use a column of the table, or a default (CURRENT_DEFAULT)",
            condition="DELTA_NON_DETERMINISTIC_EXPRESSION_IN_GENERATED_COLUMN",
        )


def _plain(data_type: DataType) -> DataType:
    return as_nullable(StructType((StructField("x", data_type),))).fields[0].data_type
