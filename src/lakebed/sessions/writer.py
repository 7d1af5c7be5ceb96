"""`df.write` of a session that Lakebed is enabled for: `format("delta")` comes here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakebed.commands.frame_replace import ReplacingRows
from lakebed.commands.optimize.auto import auto_compact
from lakebed.commands.optimize.clustered_writes import ClusteredWrites
from lakebed.commands.row_target import RowTarget
from lakebed.commands.write import write_table
from lakebed.errors import UnsupportedFeatureError
from lakebed.log.table_log import TableLog
from lakebed.sessions import settings as names
from lakebed.sessions.settings import SessionSettings
from lakebed.sessions.write_request import WriteRequest
from lakebed.spark.internals.call_sites import without_call_sites
from lakebed.spark.location import open_location
from lakebed.spark.planes import plane_for

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
            _save(self._frame, self._request, path)

        def saveAsTable(self, name: str, format: str | None = None, *args: Any, **kw: Any) -> None:
            if self._is_delta(format):
                raise _by_name("saveAsTable", name)
            super().saveAsTable(name, format, *args, **kw)

        def _is_delta(self, format: str | None) -> bool:
            source = format or self._request.format or _default_source(self._frame.sparkSession)
            return bool(source.lower() == "delta")

    DeltaWriter.__qualname__ = "DeltaWriter"
    return DeltaWriter


@without_call_sites()
def _save(frame: DataFrame, request: WriteRequest, path: Any) -> None:
    session = frame.sparkSession
    settings = SessionSettings.of(session)
    options = request.options(settings)
    store, root = open_location(session, request.path(path), request.others())
    plane, log = plane_for(session, store, root, request.others()), TableLog(store)
    rows = ReplacingRows(
        frame,
        plane,
        store,
        request.file_settings(settings),
        request.optimize(settings),
        settings.flag(names.COLLECT_STATS, True),
        settings.text(names.COMPRESSION),
        ClusteredWrites(log, plane, settings.values, options.cluster_by).arranged,
    )
    written = write_table(log, rows, options)
    auto_compact(RowTarget(session, log, plane), written)
    if settings.flag(names.TXN_RESET, False) and settings.text(names.TXN_VERSION) is not None:
        session.conf.unset(names.TXN_VERSION)


def _names(columns: Sequence[Columns]) -> tuple[str, ...]:
    """One list of names, or the names themselves."""
    if len(columns) == 1 and not isinstance(columns[0], str):
        return tuple(columns[0])
    return tuple(str(each) for each in columns)


def _default_source(session: SparkSession) -> str:
    return str(session.conf.get("spark.sql.sources.default", "parquet"))


def _by_name(what: str, name: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"{what}({name!r}): Delta tables have no names yet",
        hint='write to a path: df.write.format("delta").save("/data/orders")',
    )
