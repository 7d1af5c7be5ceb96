"""Plans of Spark Connect's client: what a DataFrame reads, and calls of `DeltaTable`.

Imported only where a session is one of Spark Connect. Tests are in `test_connect_internals` and
`test_served_tables`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.connect import proto
from pyspark.sql.connect.column import Column
from pyspark.sql.connect.expressions import ColumnReference
from pyspark.sql.connect.plan import DataSource, LogicalPlan
from pyspark.sql.types import StructType

KIND = "lakebed/call"
"""The relation that carries a call of `DeltaTable`; `TableCalls.java` receives it."""


def sources_of(frame: DataFrame) -> Iterator[tuple[str, Mapping[str, str]] | None]:
    """The format and the options, in lower case, of each data source in the query.

    None for what the server alone knows, such as the tables behind the name of a view.
    """
    plan: Any = frame._plan.to_proto(frame._session.client)
    for message in _messages(plan):
        kind = message.DESCRIPTOR.name
        if kind in ("NamedTable", "SQL") or (kind == "ExpressionString" and _has_query(message)):
            yield None
        elif kind == "DataSource":
            options = {key.lower(): value for key, value in message.options.items()}
            yield message.format, options


class _SourceWithOptions(DataSource):
    """A data source some of whose options are found out whenever a query is sent.

    The server keeps the plan of a source, and with it the files, as long as nothing in it changes.
    """

    def __init__(self, source: Any, options: Callable[[], Mapping[str, str]]) -> None:
        self.__dict__.update(vars(source))
        self._more_options = options

    def plan(self, session: Any) -> Any:
        relation = super().plan(session)
        for key, value in self._more_options().items():
            relation.read.data_source.options[key] = value
        return relation


def with_options(frame: DataFrame, options: Callable[[], Mapping[str, str]]) -> DataFrame:
    """The rows of a data source, which each query reads with the options at that time."""
    return type(frame)(_SourceWithOptions(frame._plan, options), frame._session)


def send(
    session: Any, call: str, columns: Sequence[Any], source: Any | None
) -> tuple[pa.Table, StructType]:
    """The rows of the server's answer. `source` is the DataFrame that the call is given."""
    client = session.client
    table, schema, *_ = client.to_table(_Call(call, columns, source).to_proto(client), {})
    assert schema is not None
    return table, schema


def named(*parts: str) -> Any:
    """A column of no DataFrame in particular."""
    quoted = ".".join(f"`{part.replace('`', '``')}`" for part in parts)
    return Column(ColumnReference(quoted))


class _Call(LogicalPlan):
    """It has no plan id: the server would keep the plan of a relation that has one."""

    def __init__(self, call: str, columns: Sequence[Any], source: Any | None) -> None:
        super().__init__(None if source is None else source._plan)
        self._call = call
        self._columns = columns

    def plan(self, session: Any) -> Any:
        project = proto.Project()
        if self._child is not None:
            project.input.CopyFrom(self._child.plan(session))
        project.expressions.add().literal.string = self._call
        for column in self._columns:
            project.expressions.add().CopyFrom(column._expr.to_plan(session))
        relation = proto.Relation()
        relation.extension.type_url = KIND
        relation.extension.value = project.SerializeToString()
        return relation


def _has_query(message: Any) -> bool:
    """Spark's parser is on the server: the word may be that of a column, too."""
    return "select" in message.expression.lower()


def _messages(message: Any) -> Iterator[Any]:
    """A message of protobuf and all messages in it."""
    yield message
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        if field.message_type.GetOptions().map_entry:
            values = [each for each in value.values() if hasattr(each, "DESCRIPTOR")]
        else:
            values = [value] if hasattr(value, "DESCRIPTOR") else list(value)
        for each in values:
            yield from _messages(each)
