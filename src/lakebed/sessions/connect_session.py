"""Sessions of Spark Connect whose server does not know Delta tables.

`spark.read` and `df.write` of paths go through Python workers. All else that is about Delta tables
is an error that says which server to use.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakebed.sessions.save import save
from lakebed.sessions.write_request import WriteRequest
from lakebed.spark.errors.encoded_errors import find_encoded
from lakebed.spark.errors.rule_errors import broken_rule
from lakebed.spark.errors.server_errors import server_error
from lakebed.spark.internals.connect import client as internals
from lakebed.spark.read.read_request import ReadRequest
from lakebed.spark.session.session_kind import is_enabled

Columns = str | Sequence[str]


def install(spark: SparkSession) -> None:
    """Replaces Spark's reader and writer, once for the process, in sessions that are enabled."""
    global _installed
    with _lock:
        if not _installed:
            internals.replace_reader(_reader)
            internals.replace_writer(_writer)
            internals.convert_errors(lambda text: find_encoded(text) or broken_rule(text))
            _installed = True
    internals.replace_errors(spark, server_error)


def _reader(spark: SparkSession) -> Any | None:
    return reader_class(internals.DataFrameReader)(spark) if is_enabled(spark) else None


def _writer(frame: DataFrame) -> Any | None:
    if not is_enabled(frame.sparkSession):
        return None
    return writer_class(internals.FrameWriter)(frame)


@lru_cache
def reader_class(base: type[Any]) -> type[Any]:
    """Spark's reader, which also reads Delta tables. `base` is that of Spark Connect."""

    class DeltaReader(base):
        """Spark's reader, which also reads Delta tables."""

        def __init__(self, spark: SparkSession) -> None:
            super().__init__(spark)
            self._session = spark
            self._request = ReadRequest()

        def format(self, source: str) -> Any:
            self._request.format = source
            super().format(source)
            return self

        def option(self, key: str, value: Any) -> Any:
            self._request.set(key, value)
            super().option(key, value)
            return self

        def options(self, **options: Any) -> Any:
            for key, value in options.items():
                self._request.set(key, value)
            super().options(**options)
            return self

        def schema(self, schema: Any) -> Any:
            self._request.has_schema = True
            super().schema(schema)
            return self

        def load(
            self,
            path: Any = None,
            format: str | None = None,
            schema: Any = None,
            **options: Any,
        ) -> DataFrame:
            source = format or self._request.format or _default_source(self._session)
            if source.lower() != "delta":
                return super().load(path, format, schema, **options)
            if schema is not None:
                self.schema(schema)
            return self.options(**options)._request.load(self._session, path)

    DeltaReader.__qualname__ = "DeltaReader"
    return DeltaReader


@lru_cache
def writer_class(base: type[Any]) -> type[Any]:
    """Spark's writer, which also writes Delta tables. `base` is that of Spark Connect."""

    class DeltaWriter(base):
        """Spark's writer, which also writes Delta tables."""

        def __init__(self, frame: DataFrame) -> None:
            super().__init__(frame)
            self._frame = frame
            self._request = WriteRequest()

        def format(self, source: str) -> Any:
            self._request.format = source
            return super().format(source)

        def mode(self, saveMode: str | None) -> Any:
            if saveMode:
                self._request.mode = saveMode
            return super().mode(saveMode)

        def option(self, key: str, value: Any) -> Any:
            self._request.set(key, value)
            return super().option(key, value)

        def options(self, **options: Any) -> Any:
            for key, value in options.items():
                self._request.set(key, value)
            return super().options(**options)

        def partitionBy(self, *cols: Columns) -> Any:
            self._request.partition_by = _names(cols)
            return super().partitionBy(*cols)

        def bucketBy(self, *arguments: Any) -> Any:
            self._request.refused = "bucketBy"
            return super().bucketBy(*arguments)

        def sortBy(self, *arguments: Any) -> Any:
            self._request.refused = "sortBy"
            return super().sortBy(*arguments)

        def clusterBy(self, *cols: Columns) -> Any:
            self._request.cluster_by = _names(cols)
            return super().clusterBy(*cols)

        def save(
            self,
            path: Any = None,
            format: str | None = None,
            mode: str | None = None,
            partitionBy: Columns | None = None,
            **options: Any,
        ) -> None:
            if not self._is_delta(format):
                super().save(path, format, mode, partitionBy, **options)
                return
            self.mode(mode).options(**options)
            if partitionBy is not None:
                self._request.partition_by = _names((partitionBy,))
            save(self._frame, self._request, self._request.path(path))

        def _is_delta(self, format: str | None) -> bool:
            source = format or self._request.format or _default_source(self._frame.sparkSession)
            return bool(source.lower() == "delta")

    DeltaWriter.__qualname__ = "DeltaWriter"
    return DeltaWriter


def _names(columns: Sequence[Columns]) -> tuple[str, ...]:
    """One list of names, or the names themselves."""
    if len(columns) == 1 and not isinstance(columns[0], str):
        return tuple(columns[0])
    return tuple(str(each) for each in columns)


def _default_source(session: SparkSession) -> str:
    return str(session.conf.get("spark.sql.sources.default", "parquet"))


_lock = threading.Lock()
_installed = False
