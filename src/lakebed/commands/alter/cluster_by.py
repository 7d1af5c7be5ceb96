"""ALTER TABLE ... CLUSTER BY (PROTOCOL: Clustered Table)."""

from __future__ import annotations

from collections.abc import Sequence

from lakebed.commands.target.clustering_columns import (
    FEATURE,
    check_clustering_columns,
    clustering_columns,
    clustering_domain,
    to_paths,
)
from lakebed.commands.target.column_names import ColumnName
from lakebed.commands.target.metadata_change import AlterTarget, Change, operation
from lakebed.errors import InvalidArgumentError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.columns.column_mapping import mapping_mode
from lakebed.spec.features import is_supported, upgraded
from lakebed.spec.schema import Path, render_path


def cluster_by(target: AlterTarget, columns: ColumnName | Sequence[ColumnName] | None) -> Snapshot:
    """ALTER TABLE ... CLUSTER BY: other columns, or none at all. Rows stay where they are."""
    paths = to_paths(columns)
    return target.apply(lambda snapshot: plan_cluster_by(snapshot, paths))


def plan_cluster_by(snapshot: Snapshot, columns: Sequence[Path]) -> Change | None:
    clustered = is_supported(snapshot.protocol, FEATURE)
    if not columns and not clustered:
        return None
    if snapshot.partition_columns:
        raise InvalidArgumentError(
            f"the table is partitioned by {', '.join(snapshot.partition_columns)}, so it cannot be "
            "clustered",
            hint="write the table anew without partitions (overwrite_schema)",
            condition="DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED",
        )
    paths = check_clustering_columns(snapshot.schema, columns, snapshot.properties)
    mode = mapping_mode(snapshot.metadata.configuration)
    before = clustering_columns(snapshot) or ()
    done = operation(
        "CLUSTER BY",
        oldClusteringColumns=",".join(map(render_path, before)),
        newClusteringColumns=",".join(map(render_path, paths)),
    )
    return Change(
        done,
        protocol=upgraded(snapshot.protocol, [FEATURE]),
        actions=(clustering_domain(snapshot.schema, paths, mode),),
    )
