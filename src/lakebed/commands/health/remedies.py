"""Commands that mend what was found, as one would type them."""

from __future__ import annotations

from lakebed.commands.target.clustering_columns import MOST_COLUMNS, clustering_columns
from lakebed.log.snapshot import Snapshot
from lakebed.settings.setting_table import MAX_RECORDS
from lakebed.spec.schema import Path, render_path
from lakebed.spec.stats import has_bounds, indexed_columns, leaves

_TABLE = "DeltaTable.forPath(spark, path)"
COMPACT = f"{_TABLE}.optimize().executeCompaction()"
PURGE = f"{_TABLE}.optimize().executePurge()"


def arrange(snapshot: Snapshot, column: Path) -> str:
    """Writes all rows anew, in files of the target size and with statistics."""
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
