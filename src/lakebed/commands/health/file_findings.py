"""Findings about the data files: small or uneven ones, deleted rows, missing statistics.

Each comes with the command that repairs it, as a user would type it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.commands.health.finding import Finding, Severity, counted, graded, percent, size_text
from lakebed.commands.target.clustering_columns import MOST_COLUMNS, clustering_columns
from lakebed.commands.target.column_names import to_path
from lakebed.formats.file_actions import map_values
from lakebed.log.selection import file_columns
from lakebed.log.snapshot import Snapshot
from lakebed.settings.setting_table import MAX_RECORDS
from lakebed.spec.columns.column_mapping import physical_name
from lakebed.spec.schema import Path, StructField, find_path, render_path, resolve
from lakebed.spec.stats import has_bounds, indexed_columns, leaves

_MIB = 1024 * 1024
DEFAULT_TARGET = 128 * _MIB
# Fewer files are opened in no time, whatever their size.
_FEW = 10
_SKEWED = 10


def small_files(snapshot: Snapshot) -> Finding:
    """Counts the files that compaction would save, partition by partition."""
    files = _sizes(snapshot)
    target = snapshot.properties.target_file_size or DEFAULT_TARGET
    small = files.filter(pc.less(files.column("size"), target // 4))
    groups = _by_partition(small)
    fewer = pc.ceil(pc.divide(groups.column("size_sum").cast(pa.float64()), target))
    kept = pc.sum(fewer).as_py() or 0
    saved = small.num_rows - int(kept)
    share = saved / files.num_rows if files.num_rows else 0.0
    limits = (_FEW, 100 if share < 0.5 else _FEW, 10_000)
    severity = graded(saved, limits)
    median = pc.approximate_median(files.column("size")).as_py() if files.num_rows else 0
    facts = f"{counted(files.num_rows, 'file')}, median {size_text(median or 0)}"
    numbers = {"files": files.num_rows, "small_files": small.num_rows, "saved_files": saved}
    if severity is Severity.OK:
        return Finding("small files", severity, facts, numbers=numbers)
    message = (
        f"{facts}; {small.num_rows:,} are smaller than {size_text(target // 4)}, and compaction "
        f"would leave {int(kept):,} in their place"
    )
    return Finding("small files", severity, message, COMPACT, numbers)


def size_skew(snapshot: Snapshot) -> Finding:
    """A task cannot be smaller than a file's row groups: one giant holds up the whole query."""
    sizes = snapshot.files(["size"]).column("size")
    target = snapshot.properties.target_file_size or DEFAULT_TARGET
    if len(sizes) < _FEW:
        return Finding("file skew", Severity.OK, "too few files to tell")
    median, largest = pc.approximate_median(sizes).as_py(), pc.max(sizes).as_py()
    facts = f"the largest file has {size_text(largest)}, the median {size_text(median)}"
    numbers = {"largest_bytes": largest, "median_bytes": median}
    if largest < 8 * target or largest < _SKEWED * max(median, 1):
        return Finding("file skew", Severity.OK, facts, numbers=numbers)
    return Finding(
        "file skew",
        Severity.WARNING,
        f"{facts}: whoever reads it waits for it",
        cut_large_files(snapshot),
        numbers,
    )


def partition_skew(snapshot: Snapshot) -> Finding:
    columns = snapshot.partition_columns
    if not columns:
        return Finding("partitions", Severity.OK, "not partitioned")
    sums = _by_partition(_sizes(snapshot)).column("size_sum")
    count = len(sums)
    if count < _FEW:
        return Finding("partitions", Severity.OK, counted(count, "partition"))
    median, largest = pc.approximate_median(sums).as_py(), pc.max(sums).as_py()
    facts = (
        f"{counted(count, 'partition')} by {', '.join(columns)}, median {size_text(median)}, "
        f"largest {size_text(largest)}"
    )
    numbers = {"partitions": count, "median_bytes": median, "largest_bytes": largest}
    if count >= 100 and median < 16 * _MIB:
        cure = cluster_instead(snapshot)
        grade = graded(count, (100, 1_000, 50_000))
        return Finding("partitions", grade, f"{facts}: finely cut", cure, numbers)
    if largest >= 1024 * _MIB and largest >= _SKEWED * max(median, 1):
        cure = cluster_instead(snapshot)
        return Finding("partitions", Severity.WARNING, f"{facts}: uneven", cure, numbers)
    return Finding("partitions", Severity.OK, facts, numbers=numbers)


def _sizes(snapshot: Snapshot) -> pa.Table:
    """The size of each file, and its partition values in columns named by numbers."""
    files = snapshot.files(["size", "partitionValues"])
    maps = files.column("partitionValues")
    chunks = pa.concat_arrays(maps.chunks) if maps.num_chunks else pa.array([], maps.type)
    names = [physical_name(snapshot.schema.field(name)) for name in snapshot.partition_columns]
    keys = {str(number): map_values(chunks, name) for number, name in enumerate(names)}
    return pa.table({"size": files.column("size"), "all": pa.nulls(len(chunks)), **keys})


def _by_partition(sizes: pa.Table) -> pa.Table:
    keys = [name for name in sizes.column_names if name not in ("size", "all")]
    if not keys:
        sizes, keys = sizes.set_column(1, "all", pa.repeat(0, sizes.num_rows)), ["all"]
    return sizes.group_by(keys).aggregate([("size", "sum"), ("size", "count")])


# --- deleted rows ---------------------------------------------------------------------------------


def dead_rows(snapshot: Snapshot) -> Finding:
    totals = snapshot.totals
    if not totals.num_deletion_vectors:
        return Finding("dead rows", Severity.OK, "no deletion vectors")
    columns = file_columns(snapshot)
    records = pc.sum(columns.num_records()).as_py() or 0
    dead = totals.num_deleted_records
    share = dead / records if records else 0.0
    half = pc.less_equal(pc.multiply(columns.num_rows(), 2), columns.num_records())
    mostly = pc.sum(pc.fill_null(half, False)).as_py() or 0
    message = (
        f"{dead:,} of {records:,} rows ({percent(share)}) are deleted by vectors of "
        f"{counted(totals.num_deletion_vectors, 'file')}; {mostly:,} of these are half dead or more"
    )
    numbers = {"dead_rows": dead, "rows": records, "share": share, "half_dead_files": mostly}
    severity = graded(share, (0.05, 0.2, 0.5))
    return Finding("dead rows", severity, message, PURGE if severity.rank else None, numbers)


# --- statistics -----------------------------------------------------------------------------------

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


# --- commands that repair -------------------------------------------------------------------------

_TABLE = "DeltaTable.forPath(spark, path)"
COMPACT = f"{_TABLE}.optimize().executeCompaction()"
PURGE = f"{_TABLE}.optimize().executePurge()"


def arrange(snapshot: Snapshot, column: Path) -> str:
    """Rewrites all rows, in files of the target size and with statistics."""
    if clustering_columns(snapshot):
        return f"{_TABLE}.optimize().executeFull()"
    return f"{_TABLE}.optimize().executeZOrderBy({render_path(column)!r})"


def cut_large_files(snapshot: Snapshot) -> str:
    partitions = {name.lower() for name in snapshot.partition_columns}
    columns = [path for path in _ordered_columns(snapshot) if path[0].lower() not in partitions]
    if not columns:
        return f"write with {MAX_RECORDS.name}, or max_rows_per_file"
    rewrite = arrange(snapshot, columns[0])
    if snapshot.properties.target_file_size is not None:
        return rewrite
    return f"table.set_properties({{'delta.targetFileSize': '128mb'}}), then {rewrite}"


def cluster_instead(snapshot: Snapshot) -> str:
    """Partitions give way to clustering by the same columns, whose files are of even size."""
    known = {path[0].lower() for path in _ordered_columns(snapshot)}
    chosen = [name for name in snapshot.partition_columns if name.lower() in known][:MOST_COLUMNS]
    names = ", ".join(map(repr, chosen)) or "..."
    return (
        f"{_TABLE}.toDF().write.format('delta').mode('overwrite')"
        f".option('overwriteSchema', 'true').clusterBy({names}).save(path)"
    )


def _ordered_columns(snapshot: Snapshot) -> list[Path]:
    """Those that files have bounds of, or would have if they were no partition columns."""
    indexed = indexed_columns(snapshot.schema, snapshot.properties, ())
    return [path for path, field in leaves(indexed) if has_bounds(field.data_type)]
