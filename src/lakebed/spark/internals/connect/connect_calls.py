"""How a client of Spark Connect sends a call of `DeltaTable` to its server.

`TableCalls.java` receives it. Imported only where a session is one of Spark Connect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.connect import proto
from pyspark.sql.connect.column import Column
from pyspark.sql.connect.expressions import ColumnReference
from pyspark.sql.connect.plan import LogicalPlan
from pyspark.sql.types import StructType

KIND = "lakebed/call"


def send(
    session: Any, call: str, columns: Sequence[Any], source: Any | None
) -> tuple[pa.Table, StructType]:
    """The rows of the answer. `source` is the DataFrame that the call is given."""
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
        made = proto.Project()
        if self._child is not None:
            made.input.CopyFrom(self._child.plan(session))
        made.expressions.add().literal.string = self._call
        for column in self._columns:
            made.expressions.add().CopyFrom(column._expr.to_plan(session))
        relation = proto.Relation()
        relation.extension.type_url = KIND
        relation.extension.value = made.SerializeToString()
        return relation
