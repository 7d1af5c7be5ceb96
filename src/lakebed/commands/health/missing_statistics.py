"""Columns whose bounds are not known: a filter on them reads every file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.commands.health.finding import Finding, Severity, counted, graded, percent
from lakebed.commands.health.remedies import arrange
from lakebed.commands.target.clustering_columns import clustering_columns
from lakebed.commands.target.column_names import to_path
from lakebed.log.selection import file_columns
from lakebed.log.snapshot import Snapshot
from lakebed.spec.schema import Path, StructField, find_path, render_path, resolve
from lakebed.spec.stats import has_bounds, indexed_columns, leaves

_SHOWN = 5
_PROPERTY = "delta.dataSkippingStatsColumns"


def missing_statistics(snapshot: Snapshot, columns: Sequence[str] | None = None) -> Finding:
    """Of the named columns; else of those that the table is clustered by, or that it indexes."""
    topic = "statistics"
    chosen = _chosen(snapshot, columns)
    if not chosen or not snapshot.totals.num_files:
        return Finding(topic, Severity.OK, "nothing to look for")
    gaps = [gap for gap in _gaps(snapshot, chosen) if gap.share]
    numbers = {render_path(gap.path): gap.share for gap in gaps}
    if not gaps:
        names = ", ".join(render_path(path) for path, _ in chosen[:_SHOWN])
        more = f" and {len(chosen) - _SHOWN} more" if len(chosen) > _SHOWN else ""
        return Finding(topic, Severity.OK, f"all files have those of {names}{more}")
    worst = sorted(gaps, key=lambda gap: -gap.share)
    named = ", ".join(f"{render_path(g.path)} ({percent(g.share)})" for g in worst[:_SHOWN])
    more = f" and {counted(len(worst) - _SHOWN, 'other')}" if len(worst) > _SHOWN else ""
    message = f"files lack the bounds of {named}{more}: filters on these cannot skip them"
    severity = graded(worst[0].share, (0.0001, 0.1, 0.5))
    return Finding(topic, severity, message, _mend(snapshot, worst), numbers)


@dataclass(frozen=True)
class _Gap:
    """`share` of the files say nothing about the column."""

    path: Path
    share: float


def _chosen(snapshot: Snapshot, columns: Sequence[str] | None) -> list[tuple[Path, StructField]]:
    """Partition columns need none: their values are exact."""
    schema, partitions = snapshot.schema, {name.lower() for name in snapshot.partition_columns}
    if columns is not None:
        found = [resolve(schema, to_path(name)) for name in columns]
        return [(path, each) for path, each in found if path[0].lower() not in partitions]
    clustered = clustering_columns(snapshot)
    if clustered:
        return [resolve(schema, path) for path in clustered]
    indexed = indexed_columns(schema, snapshot.properties, snapshot.partition_columns)
    return [(path, each) for path, each in leaves(indexed) if has_bounds(each.data_type)]


def _gaps(snapshot: Snapshot, chosen: Sequence[tuple[Path, StructField]]) -> list[_Gap]:
    columns = file_columns(snapshot)
    columns.prefetch([path for path, _ in chosen])
    total, records = columns.num_files, columns.num_records()
    gaps = []
    for path, _ in chosen:
        low, nulls = columns.minimum(path), columns.null_count(path)
        unknown = pa.repeat(True, total) if low is None else pc.is_null(low)
        if nulls is not None:
            # What is null in all rows of a file has no bounds, and needs none.
            empty = pc.fill_null(pc.equal(nulls.cast(pa.int64()), records.cast(pa.int64())), False)
            unknown = pc.and_(unknown, pc.invert(empty))
        gaps.append(_Gap(path, (pc.sum(unknown).as_py() or 0) / total))
    return gaps


def _mend(snapshot: Snapshot, gaps: Sequence[_Gap]) -> str:
    """Files that are rewritten get the statistics that the table asks for by then."""
    indexed = indexed_columns(snapshot.schema, snapshot.properties, snapshot.partition_columns)
    outside = [gap.path for gap in gaps if find_path(indexed, gap.path) is None]
    rewrite = arrange(snapshot, gaps[0].path)
    if not outside:
        return rewrite
    before = [path for path, _ in leaves(indexed)]
    names = ",".join(render_path(path) for path in [*before, *outside])
    return f"table.set_properties({{{_PROPERTY!r}: {names!r}}}), then {rewrite}"
