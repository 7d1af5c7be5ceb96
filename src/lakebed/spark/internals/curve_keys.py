"""Rows on a space-filling curve, by code for executors (see the package, and `marked_rows`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from lakebed.data_files.curves import Curve
from lakebed.spark.internals.jvm import JavaObject, Jvm
from lakebed.spark.internals.marked_rows import evaluated, frame_of, ints


def with_parts(
    frame: DataFrame,
    columns: Sequence[str],
    kinds: Sequence[str],
    curve: Curve,
    starts: Sequence[int],
    marks: Sequence[int],
    name: str,
) -> DataFrame:
    """The rows with one column more; `CurveKeys.java` says what it is and what is given."""
    jvm = Jvm.of(frame.sparkSession)
    names = list(frame.columns)
    bounds = jvm._gateway.new_array(jvm._java.Object, len(columns))
    for place, (kind, values) in enumerate(zip(kinds, curve.bounds, strict=True)):
        bounds[place] = _array(jvm, kind, values)
    given = [
        ints(jvm, [names.index(column) for column in columns]),
        jvm.strings(kinds),
        bounds,
        curve.bits,
        curve.kind == "hilbert",
        _array(jvm, "long", starts),
        ints(jvm, marks),
    ]
    rows = evaluated(jvm, frame, "CurveKeys", given)
    return frame_of(jvm, rows, frame._jdf.schema().add(name, "int", False))


def _array(jvm: Jvm, kind: str, values: Sequence[Any]) -> JavaObject:
    types = jvm._context._jvm
    kinds = {"long": types.long, "double": types.double, "text": jvm._java.String}
    array = jvm._gateway.new_array(kinds[kind], len(values))
    for place, value in enumerate(values):
        array[place] = value
    return array
