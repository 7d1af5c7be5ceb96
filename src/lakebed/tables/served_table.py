"""`DeltaTable` for clients of `lakebed server`: the server does it all, and the client asks.

The client never opens the store of a table. Calls go one by one, each with an id of its own, so
that a call which the client had to send twice is done once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from inspect import isfunction
from typing import Any, TypeVar, cast
from uuid import uuid4

import orjson
from pyspark.sql import Column, DataFrame, SparkSession

from lakebed.commands.create.create_table import Mode
from lakebed.commands.frame_target import FrameTarget
from lakebed.commands.merge.merge_request import Clause
from lakebed.spark.columns.bound_columns import BoundColumns, SourceFrame, TableFrames
from lakebed.spark.columns.spark_types import incoming_schema
from lakebed.spark.errors.connect_conflicts import as_client_error
from lakebed.spark.errors.encoded_errors import find_encoded
from lakebed.spark.internals.column_reference import Reference
from lakebed.spark.internals.connect import connect_plans
from lakebed.spark.internals.connect.connect_columns import rewritten
from lakebed.tables.call_values import ANSWER, SOURCE, TARGET, Packing, unpacked_answer
from lakebed.tables.delta_table import DeltaTable, checked_alias
from lakebed.tables.merge_builder import Condition, DeltaMergeBuilder
from lakebed.tables.optimize_builder import DeltaOptimizeBuilder
from lakebed.tables.table_builder import DeltaTableBuilder

T = TypeVar("T")
Step = tuple[str, tuple[Any, ...], Mapping[str, Any]]
"""A method, and what it is given. It is a method of what the step before gave."""


class ServedTable(DeltaTable):
    """A table of which the client knows the folder on the server, and no more."""

    def __init__(
        self,
        sparkSession: SparkSession,
        root: str,
        options: Mapping[str, str],
        aliasName: str | None = None,
        frames: TableFrames | None = None,
    ) -> None:
        self._session = sparkSession
        self._root = root
        self._options = options
        self._alias = aliasName
        self._frames = TableFrames() if frames is None else frames

    @classmethod
    def forPath(
        cls, sparkSession: SparkSession, path: str, hadoopConf: Mapping[str, str] | None = None
    ) -> ServedTable:
        step: Step = ("forPath", (path, hadoopConf), {})
        return cls(sparkSession, _Call(sparkSession).result(step), dict(hadoopConf or {}))

    @classmethod
    def forName(cls, sparkSession: SparkSession, tableOrViewName: str) -> DeltaTable:
        return cls(
            sparkSession, _Call(sparkSession).result(("forName", (tableOrViewName,), {})), {}
        )

    @classmethod
    def isDeltaTable(cls, sparkSession: SparkSession, identifier: str) -> bool:
        return bool(_Call(sparkSession).result(("isDeltaTable", (identifier,), {})))

    @classmethod
    def convertToDelta(
        cls, sparkSession: SparkSession, identifier: str, partitionSchema: Any = None
    ) -> ServedTable:
        step: Step = ("convertToDelta", (identifier, partitionSchema), {})
        return cls(sparkSession, _Call(sparkSession).result(step), {})

    @classmethod
    def _builder(cls, session: Any, mode: Mode) -> DeltaTableBuilder[Any]:
        return ServedTableBuilder(session, mode, cls.forPath)

    def toDF(self) -> DataFrame:
        reader = self._session.read.format("delta").options(**self._options)
        frame = reader.load(self._root)
        if self._alias is not None:
            frame = frame.alias(self._alias)
        self._frames.add(frame, incoming_schema(frame))
        return frame

    def alias(self, aliasName: str) -> DeltaTable:
        name = checked_alias(aliasName)
        return ServedTable(self._session, self._root, self._options, name, self._frames)

    def merge(self, source: DataFrame, condition: Condition) -> DeltaMergeBuilder:
        builder = super().merge(source, condition)
        return ServedMerge(builder._target, builder._source, builder._condition)

    def optimize(self) -> DeltaOptimizeBuilder:
        return ServedOptimize(self._target())

    def _target(self) -> FrameTarget:
        """What builders hold; those of this module know that it is the table."""
        return cast(FrameTarget, self)

    def _result(self, *steps: Step) -> Any:
        return _Call(self._session, self).result(*steps)


class ServedMerge(DeltaMergeBuilder):
    """A MERGE that the server runs."""

    def execute(self) -> DataFrame:
        table = cast(ServedTable, self._target)
        steps: list[Step] = [("merge", (self._source, self._condition), {})]
        steps += [_step(clause) for clause in self._clauses]
        if self._schema_evolution:
            steps.append(("withSchemaEvolution", (), {}))
        call = _Call(table._session, table, self._source)
        return cast(DataFrame, call.result(*steps, ("execute", (), {})))

    def __repr__(self) -> str:
        table = cast(ServedTable, self._target)
        alias = "" if table._alias is None else f" AS {table._alias}"
        lines = [f"MERGE INTO {table._root}{alias} ON {self._condition}"]
        lines += [f"  {clause}" for clause in self._clauses]
        return "\n".join([*lines, "not run yet: call execute()"])


def _step(clause: Clause) -> Step:
    name = _CLAUSES[clause.kind, clause.action]
    if clause.action in ("update", "insert"):
        return name, (clause.condition, clause.values), {}
    return name, (clause.condition,), {}


_CLAUSES = {
    ("matched", "update"): "whenMatchedUpdate",
    ("matched", "update_all"): "whenMatchedUpdateAll",
    ("matched", "delete"): "whenMatchedDelete",
    ("not_matched", "insert"): "whenNotMatchedInsert",
    ("not_matched", "insert_all"): "whenNotMatchedInsertAll",
    ("not_matched_by_source", "update"): "whenNotMatchedBySourceUpdate",
    ("not_matched_by_source", "delete"): "whenNotMatchedBySourceDelete",
}


class ServedOptimize(DeltaOptimizeBuilder):
    """An OPTIMIZE that the server runs."""

    def executeCompaction(self) -> DataFrame:
        return self._sent("executeCompaction")

    def executeZOrderBy(self, *cols: str | Sequence[str]) -> DataFrame:
        return self._sent("executeZOrderBy", *cols)

    def executeFull(self) -> DataFrame:
        return self._sent("executeFull")

    def executePurge(self) -> DataFrame:
        return self._sent("executePurge")

    def executeUpgradeUniform(self, icebergCompatVersion: int) -> DataFrame:
        return self._sent("executeUpgradeUniform", icebergCompatVersion)

    def _sent(self, name: str, *args: Any) -> DataFrame:
        steps: list[Step] = [("optimize", (), {})]
        if self._request.where is not None:
            steps.append(("where", (self._request.where,), {}))
        result = cast(ServedTable, self._target)._result(*steps, (name, args, {}))
        return cast(DataFrame, result)


class ServedTableBuilder(DeltaTableBuilder[T]):
    """A table in the making that the server makes."""

    def execute(self) -> T:
        root = _Call(self._spark).result(("create", (self.definition(),), {}))
        return self._open_table(self._spark, root)


class _Call:
    """One call. Columns of DataFrames that the client holds become positions in `TARGET` or
    `SOURCE`, since the server does not know the client's DataFrames."""

    def __init__(
        self,
        session: SparkSession,
        table: ServedTable | None = None,
        source: DataFrame | None = None,
    ) -> None:
        self._session = session
        self._table = table
        self._source = source
        self._used: set[str] = set()

    def result(self, *steps: Step) -> Any:
        """What the last step gives; a table as its folder."""
        packing = Packing(self._free)
        call = {
            "id": str(uuid4()),
            "table": None if self._table is None else _address(self._table),
            "steps": [
                [name, [packing.packed(each) for each in args], packing.packed(kwargs)]
                for name, args, kwargs in steps
            ],
            "binds_target": TARGET in self._used,
            "binds_source": SOURCE in self._used,
        }
        text = orjson.dumps(call).decode()
        rows, schema = connect_plans.send(self._session, text, packing.columns, packing.source)
        if schema.names != [ANSWER]:
            return self._session.createDataFrame(rows, schema)
        answer = orjson.loads(rows.column(0)[0].as_py())
        if isinstance(answer, dict) and "error" in answer:
            error = find_encoded(answer["error"])
            assert error is not None
            raise as_client_error(error)
        return unpacked_answer(answer)

    def _free(self, column: Column) -> Column:
        return cast(Column, rewritten(self._session, column, self._translate))

    def _translate(self, found: Reference) -> Column:
        return self._bound.translate(found)

    @cached_property
    def _bound(self) -> BoundColumns:
        """Only for calls that have such columns: it asks for the schemas of the DataFrames."""
        assert self._table is not None
        schema = incoming_schema(self._table.toDF())
        names = schema.names
        of = None
        if self._source is not None:
            of = SourceFrame(self._source, incoming_schema(self._source))
        return BoundColumns(
            self._session,
            self._table._frames,
            schema,
            lambda field: self._named(TARGET, names.index(field.name)),
            of,
            lambda place: self._named(SOURCE, place),
        )

    def _named(self, side: str, place: int) -> Column:
        self._used.add(side)
        return cast(Column, connect_plans.named(side, str(place)))


def _address(table: ServedTable) -> dict[str, Any]:
    return {"path": table._root, "options": dict(table._options), "alias": table._alias}


def _forwarded(name: str) -> Callable[..., Any]:
    """A method of `DeltaTable` that the server runs."""

    @wraps(getattr(DeltaTable, name))
    def method(self: ServedTable, *args: Any, **kwargs: Any) -> Any:
        result = self._result((name, args, kwargs))
        return ServedTable(self._session, result, self._options) if name in _CLONES else result

    return method


def _methods() -> Iterator[str]:
    """The public methods of objects, and how they show themselves."""
    for kind in (DeltaTable, *DeltaTable.__bases__):
        for name, member in vars(kind).items():
            if isfunction(member) and (not name.startswith("_") or name in _SHOWN):
                yield name


_CLONES = ("clone", "cloneAtVersion", "cloneAtTimestamp")
_SHOWN = ("__repr__", "_repr_html_")
for _name in _methods():
    if _name not in vars(ServedTable):
        setattr(ServedTable, _name, _forwarded(_name))
