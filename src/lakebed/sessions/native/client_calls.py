"""Calls of `DeltaTable` that clients of `lakebed server` send (see `tables/served_table.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from pyspark.sql import Column, DataFrame

from lakebed.errors import InvalidArgumentError, LakebedError
from lakebed.sessions.native.question import Question
from lakebed.sessions.native.repeated_calls import ANSWERS
from lakebed.spark.errors.encoded_errors import encode_error
from lakebed.spark.internals.connect.connect_server import bound_column
from lakebed.tables.call_values import ANSWER, SOURCE, TARGET, packed_answer, unpacked
from lakebed.tables.delta_table import DeltaTable
from lakebed.tables.merge_builder import DeltaMergeBuilder
from lakebed.tables.optimize_builder import DeltaOptimizeBuilder
from lakebed.tables.table_builder import DeltaTableBuilder


def call(asked: Question) -> DataFrame:
    given: dict[str, Any] = orjson.loads(asked.request["call"])
    return ANSWERS.once(str(given["id"]), lambda: _answered(asked, given))


def _answered(asked: Question, given: Mapping[str, Any]) -> DataFrame:
    """Errors of Lakebed's are answers too: the client raises them as they are."""
    try:
        result = _result(asked, given)
        if isinstance(result, DataFrame):
            return result
        answer = result._root if isinstance(result, DeltaTable) else packed_answer(result)
    except LakebedError as error:
        answer = {"error": encode_error(error)}
    return asked.session.createDataFrame([(orjson.dumps(answer).decode(),)], f"{ANSWER} STRING")


def _result(asked: Question, given: Mapping[str, Any]) -> Any:
    address = given["table"]
    table: DeltaTable | None = None
    if address is not None:
        table = DeltaTable.forPath(asked.session, address["path"], address["options"])
        table = table if address["alias"] is None else table.alias(address["alias"])
    source = None if asked.given[0] is None else asked.frame(asked.given[0])
    columns = [_bound(Column(java), given, table, source) for java in asked.given[1]]
    steps = [
        (str(name), unpacked(args, columns, source), unpacked(named, columns, source))
        for name, args, named in given["steps"]
    ]
    if table is None:
        (name, args, _), *_ = steps
        return _opened(asked, name, args)
    result: Any = table
    for name, args, named in steps:
        result = _method(result, name)(*args, **named)
    return result


def _opened(asked: Question, name: str, args: list[Any]) -> Any:
    if name == "create":
        return DeltaTableBuilder.defined(asked.session, args[0], DeltaTable.forPath).execute()
    if name not in _OPENING:
        raise _unknown(name)
    return getattr(DeltaTable, name)(asked.session, *args)


def _method(owner: Any, name: str) -> Callable[..., Any]:
    """Public methods alone: the call comes from another machine."""
    is_public = not name.startswith("_") or name in _SHOWN
    if not is_public or not isinstance(owner, _OWNERS) or not hasattr(owner, name):
        raise _unknown(name)
    found: Callable[..., Any] = getattr(owner, name)
    return found


def _bound(
    column: Column, given: Mapping[str, Any], table: DeltaTable | None, source: DataFrame | None
) -> Column:
    """With columns of the client's DataFrames replaced by those of this server's."""
    if given["binds_source"] and source is not None:
        column = bound_column(column, SOURCE, source)
    if given["binds_target"] and table is not None:
        column = bound_column(column, TARGET, table.toDF())
    return column


def _unknown(name: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the server's DeltaTable has no method {name!r}",
        hint="install the same version of lakebed on the client and on the server",
    )


_OPENING = ("forPath", "forName", "isDeltaTable", "convertToDelta")
_OWNERS = (DeltaTable, DeltaMergeBuilder, DeltaOptimizeBuilder)
_SHOWN = ("__repr__", "_repr_html_")
