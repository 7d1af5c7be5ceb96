"""Files that are too small, and files or partitions that are much larger than the others."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.commands.health.finding import Finding, Severity, counted, graded, size_text
from lakebed.commands.health.remedies import COMPACT, cluster_instead, cut_large_files
from lakebed.formats.file_actions import map_values
from lakebed.log.snapshot import Snapshot
from lakebed.spec.columns.column_mapping import physical_name

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
