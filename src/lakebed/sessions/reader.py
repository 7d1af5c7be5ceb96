"""`spark.read` of a session that Lakebed is enabled for: `format("delta")` comes here."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakebed.spark.read.read_request import ReadRequest


@lru_cache
def reader_class(base: type[Any]) -> type[Any]:
    """Spark's reader, which also reads Delta tables. `base` is the classic one or Connect's."""

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


def _default_source(session: SparkSession) -> str:
    return str(session.conf.get("spark.sql.sources.default", "parquet"))
