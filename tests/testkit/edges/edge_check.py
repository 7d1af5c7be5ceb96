"""What must hold of every reader and every table: filters skip no row that they keep."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from testkit.edges.edge_values import ROWS, Filter, edge_table, filters, kept_by_hand

if TYPE_CHECKING:
    from testkit.edges.edge_readers import Reader


def queries_of_turn(turn: int) -> list[list[Filter]]:
    """For each row a query of filters that keep it, one on each column; others in each turn."""
    chosen: list[list[Filter]] = []
    every = filters()
    kept = kept_by_hand(edge_table(), every)
    for row in range(ROWS):
        of_column: dict[tuple[str, ...], list[Filter]] = {}
        for each, ids in zip(every, kept, strict=True):
            if row in ids:
                of_column.setdefault(each.path, []).append(each)
        chosen.append([found[turn % len(found)] for found in of_column.values()])
    return chosen


def lost_rows(reader: Reader, path: Path, queries: list[list[Filter]]) -> list[str]:
    """Filters whose rows are not those that they keep by hand, each with both sets of ids."""
    lost = []
    for query, ids in zip(queries, reader.filtered(path, queries), strict=True):
        kept = reader.by_hand(path, query)
        if ids != set.intersection(*kept):
            alone = reader.filtered(path, [[each] for each in query])
            pairs = zip(query, alone, kept, strict=True)
            found = [f"{each}: {one} is not {other}" for each, one, other in pairs if one != other]
            lost += found or [f"{len(query)} filters together: {ids}"]
    return lost


def without_zeros(query: list[Filter]) -> list[Filter]:
    """For files that Spark wrote without Lakebed: Spark does not find -0.0 as 0.0 in a dictionary.

    Files that Lakebed writes have no dictionary of such a column, and Lakebed's reads on Spark use
    none.
    """
    return [each for each in query if not ("minus_zero" in each.edge.name and 0.0 in each.values)]
