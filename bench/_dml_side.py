"""One side of `bench/dml.py`, in a process of its own: makes the table, and changes copies of it.

    python bench/_dml_side.py SIDE SETTINGS

Requests come as lines of JSON on the standard input, answers go as lines to the standard output.
All sides are asked for the same; `bench/dml.py` looks at what they made of it.
"""

from __future__ import annotations

import gc
import importlib.metadata
import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

FILES = 16
DELETED = "id % 100 = 7"
UPDATED = "id % 100 = 13"
MERGED = "id % 100 = 42"
"""Rows that the source of MERGE has new values for."""
ABSENT = "id % 1000 = 999"
"""Ids that the table leaves out, so that rows to insert fall between all others."""
VECTORS = {"delta.enableDeletionVectors": "true"}


class Side(ABC):
    """Three commands on the table at `path`, and what they need."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings

    def about(self) -> dict[str, Any]:
        """The versions of what does the work, and the processes that do it."""
        return {"pids": {"python": os.getpid()}}

    @abstractmethod
    def make(self, table: str, source: str, rows: int) -> None:
        """The table, and the rows to merge into it."""

    def settle(self, path: str) -> None:
        """Before the clock starts: nobody pays for what was left behind, and who remembers tables
        has seen this one."""
        self._look_at(path)
        gc.collect()

    @abstractmethod
    def _look_at(self, path: str) -> None: ...

    @abstractmethod
    def merge(self, path: str, source: str) -> None: ...

    @abstractmethod
    def delete(self, path: str, source: str) -> None: ...

    @abstractmethod
    def update(self, path: str, source: str) -> None: ...

    def close(self) -> None:  # noqa: B027
        """Nothing to close, unless a side says otherwise."""


class _OnSpark(Side):
    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(settings)
        self._spark = self._session()
        self._spark.sparkContext.setLogLevel("ERROR")

    @abstractmethod
    def _session(self) -> Any: ...

    def about(self) -> dict[str, Any]:
        java = self._spark._jvm.java.lang.ProcessHandle.current().pid()
        pids = {"python": os.getpid(), "jvm": int(java)}
        return {"spark": self._spark.version, "pids": pids}

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

    def settle(self, path: str) -> None:
        super().settle(path)
        self._spark._jvm.java.lang.System.gc()

    def _look_at(self, path: str) -> None:
        self._spark.read.format("delta").load(path).where("id = 1").collect()

    def close(self) -> None:
        self._spark.stop()


class Lakebed(_OnSpark):
    def _session(self) -> Any:
        import lakebed

        return lakebed.session("bench-dml", **self._settings)

    def about(self) -> dict[str, Any]:
        return {"version": importlib.metadata.version("lakebed"), **super().about()}

    def merge(self, path: str, source: str) -> None:
        rows = self._spark.read.format("delta").load(source).alias("s")
        merge = self._table(path).alias("t").merge(rows, "t.id = s.id")
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    def delete(self, path: str, source: str) -> None:  # noqa: ARG002
        self._table(path).delete(DELETED)

    def update(self, path: str, source: str) -> None:  # noqa: ARG002
        self._table(path).update(UPDATED, {"price": "price + 1", "name": "concat(name, '!')"})

    def _table(self, path: str) -> Any:
        import lakebed

        return lakebed.DeltaTable.forPath(self._spark, path)


class DeltaSpark(_OnSpark):
    """In SQL, so that its JAR is all that is needed of it."""

    def _session(self) -> Any:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.appName("bench-dml")
        for key, value in {**self._settings, **_DELTA_SPARK}.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()

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


class Deltalake(Side):
    """The package of that name, without Spark. It writes no vectors, so it copies all files."""

    def about(self) -> dict[str, Any]:
        return {"version": importlib.metadata.version("deltalake"), **super().about()}

    def make(self, table: str, source: str, rows: int) -> None:
        import deltalake
        import numpy as np
        import pyarrow.parquet as pq

        for first, end in _parts(rows):
            numbers = np.arange(first, end)
            deltalake.write_deltalake(table, _arrow(numbers + numbers // 999), mode="append")
        ids = np.arange(_end(rows))
        new = _arrow(ids[(ids % 100 == 42) | (ids % 1000 == 999)], merged=True)
        pq.write_table(new.sort_by("name"), source)

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

    def _look_at(self, path: str) -> None:
        self._table(path).file_uris()

    def _table(self, path: str) -> Any:
        import deltalake

        return deltalake.DeltaTable(path)


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
_DELTA_SPARK = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
SIDES: dict[str, type[Side]] = {
    "lakebed": Lakebed,
    "delta-spark": DeltaSpark,
    "deltalake": Deltalake,
}


# --- requests ------------------------------------------------------------------------------------


def main() -> None:
    # Java and its libraries print what they like: only answers go where answers are read.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    side = SIDES[sys.argv[1]](json.loads(sys.argv[2]))
    _answer(answers, side.about())
    for line in sys.stdin:
        request = json.loads(line)
        work = getattr(side, request.pop("do"))
        start = time.perf_counter()
        work(**request)
        _answer(answers, {"seconds": time.perf_counter() - start})
    side.close()


def _answer(answers: TextIO, content: Mapping[str, Any]) -> None:
    answers.write(json.dumps(content) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
