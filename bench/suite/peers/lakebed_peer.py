"""Lakebed, on Spark and without."""

from __future__ import annotations

import importlib.metadata
from typing import Any

from suite.peers.base import After
from suite.peers.on_spark import OnSpark, at_once
from suite.rows import FILE_SIZE, one_row


class Lakebed(OnSpark):
    def session(self) -> Any:
        import lakebed

        return lakebed.session("bench", **self.settings)

    def about(self) -> dict[str, Any]:
        return {"version": importlib.metadata.version("lakebed"), **super().about()}

    def _table(self, path: str) -> Any:
        import lakebed

        return lakebed.DeltaTable.forPath(self.spark, path)

    # --- changing rows --------------------------------------------------------------------------

    def merge(self, path: str, source: str, key: str) -> None:
        rows = self.spark.read.parquet(source).alias("s")
        merge = self._table(path).alias("t").merge(rows, key)
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    def merge_delete(self, path: str, source: str, key: str) -> None:
        rows = self.spark.read.parquet(source).alias("s")
        self._table(path).alias("t").merge(rows, key).whenMatchedDelete().execute()

    def delete(self, path: str, where: str) -> None:
        self._table(path).delete(where)

    # --- services -------------------------------------------------------------------------------

    def compact(self, path: str, size: int) -> None:
        self.spark.conf.set(FILE_SIZE, str(size))
        self._table(path).optimize().executeCompaction()

    def zorder(self, path: str, size: int, columns: list[str]) -> None:
        self.spark.conf.set(FILE_SIZE, str(size))
        self._table(path).optimize().executeZOrderBy(*columns)

    def vacuum(self, path: str) -> None:
        self.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        self._table(path).vacuum(0)

    # --- without Spark --------------------------------------------------------------------------

    def arrow_list_files(self, path: str) -> After:
        import lakebed

        files = lakebed.open(path).files()["path"]
        return lambda: [len(files)]

    def arrow_skip(self, path: str, where: str, partition: list[str]) -> After:  # noqa: ARG002
        import lakebed

        files = lakebed.open(path).files(where=where)["path"]
        return lambda: [len(files)]

    def arrow_append(self, path: str, times: int = 1) -> None:
        import lakebed

        for number in range(times):
            lakebed.write(path, one_row(number))

    def arrow_append_by(self, path: str, writers: int, times: int) -> None:
        at_once(writers, lambda: self.arrow_append(path, times))
