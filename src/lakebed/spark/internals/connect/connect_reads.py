"""What a DataFrame of Spark Connect reads, by its plan on the client (see the package).

Imported only where a session is one of Spark Connect.

Tests are in `test_connect_internals`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.connect import plan as plans


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


class _SourceWithOptions(plans.DataSource):
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
    """The rows of a data source, which each query reads with the options of that moment."""
    return type(frame)(_SourceWithOptions(frame._plan, options), frame._session)


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
