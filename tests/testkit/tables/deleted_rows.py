"""Rows deleted by a deletion vector, in any table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import lakebed
from lakebed.formats.deletion_vectors import RowIndexSet, encode_bitmap
from lakebed.formats.file_actions import adds_from_table
from lakebed.spec.actions import Remove
from lakebed.spec.vector_descriptors import inline_vector
from testkit.tables.arbitrary_tables import commit


def delete(path: Path | str, indexes: list[int]) -> None:
    """Deletes the rows with these indexes from the first file, as far as it has them."""
    adds = adds_from_table(lakebed.open(path).snapshot.files())
    if not adds:
        return
    rows = json.loads(adds[0].stats)["numRecords"]
    found = RowIndexSet.from_indexes([each for each in indexes if each < rows])
    if found.cardinality:
        vector = inline_vector(encode_bitmap(found), found.cardinality)
        commit(path, Remove.of(adds[0], timestamp=1), replace(adds[0], deletion_vector=vector))
