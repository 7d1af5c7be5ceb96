"""Rows on a space-filling curve, in a Python worker: the same parts as by `CurveKeys.java`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from lakebed.data_files.curves import Curve
from lakebed.spark.session.carried_errors import carried


@dataclass(frozen=True)
class PartsTask:
    """What `mapInArrow` runs: rows, and with each the mark of the part of the curve it is in."""

    columns: list[str]
    curve: Curve
    starts: list[int]
    marks: list[int]
    name: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carried():
            for batch in batches:
                keys = self.curve.keys([batch.column(column) for column in self.columns])
                parts = [self.marks[bisect_right(self.starts, key)] for key in keys]
                field = pa.field(self.name, pa.int32(), nullable=False)
                yield batch.append_column(field, pa.array(parts, pa.int32()))
