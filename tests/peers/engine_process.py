"""One engine in a process of its own: runs statements and programs, and answers in JSON.

    python tests/peers/engine_process.py ENGINE SETTINGS

A request has steps, which run in order:

    {"sql": TEXT, "columns": [...]}      a statement; only these columns of its result, if given
    {"program": NAME, "given": {...}}    a function of `programs.py`, or of MODULE.NAME
    {"conf": {NAME: VALUE or null}}      settings of the session; null removes one

A step with "must" that fails ends the request. Each step is answered with its result or its error.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math
import sys
from importlib import import_module
from typing import Any

import peer_process


def main() -> None:
    answers = peer_process.answer_stream()
    engine, settings = sys.argv[1], json.loads(sys.argv[2])
    spark = _lakebed(settings) if engine == "lakebed" else _delta_spark(settings)
    spark.sparkContext.setLogLevel("ERROR")
    peer_process.serve(
        answers,
        {"spark": spark.version},
        lambda request: {"answers": _answers(spark, request["steps"])},
    )
    spark.stop()


def _lakebed(settings: dict[str, str]) -> Any:
    import lakebed

    return lakebed.session("peers", **settings)


def _delta_spark(settings: dict[str, str]) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("peers")
    for name, value in {**settings, **peer_process.DELTA_SPARK_SETTINGS}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _answers(spark: Any, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    answers = []
    for step in steps:
        try:
            answers.append(_answer(spark, step))
        # Every error is an answer: which ones both engines have is what is compared.
        except Exception as error:  # noqa: BLE001
            answers.append({"error": _error(error)})
            if step.get("must"):
                break
    return answers


def _answer(spark: Any, step: dict[str, Any]) -> dict[str, Any]:
    if "conf" in step:
        for name, value in step["conf"].items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)
        return {}
    if "sql" in step:
        result = spark.sql(step["sql"])
    else:
        module, _, name = step["program"].rpartition(".")
        result = getattr(import_module(module or "programs"), name)(spark, **step["given"])
    if step.get("columns") is not None:
        result = result.select(*step["columns"])
    return _content(result)


def _content(result: Any) -> dict[str, Any]:
    """Of a DataFrame; programs may also answer with a plain value, or with nothing."""
    if not hasattr(result, "collect"):
        return {"value": _plain(result)}
    rows = [[_plain(value) for value in row] for row in result.collect()]
    fields = result.schema.fields
    types = [field.dataType.simpleString() for field in fields]
    return {"columns": [field.name for field in fields], "types": types, "rows": rows}


def _plain(value: Any) -> Any:
    """As JSON has it, without losing what a value is."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray)):
        return "bytes " + base64.b16encode(value).decode()
    if isinstance(value, decimal.Decimal):
        return f"decimal {value}"
    if hasattr(value, "asDict"):
        return {name: _plain(inner) for name, inner in value.asDict().items()}
    if isinstance(value, dict):
        pairs = [[_plain(key), _plain(inner)] for key, inner in value.items()]
        return sorted(pairs, key=repr)
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)


def _error(error: Exception) -> dict[str, Any]:
    """The class, Spark's or Lakebed's name of the condition, and the message."""
    condition = None
    for name in ("getCondition", "getErrorClass"):
        if condition is None and hasattr(error, name):
            condition = getattr(error, name)()
    condition = condition or getattr(error, "code", None)
    # Errors of Java that PySpark does not know say what happened only there.
    cause = getattr(error, "java_exception", None)
    return {
        "class": type(error).__name__,
        "condition": condition if condition is None else str(condition),
        "message": str(error if cause is None else cause.toString())[:1500],
    }


if __name__ == "__main__":
    main()
