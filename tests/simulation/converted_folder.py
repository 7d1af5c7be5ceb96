"""A folder of Parquet files that nobody calls a table yet, for CONVERT."""

from __future__ import annotations

import io
import random
from collections import Counter

import pyarrow.parquet as pq
from model import IDS, PARTITIONS, Row, arrow
from simulated_store import Objects


def put_folder(objects: Objects, chance: random.Random) -> Counter[Row]:
    """One to three files in each partition; their rows."""
    found: Counter[Row] = Counter()
    for p in range(PARTITIONS):
        for number in range(chance.randint(1, 3)):
            ids = chance.sample(range(IDS), chance.randint(1, 4))
            rows = [(p, each, "folder") for each in sorted(ids)]
            found.update(rows)
            data = io.BytesIO()
            pq.write_table(arrow(rows).select(["id", "tag"]), data)
            objects.put(f"p={p}/data-{number}.parquet", data.getvalue())
    return found
