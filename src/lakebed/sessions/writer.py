"""`df.write` of a session that Lakebed is enabled for: `format("delta")` comes here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakebed.sessions.save import save
from lakebed.sessions.write_request import WriteRequest

Columns = str | Sequence[str]


@lru_cache
def writer_class(base: type[Any]) -> type[Any]:
    """Spark's writer, which also writes Delta tables. `base` is the classic one or Connect's."""

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
