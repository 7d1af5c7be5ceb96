"""Java code that Spark's executors compile and run over rows (see the package for its rules).

Spark sends the code that it generates to its executors as text. The class that does so takes any
text, so Lakebed's code gets there too, with no JAR and nothing installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from pyspark.sql import DataFrame

from lakebed.data_files.curves import Curve
from lakebed.spark.internals.jvm import JavaObject, Jvm
from lakebed.spark.internals.parquet_sink import writing_settings


class MarkedRows:
    """Notes the rows of a DataFrame that pass by; see `MarkedRows.java` for what comes out."""

    def __init__(self, frame: DataFrame, file: str, position: str, sums: Sequence[str]) -> None:
        self._jvm = Jvm.of(frame.sparkSession)
        self._frame = frame
        names = list(frame.columns)
        self._places = [names.index(file), names.index(position)]
        self._sums = [names.index(name) for name in sums]
        self._messages = _accumulator(self._jvm)

    def passing(self) -> DataFrame:
        """The same rows. What was noted is known when a job has written them all."""
        rows = self._rows("rows")
        return self._as_frame(rows, self._frame._jdf.schema())

    def bitmaps(self) -> DataFrame:
        """A row for each file and task, or some: they begin with the column of the file."""
        names = list(self._frame.columns)
        numbers = [f"`{names[place]}` long" for place in self._sums]
        text = ", ".join(
            [f"`{names[self._places[0]]}` int", "upper int", "seen long", *numbers, "bitmap binary"]
        )
        schema = self._jvm._class("org.apache.spark.sql.types.StructType").fromDDL(text)
        return self._as_frame(self._rows("bitmaps"), schema)

    def run(self) -> list[bytes]:
        """Reads all rows, in a job of its own; what was noted."""
        rows = self._rows("nothing")
        _run_in_execution(self._jvm, self._frame, rows, "count")
        return self.noted()

    def noted(self) -> list[bytes]:
        return _values(self._messages)

    def _rows(self, output: str) -> JavaObject:
        return _evaluated(
            self._jvm,
            self._frame,
            "MarkedRows",
            [*self._places, _ints(self._jvm, self._sums), output, self._messages],
        )

    def _as_frame(self, rows: JavaObject, schema: JavaObject) -> DataFrame:
        return _frame_of(self._jvm, rows, schema)


def store_marks(
    bitmaps: DataFrame,
    root: str,
    prefix_length: int,
    hadoop: Mapping[str, str],
    vectors: str,
    num_sums: int,
) -> list[bytes]:
    """Writes vectors of the rows that `MarkedRows.bitmaps` gives, those of a file in one row after
    the other; see `StoredMarks.java` for what is reported."""
    jvm = Jvm.of(bitmaps.sparkSession)
    settings = writing_settings(jvm, root, hadoop)
    hadoop_conf = jvm._class("org.apache.spark.util.SerializableConfiguration")(settings)
    messages = _accumulator(jvm)
    given = [root, prefix_length, hadoop_conf, vectors, num_sums, messages]
    _run_in_execution(jvm, bitmaps, _evaluated(jvm, bitmaps, "StoredMarks", given), "count")
    return _values(messages)


def with_parts(
    frame: DataFrame,
    columns: Sequence[str],
    kinds: Sequence[str],
    curve: Curve,
    starts: Sequence[int],
    marks: Sequence[int],
    name: str,
) -> DataFrame:
    """The rows with the part of a space-filling curve that each is on, as one column more.

    `CurveKeys.java` describes the arguments and the column.
    """
    jvm = Jvm.of(frame.sparkSession)
    names = list(frame.columns)
    bounds = jvm._gateway.new_array(jvm._java.Object, len(columns))
    for place, (kind, values) in enumerate(zip(kinds, curve.bounds, strict=True)):
        bounds[place] = _array(jvm, kind, values)
    given = [
        _ints(jvm, [names.index(column) for column in columns]),
        jvm.strings(kinds),
        bounds,
        curve.bits,
        curve.kind == "hilbert",
        _array(jvm, "long", starts),
        _ints(jvm, marks),
    ]
    rows = _evaluated(jvm, frame, "CurveKeys", given)
    return _frame_of(jvm, rows, frame._jdf.schema().add(name, "int", False))


def _evaluated(jvm: Jvm, frame: DataFrame, name: str, references: Sequence[Any]) -> JavaObject:
    """The rows of a DataFrame after the code of a file, as an RDD of Spark's own rows."""
    code = jvm._class("org.apache.spark.sql.catalyst.expressions.codegen.CodeAndComment")(
        _source(name), jvm._class("scala.collection.immutable.Map$").__getattr__("MODULE$").empty()
    )
    metrics = jvm._class("org.apache.spark.sql.execution.metric.SQLMetrics")
    metric = metrics.createMetric(jvm._context._jsc.sc(), f"lakebed {name}")
    given = jvm._gateway.new_array(jvm._java.Object, len(references))
    for place, value in enumerate(references):
        given[place] = value
    factory = jvm._class("org.apache.spark.sql.execution.WholeStageCodegenEvaluatorFactory")(
        jvm._class("scala.util.Right")(code), metric, given
    )
    rows = frame._jdf.queryExecution().toRdd()
    return rows.mapPartitionsWithEvaluator(factory, jvm._row_tag)


def _accumulator(jvm: Jvm) -> JavaObject:
    """One without a name, so that its values do not go to the UI and the event log."""
    accumulator = jvm._class("org.apache.spark.util.CollectionAccumulator")()
    jvm._context._jsc.sc().register(accumulator)
    return accumulator


def _values(accumulator: JavaObject) -> list[bytes]:
    """Spark takes the values of each task of an action once, and none of attempts that failed."""
    found = accumulator.value()
    return [bytes(found.get(i)) for i in range(found.size())]


def _frame_of(jvm: Jvm, rows: JavaObject, schema: JavaObject) -> DataFrame:
    session = jvm.session
    return DataFrame(session._jsparkSession.internalCreateDataFrame(rows, schema, False), session)


def _run_in_execution(jvm: Jvm, frame: DataFrame, rows: JavaObject, method: str) -> None:
    """Calls a method of an RDD as a query of its own, so that the UI shows the plan."""
    long = jvm._class("java.lang.Long").TYPE
    found = jvm._lookup.findVirtual(
        jvm._named("org.apache.spark.rdd.RDD"), method, jvm._method_types.methodType(long)
    )
    body: Callable[..., Any] = jvm._as_interface("scala.Function0", found.bindTo(rows))
    executions = jvm._class("org.apache.spark.sql.execution.SQLExecution")
    executions.withNewExecutionId(frame._jdf.queryExecution(), jvm.none(), body)


@cache
def _source(name: str) -> str:
    return files("lakebed.spark.internals").joinpath(f"{name}.java").read_text("utf-8")


def _ints(jvm: Jvm, values: Sequence[int]) -> JavaObject:
    array = jvm._gateway.new_array(jvm._context._jvm.int, len(values))
    for place, value in enumerate(values):
        array[place] = value
    return array


def _array(jvm: Jvm, kind: str, values: Sequence[Any]) -> JavaObject:
    types = jvm._context._jvm
    kinds = {"long": types.long, "double": types.double, "text": jvm._java.String}
    array = jvm._gateway.new_array(kinds[kind], len(values))
    for place, value in enumerate(values):
        array[place] = value
    return array
