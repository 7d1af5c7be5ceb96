"""The internals of Spark behind its Parquet writer (see the package for its rules).

`FileStreamSink`, made for streams, writes each file under its final name and leaves a manifest of
the files of successful tasks: no renames, no listing, and nothing of failed attempts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from lakebed.formats.arrow_types import to_arrow_schema
from lakebed.spark.internals.jvm import JavaObject, Jvm
from lakebed.spec.schema import StructType

MANIFEST = "_spark_metadata/0"
"""Where the sink lists the files that it wrote, below its folder."""


class ParquetSink:
    """Spark's Parquet writer for one session, with settings of its own."""

    def __init__(self, jvm: Jvm, settings: Mapping[str, str]) -> None:
        self._jvm = jvm
        # A copy, so that the session of the user keeps its settings.
        self._session = jvm.session._jsparkSession.cloneSession()
        configuration = self._session.sessionState().conf()
        for key, value in settings.items():
            configuration.setConfString(key, value)

    def write(
        self, frame: DataFrame, folder: str, partitions: Sequence[str], options: Mapping[str, str]
    ) -> None:
        """Writes all rows to a folder that does not exist."""
        python = self._jvm._class("org.apache.spark.api.python.PythonUtils")
        sink = self._sink_class()(
            self._session,
            folder,
            self._jvm._parquet_format(),
            python.toSeq(list(partitions)),
            python.toScalaMap(dict(options)),
        )
        data = self._plan(frame)
        self._in_execution(data, self._adding(sink, data))

    def num_partitions(self, frame: DataFrame) -> int:
        """Of the tasks that would write the rows; right only if the settings forbid AQE."""
        return int(self._plan(frame).queryExecution().toRdd().getNumPartitions())

    def _plan(self, frame: DataFrame) -> JavaObject:
        """The same rows, planned by the copy of the session."""
        datasets = self._jvm._class("org.apache.spark.sql.classic.Dataset")
        return datasets.ofRows(self._session, frame._jdf.queryExecution().analyzed())

    def _sink_class(self) -> JavaObject:
        """Spark 4.1 moved it."""
        package = "org.apache.spark.sql.execution.streaming"
        older = self._jvm.session.version.startswith("4.0.")
        return self._jvm._class(f"{package}{'' if older else '.sinks'}.FileStreamSink")

    def _adding(self, sink: JavaObject, data: JavaObject) -> JavaObject:
        """`sink.addBatch(0, data)` as a Scala function without parameters."""
        jvm = self._jvm
        void, long = jvm._class("java.lang.Void").TYPE, jvm._class("java.lang.Long").TYPE
        rows = jvm._gateway.new_array(jvm._java.Class, 1)
        rows[0] = jvm._named("org.apache.spark.sql.Dataset")
        add = jvm._lookup.findVirtual(
            sink.getClass(), "addBatch", jvm._method_types.methodType(void, long, rows)
        )
        arguments = jvm._gateway.new_array(jvm._java.Object, 2)
        arguments[0], arguments[1] = jvm._class("java.lang.Long").valueOf(0), data
        bound = jvm._method_handles.insertArguments(add.bindTo(sink), 0, arguments)
        return jvm._as_interface("scala.Function0", bound)

    def _in_execution(self, data: JavaObject, body: JavaObject) -> None:
        """As a query of its own: it is in the UI, and the settings reach the executors."""
        executions = self._jvm._class("org.apache.spark.sql.execution.SQLExecution")
        executions.withNewExecutionId(data.queryExecution(), self._jvm.none(), body)


def local_rows(frame: DataFrame, schema: StructType, most: int) -> pa.Table | None:
    """The rows, if the plan itself has them and they are not more than some number.

    No job runs: Spark turns its rows into Arrow on the driver.
    """
    plan = frame._jdf.queryExecution().optimizedPlan()
    if plan.getClass().getSimpleName() != "LocalRelation" or plan.isStreaming():
        return None
    rows = plan.data()
    if rows.length() > most:
        return None
    jvm = Jvm.of(frame.sparkSession)
    batches = jvm._arrow.toBatchIterator(
        rows.iterator(), plan.schema(), most, "UTC", False, False, None
    )
    expected = to_arrow_schema(schema)
    found = []
    while batches.hasNext():
        found.append(pa.ipc.read_record_batch(pa.py_buffer(batches.next()), expected))
    return pa.Table.from_batches(found, schema=expected)


def replace_writer(make: Callable[[DataFrame], Any | None]) -> None:
    """Makes `DataFrame.write` give what `make` gives, or Spark's own writer if that is None."""
    original = ClassicDataFrame.write.fget
    assert original is not None

    def write(self: DataFrame) -> Any:
        made = make(self)
        return original(self) if made is None else made

    write.__doc__ = original.__doc__
    ClassicDataFrame.write = property(write)
