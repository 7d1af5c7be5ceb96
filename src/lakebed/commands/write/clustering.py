"""What a write does to the clustering of its table (PROTOCOL: Clustered Table).

A new table, and one whose schema is replaced, may be given clustering columns. Other writes may
repeat what the table has, and change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lakebed.commands.target.clustering_columns import (
    DOMAIN,
    FEATURE,
    check_clustering_columns,
    clustering_columns,
    clustering_domain,
    to_paths,
)
from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.target.write_target import Target
from lakebed.errors import InvalidArgumentError, SchemaError, SchemaMismatchError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action
from lakebed.spec.columns.column_mapping import mapping_mode
from lakebed.spec.features import is_supported, upgraded
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import Path, find_path, render_path


def clustered_target(snapshot: Snapshot | None, target: Target, options: WriteOptions) -> Target:
    """The table after the write, with the feature if it is to be clustered; refuses what cannot be.

    Decided before any file is written.
    """
    asked = options.cluster_by
    before = None if snapshot is None else clustering_columns(snapshot)
    if snapshot is not None and not options.replaces_schema:
        if asked is not None:
            _check_same(before or (), to_paths(asked))
        return target
    columns = to_paths(asked) if asked is not None else list(before or ())
    # The feature alone makes a table a clustered one, with or without columns.
    if target.metadata.partition_columns and (columns or is_supported(target.protocol, FEATURE)):
        raise InvalidArgumentError(
            f"a clustered table cannot be partitioned by "
            f"{', '.join(target.metadata.partition_columns)}",
            hint="cluster it by these columns instead, or choose another location",
        )
    if not columns:
        return target
    _checked(target, columns, asked is None)
    return replace(target, protocol=upgraded(target.protocol, [FEATURE]))


def clustering_actions(
    snapshot: Snapshot | None, target: Target, options: WriteOptions
) -> list[Action]:
    """The action that names the columns, if they are new or may have other physical names now."""
    if snapshot is not None and not options.replaces_schema:
        return []
    asked = options.cluster_by
    if asked is None and (snapshot is None or snapshot.domains.get(DOMAIN) is None):
        return []
    before = () if snapshot is None else clustering_columns(snapshot) or ()
    columns = before if asked is None else to_paths(asked)
    if not columns and not before:
        return []
    mode = mapping_mode(target.metadata.configuration)
    return [clustering_domain(target.schema, _checked(target, columns, asked is None), mode)]


def _checked(target: Target, columns: Sequence[Path], kept: bool) -> list[Path]:
    gone = [path for path in columns if find_path(target.schema, path) is None]
    if gone and kept:
        raise SchemaError(
            f"the table is clustered by {_shown(columns)}, and the new schema has no "
            f"{_shown(gone)}",
            hint="say by which columns it is to be clustered (cluster_by, or clusterBy on Spark)",
        )
    properties = TableProperties(target.metadata.configuration)
    return check_clustering_columns(target.schema, columns, properties)


def _check_same(before: Sequence[Path], asked: Sequence[Path]) -> None:
    if [_shown([path]).lower() for path in before] != [_shown([path]).lower() for path in asked]:
        raise SchemaMismatchError(
            f"the table is clustered by {_shown(before) or 'nothing'}, not by {_shown(asked)}",
            hint="leave it out of the write; cluster_by changes the columns of a table that exists",
        )


def _shown(columns: Sequence[Path]) -> str:
    return ", ".join(map(render_path, columns))
