"""One side of `bench/services.py`, in a process of its own: puts copies of tables in order.

    python bench/_services_side.py SIDE SETTINGS

All sides are asked for files of the same size; `bench/services.py` looks at what they made of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import _side_process as process

FILE_SIZE = "spark.databricks.delta.optimize.maxFileSize"
"""Both Sparks know it. Files that are smaller are small."""


class Lakebed(process.Lakebed):
    def compact(self, path: str, size: int) -> None:
        self._spark.conf.set(FILE_SIZE, str(size))
        self._table(path).optimize().executeCompaction()

    def zorder(self, path: str, size: int, columns: Sequence[str]) -> None:
        self._spark.conf.set(FILE_SIZE, str(size))
        self._table(path).optimize().executeZOrderBy(*columns)

    def cluster_by(self, path: str, columns: Sequence[str]) -> None:
        import lakebed

        lakebed.open(path).cluster_by(list(columns))


class DeltaSpark(process.DeltaSpark):
    def compact(self, path: str, size: int) -> None:
        self._spark.conf.set(FILE_SIZE, str(size))
        self._spark.sql(f"OPTIMIZE delta.`{path}`")

    def zorder(self, path: str, size: int, columns: Sequence[str]) -> None:
        self._spark.conf.set(FILE_SIZE, str(size))
        self._spark.sql(f"OPTIMIZE delta.`{path}` ZORDER BY ({', '.join(columns)})")

    def cluster_by(self, path: str, columns: Sequence[str]) -> None:
        self._spark.sql(f"ALTER TABLE delta.`{path}` CLUSTER BY ({', '.join(columns)})")


class Deltalake(process.Deltalake):
    """It would compress with a slower codec than Spark if it were not told otherwise."""

    def compact(self, path: str, size: int) -> None:
        self._table(path).optimize.compact(target_size=size, writer_properties=self._codec())

    def zorder(self, path: str, size: int, columns: Sequence[str]) -> None:
        self._table(path).optimize.z_order(
            columns, target_size=size, writer_properties=self._codec()
        )

    def _codec(self) -> Any:
        import deltalake

        return deltalake.WriterProperties(compression="SNAPPY")


if __name__ == "__main__":
    process.serve({"lakebed": Lakebed, "delta-spark": DeltaSpark, "deltalake": Deltalake})
