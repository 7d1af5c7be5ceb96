"""One side of `bench/dml.py`, in a process of its own: makes the table, and changes copies of it.

    python bench/_dml_side.py SIDE SETTINGS

All sides are asked for the same; `bench/dml.py` looks at what they made of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import _side_process as process

FILES = 16
DELETED = "id % 100 = 7"
UPDATED = "id % 100 = 13"
MERGED = "id % 100 = 42"
"""Rows that the source of MERGE has new values for."""
ABSENT = "id % 1000 = 999"
"""Ids that the table leaves out, so that rows to insert fall between all others."""
VECTORS = {"delta.enableDeletionVectors": "true"}


class _Made(process.OnSpark):
    """With the table, and the rows to merge into it."""

    def make(self, table: str, source: str, rows: int) -> None:
        ids = self._spark.range(0, rows, 1, FILES).selectExpr("id + id div 999 AS id")
        _columns(ids).write.format("delta").options(**VECTORS).save(table)
        new = self._spark.range(0, _end(rows), 1, 2).where(f"{MERGED} OR {ABSENT}")
        # In no order, as rows arrive; and a Delta table, which no side has to copy to be sure that
        # it stays the same.
        rows_to_merge = _columns(new).withColumns(self._merged()).orderBy("name")
        rows_to_merge.coalesce(1).write.format("delta").save(source)

    def _merged(self) -> dict[str, Any]:
        from pyspark.sql.functions import expr

        return {"price": expr("price + 0.5D"), "name": expr("concat('merged ', id % 7919)")}


class Lakebed(process.Lakebed, _Made):
    def merge(self, path: str, source: str) -> None:
        rows = self._spark.read.format("delta").load(source).alias("s")
        merge = self._table(path).alias("t").merge(rows, "t.id = s.id")
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    def delete(self, path: str, source: str) -> None:  # noqa: ARG002
        self._table(path).delete(DELETED)

    def update(self, path: str, source: str) -> None:  # noqa: ARG002
        self._table(path).update(UPDATED, {"price": "price + 1", "name": "concat(name, '!')"})


class DeltaSpark(process.DeltaSpark, _Made):
    def merge(self, path: str, source: str) -> None:
        self._spark.sql(
            f"MERGE INTO delta.`{path}` t USING delta.`{source}` s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    def delete(self, path: str, source: str) -> None:  # noqa: ARG002
        self._spark.sql(f"DELETE FROM delta.`{path}` WHERE {DELETED}")

    def update(self, path: str, source: str) -> None:  # noqa: ARG002
        self._spark.sql(
            f"UPDATE delta.`{path}` SET price = price + 1, name = concat(name, '!') WHERE {UPDATED}"
        )


class _MadeOnArrow(process.Side):
    """The same without Spark."""

    def make(self, table: str, source: str, rows: int) -> None:
        import numpy as np
        import pyarrow.parquet as pq

        for first, end in _parts(rows):
            numbers = np.arange(first, end)
            self._append(table, _arrow(numbers + numbers // 999))
        ids = np.arange(_end(rows))
        new = _arrow(ids[(ids % 100 == 42) | (ids % 1000 == 999)], merged=True)
        pq.write_table(new.sort_by("name"), source)

    @abstractmethod
    def _append(self, table: str, rows: Any) -> None: ...


class Standalone(_MadeOnArrow, process.Standalone):
    def _append(self, table: str, rows: Any) -> None:
        import lakebed

        lakebed.write(table, rows, properties={} if Path(table).exists() else VECTORS)

    def merge(self, path: str, source: str) -> None:
        import pyarrow.parquet as pq

        merge = self._table(path).merge(
            pq.read_table(source), "t.id = s.id", source_alias="s", target_alias="t"
        )
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def delete(self, path: str, source: str) -> None:  # noqa: ARG002
        self._table(path).delete(DELETED)

    def update(self, path: str, source: str) -> None:  # noqa: ARG002
        self._table(path).update({"price": "price + 1", "name": "concat(name, '!')"}, UPDATED)


class Deltalake(_MadeOnArrow, process.Deltalake):
    """It writes no vectors, so it copies all files."""

    def _append(self, table: str, rows: Any) -> None:
        import deltalake

        deltalake.write_deltalake(table, rows, mode="append")

    def merge(self, path: str, source: str) -> None:
        import pyarrow.parquet as pq

        merge = self._table(path).merge(
            pq.read_table(source), "t.id = s.id", source_alias="s", target_alias="t"
        )
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def delete(self, path: str, source: str) -> None:  # noqa: ARG002
        self._table(path).delete(DELETED)

    def update(self, path: str, source: str) -> None:  # noqa: ARG002
        values = {"price": "price + 1", "name": "concat(name, '!')"}
        self._table(path).update(updates=values, predicate=UPDATED)


def _end(rows: int) -> int:
    """The first id after those of a table of so many rows."""
    return rows + (rows - 1) // 999


def _columns(ids: Any) -> Any:
    """Six columns of the kinds that tables have. Prices are quarters, which add up exactly."""
    return ids.selectExpr(
        "id",
        "cast(id % 1000 AS int) AS shop",
        "id * 0.25D AS price",
        "concat('name ', id % 5000) AS name",
        "timestamp_seconds(1700000000 + id) AS at",
        "date_add(date'2026-01-01', cast(id % 365 AS int)) AS day",
    )


def _arrow(ids: Any, *, merged: bool = False) -> Any:
    """The same columns without Spark."""
    import pyarrow as pa

    names = [f"merged {i % 7919}" if merged else f"name {i % 5000}" for i in ids.tolist()]
    seconds = pa.array((1_700_000_000 + ids) * 1_000_000)
    return pa.table(
        {
            "id": pa.array(ids),
            "shop": pa.array((ids % 1000).astype("int32")),
            "price": pa.array(ids * 0.25 + (0.5 if merged else 0)),
            "name": pa.array(names),
            "at": seconds.cast(pa.timestamp("us", "UTC")),
            "day": pa.array((_FIRST_DAY + ids % 365).astype("int32")).cast(pa.date32()),
        }
    )


def _parts(rows: int) -> Iterator[tuple[int, int]]:
    for number in range(FILES):
        yield rows * number // FILES, rows * (number + 1) // FILES


_FIRST_DAY = 20_454
"""1 January 2026, in days since 1970."""

if __name__ == "__main__":
    process.serve(
        {
            "lakebed": Lakebed,
            "delta-spark": DeltaSpark,
            "deltalake": Deltalake,
            "standalone": Standalone,
        }
    )
