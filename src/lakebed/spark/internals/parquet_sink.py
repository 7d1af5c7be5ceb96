"""The internals of Spark behind its Parquet writer (see the package for its rules).

`FileFormatWriter` runs the job, with the commit protocol that Spark has for streams of files: each
file gets its final name at once, and tasks report what they wrote. `TableWrites.java` takes the
reports of the attempts that count: no renames, no listing, and nothing of failed attempts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from lakebed.formats.arrow_types import to_arrow_schema
from lakebed.spark.internals.jvm import JavaObject, Jvm
from lakebed.spark.internals.startup.rules import TABLE_WRITES, compiled
from lakebed.spec.schema import StructType


@dataclass(frozen=True)
class WrittenFile:
    """`uri` is percent-encoded."""

    uri: str
    size: int
    modified_ms: int


class ParquetSink:
    """Spark's Parquet writer for one session, with settings of its own."""

    def __init__(
        self, jvm: Jvm, settings: Mapping[str, str], hadoop: Mapping[str, str] | None = None
    ) -> None:
        self._jvm = jvm
        self._hadoop = hadoop or {}
        # A copy, so that the session of the user keeps its settings.
        self._session = jvm.session._jsparkSession.cloneSession()
        configuration = self._session.sessionState().conf()
        for key, value in settings.items():
            configuration.setConfString(key, value)

    def write(
        self, frame: DataFrame, folder: str, num_partition_columns: int, options: Mapping[str, str]
    ) -> list[WrittenFile]:
        """Writes all rows to files in a folder, or in folders of it for partitions.

        The last columns are those that partition the rows. The folder may have other files.
        """
        writes = compiled(self._jvm.session, TABLE_WRITES)
        settings = writing_settings(self._jvm, folder, {}, self._session)
        # There may be one for each column: a call for all of them.
        pairs = (text for pair in self._hadoop.items() for text in pair)
        writes.configure(settings, self._jvm.strings(list(pairs)))
        lines = writes.write(
            self._session,
            self._plan(frame).queryExecution(),
            self._jvm._parquet_format,
            folder,
            num_partition_columns,
            dict(options),
            settings,
        )
        return [_file(line) for line in lines.splitlines()]

    def num_partitions(self, frame: DataFrame) -> int:
        """Of the tasks that would write the rows; right only if the settings forbid AQE."""
        return int(self._plan(frame).queryExecution().toRdd().getNumPartitions())

    def _plan(self, frame: DataFrame) -> JavaObject:
        """The same rows, planned by the copy of the session."""
        datasets = self._jvm._class("org.apache.spark.sql.classic.Dataset")
        return datasets.ofRows(self._session, frame._jdf.queryExecution().analyzed())


def writing_settings(
    jvm: Jvm, folder: str, hadoop: Mapping[str, str], session: JavaObject | None = None
) -> JavaObject:
    """Settings of Hadoop for a job that writes files to a folder, and nothing else that it does.

    On a disk Hadoop would keep a file of checksums beside each file. The file system below the one
    that does so writes none; `FileSystem` keeps one instance for a scheme, hence the second key.
    Connectors for object stores have buffers on the disk, and need the usual file system there.
    """
    state = (session or jvm.session._jsparkSession).sessionState()
    settings = state.newHadoopConf()
    if folder.lower().startswith("file:") and settings.get(_DISK) in (None, _CHECKSUMMED):
        settings.set(_DISK, "org.apache.hadoop.fs.RawLocalFileSystem")
        settings.set(f"{_DISK}.disable.cache", "true")
    for key, value in hadoop.items():
        settings.set(key, value)
    return settings


def _file(line: str) -> WrittenFile:
    size, modified, uri = line.split("\t")
    return WrittenFile(uri, int(size), int(modified))


_DISK = "fs.file.impl"
_CHECKSUMMED = "org.apache.hadoop.fs.LocalFileSystem"


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
