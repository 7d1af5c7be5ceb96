"""Spark's `FileIndex` over files that a Python object knows (see `DeltaFiles.java`)."""

from __future__ import annotations

from pyspark.sql import Column

from lakebed.spark.internals.jvm import JavaObject, Jvm
from lakebed.spark.internals.session.rules import DELTA_FILES, compiled


class DeltaFiles:
    """What makes indexes, and parts of their answers."""

    def __init__(self, jvm: Jvm) -> None:
        self._maker = compiled(jvm.session, DELTA_FILES)

    def index(
        self,
        python: object,
        name: str,
        root: str,
        partition_schema: JavaObject,
        *,
        is_time_travel: bool,
        kept: Column | None = None,
        hidden: JavaObject | None = None,
    ) -> JavaObject:
        """The index; `python` is a `java.util.function.BiFunction` that answers its questions.

        `kept` is the condition that leaves out deleted rows, on the two columns of `hidden`.
        """
        condition = None if kept is None else kept._jc
        return self._maker.of(
            python, name, root, partition_schema, is_time_travel, condition, hidden
        )

    def directories(self, rows: JavaObject, encoded: bytes) -> JavaObject:
        """A `Seq[PartitionDirectory]`: the i-th row of an `InternalRow[]` with the i-th files.

        Files are in Hadoop's serialisation; see `file_status.encode_groups`.
        """
        return self._maker.directories(rows, encoded)

    def statuses(self, encoded: bytes) -> JavaObject:
        """The files alone, as a `FileStatus[][]`."""
        return self._maker.statuses(encoded)

    def holds_plan(self, expressions: JavaObject) -> bool:
        """Whether some expression of the sequence has a value that another plan gives."""
        return bool(self._maker.holdsPlan(expressions))
