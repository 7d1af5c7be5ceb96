"""Arguments and answers of `DeltaTable` as JSON, between a client of Spark Connect and its server.

What JSON has goes as it is; all else is an object with one key that says what it is.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any

import orjson
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import DataType as SparkType
from pyspark.sql.types import StructField as SparkField
from pyspark.sql.types import StructType as SparkStruct

from lakebed.commands.health.finding import Finding, Severity
from lakebed.commands.health.health_report import Health
from lakebed.commands.vacuum.vacuum_report import VacuumResult
from lakebed.errors import InvalidArgumentError
from lakebed.spark.session.session_kind import is_connect
from lakebed.spec.schema import DataType, StructField, StructType, parse_schema, schema_to_json
from lakebed.storage.store import ObjectMeta

Packed = Any
"""What JSON has."""


ANSWER = "lakebed_answer"
"""The column of answers that are not DataFrames: one row of JSON."""
TARGET, SOURCE = "lakebed target", "lakebed source"
"""What stands before the position of a column that was taken from a DataFrame."""


class Packing:
    """The arguments of one call. Columns and the DataFrame of it travel beside the JSON."""

    def __init__(self, free: Callable[[Column], Column]) -> None:
        """`free` takes references to DataFrames out of a Column."""
        self._free = free
        self.columns: list[Column] = []
        self.source: DataFrame | None = None

    def packed(self, value: Any) -> Packed:
        if isinstance(value, Column):
            self.columns.append(self._free(value))
            return {"column": len(self.columns) - 1}
        if isinstance(value, DataFrame) or is_connect(value):
            self.source = value
            return {"frame": True}
        if isinstance(value, list):
            return [self.packed(each) for each in value]
        if isinstance(value, tuple):
            return {"tuple": [self.packed(each) for each in value]}
        if isinstance(value, Mapping):
            return {"map": [[self.packed(k), self.packed(v)] for k, v in value.items()]}
        return _packed_value(value)


def unpacked(value: Packed, columns: list[Column], source: DataFrame | None) -> Any:
    """The other way."""
    if isinstance(value, list):
        return [unpacked(each, columns, source) for each in value]
    if not isinstance(value, dict):
        return value
    (kind, inside), *_ = value.items()
    if kind == "column":
        return columns[inside]
    if kind == "frame":
        return source
    if kind == "tuple":
        return tuple(unpacked(each, columns, source) for each in inside)
    if kind == "map":
        return {unpacked(k, columns, source): unpacked(v, columns, source) for k, v in inside}
    return _KINDS[kind](inside)


def packed_answer(answer: Any) -> Packed:
    """What a method gives, other than DataFrames and tables."""
    if isinstance(answer, VacuumResult):
        values = {each.name: getattr(answer, each.name) for each in fields(answer)}
        lost = _arrow_text(answer.lost_versions)
        objects = [tuple(each) for each in answer.objects]
        broken = _arrow_text(answer.broken_streams)
        own = {"objects": objects, "lost_versions": lost, "pins": dict(answer.pins)}
        own["broken_streams"] = broken
        return {"vacuum": {**values, **own}}
    if isinstance(answer, Health):
        found = [{**asdict(each), "severity": each.severity.value} for each in answer.findings]
        values = {each.name: getattr(answer, each.name) for each in fields(answer)}
        return {"health": {**values, "findings": found}}
    return answer


def unpacked_answer(answer: Packed) -> Any:
    if isinstance(answer, dict) and "vacuum" in answer:
        given = answer["vacuum"]
        return VacuumResult(
            **{
                **given,
                "objects": tuple(ObjectMeta(*each) for each in given["objects"]),
                "lost_versions": _arrow(given["lost_versions"]),
                "broken_streams": _arrow(given["broken_streams"]),
                "unreadable_versions": tuple(given["unreadable_versions"]),
            }
        )
    if isinstance(answer, dict) and "health" in answer:
        given = answer["health"]
        found = ({**each, "severity": Severity(each["severity"])} for each in given["findings"])
        return Health(**{**given, "findings": tuple(Finding(**each) for each in found)})
    return answer


def _packed_value(value: Any) -> Packed:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, SparkField):
        return {"field": SparkStruct([value]).json()}
    if isinstance(value, SparkType):
        return {"type": SparkStruct([SparkField("_", value)]).json()}
    if isinstance(value, StructField | DataType):
        return _packed_own(value)
    if isinstance(value, pa.Table):
        return {"arrow": _arrow_text(value)}
    if isinstance(value, pa.Schema):
        return {"arrow_schema": _arrow_text(value)}
    if isinstance(value, pa.Field):
        return {"arrow_field": _arrow_text(pa.schema([value]))}
    if isinstance(value, pa.DataType):
        return {"arrow_type": _arrow_text(pa.schema([("_", value)]))}
    raise InvalidArgumentError(
        f"a value of type {type(value).__name__} cannot be sent to a server of Spark Connect",
        hint="give texts, numbers, Columns, DataFrames, or types and schemas of Spark or Arrow",
    )


def _packed_own(value: StructField | DataType) -> Packed:
    if isinstance(value, StructField):
        return {"own_field": schema_to_json(StructType((value,)))}
    return {"own_type": schema_to_json(StructType((StructField("_", value),)))}


def _arrow_text(value: pa.Table | pa.Schema) -> str:
    schema = value if isinstance(value, pa.Schema) else value.schema
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        if isinstance(value, pa.Table):
            writer.write_table(value)
    return base64.b64encode(sink.getvalue()).decode()


def _arrow(text: str) -> pa.Table:
    with pa.ipc.open_stream(base64.b64decode(text)) as reader:
        return reader.read_all()


def _spark_struct(text: str) -> SparkStruct:
    return SparkStruct.fromJson(orjson.loads(text))


_KINDS: dict[str, Callable[[str], Any]] = {
    "field": lambda text: _spark_struct(text).fields[0],
    "type": lambda text: _spark_struct(text).fields[0].dataType,
    "own_field": lambda text: parse_schema(text).fields[0],
    "own_type": lambda text: parse_schema(text).fields[0].data_type,
    "arrow": _arrow,
    "arrow_schema": lambda text: _arrow(text).schema,
    "arrow_field": lambda text: _arrow(text).schema.field(0),
    "arrow_type": lambda text: _arrow(text).schema.field(0).type,
}
