"""By which columns a table is clustered (PROTOCOL: Clustered Table).

The log has them by their physical names in the domain `delta.clustering`, so that renaming a column
changes nothing. delta-spark writes each as a list of steps; the protocol's example has plain names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from lakebed.commands.target.column_names import ColumnName, to_path
from lakebed.errors import InvalidArgumentError, LogCorruptedError, SchemaError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import DomainMetadata, Metadata
from lakebed.spec.columns.column_mapping import logical_path, mapping_mode, physical_path
from lakebed.spec.features import is_supported
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import (
    Path,
    StructType,
    find_path,
    parse_schema,
    render_path,
    resolve,
)
from lakebed.spec.stats import has_bounds, indexed_columns

DOMAIN = "delta.clustering"
FEATURE = "clustering"
MOST_COLUMNS = 4
"""delta-spark's limit."""
_KEY = "clusteringColumns"


def clustering_columns(snapshot: Snapshot) -> tuple[Path, ...] | None:
    """The columns as users name them; None if the table is not clustered at all."""
    physical = physical_clustering_columns(snapshot)
    if physical is None:
        return None
    mode = mapping_mode(snapshot.metadata.configuration)
    return tuple(logical_path(snapshot.schema, path, mode) for path in physical)


def physical_clustering_columns(snapshot: Snapshot) -> tuple[Path, ...] | None:
    """The columns as the files and their statistics name them."""
    domain = snapshot.domains.get(DOMAIN)
    if not is_supported(snapshot.protocol, FEATURE) or domain is None:
        return None
    try:
        columns: Any = orjson.loads(domain.configuration)[_KEY]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise LogCorruptedError(f"the domain {DOMAIN} has no {_KEY}") from error
    paths = [(path,) if isinstance(path, str) else tuple(path) for path in columns]
    if not all(path and all(isinstance(step, str) for step in path) for path in paths):
        raise LogCorruptedError(f"the domain {DOMAIN} has {columns!r} as {_KEY}")
    return tuple(paths)


def clustering_domain(schema: StructType, columns: Sequence[Path], mode: str) -> DomainMetadata:
    """The action that says by which columns of the schema the table is clustered."""
    paths = [list(physical_path(schema, path, mode)) for path in columns]
    return DomainMetadata(DOMAIN, orjson.dumps({_KEY: paths}).decode())


def check_clustering_columns(
    schema: StructType, columns: Sequence[Path], properties: TableProperties
) -> list[Path]:
    """The columns as the schema spells them; refuses those that files have no bounds of."""
    if len(columns) > MOST_COLUMNS:
        raise InvalidArgumentError(
            f"a table can be clustered by at most {MOST_COLUMNS} columns, not by {len(columns)}",
            condition="DELTA_CLUSTER_BY_INVALID_NUM_COLUMNS",
        )
    found = [resolve(schema, path) for path in columns]
    names = [render_path(path) for path, _ in found]
    if len(set(names)) < len(names):
        raise InvalidArgumentError(
            f"clustering columns {names} name a column twice",
            condition="DELTA_DUPLICATE_COLUMNS_FOUND",
        )
    indexed = indexed_columns(schema, properties, ())
    for path, field in found:
        if find_path(indexed, path) is None or not has_bounds(field.data_type):
            raise SchemaError(
                f"the table cannot be clustered by {render_path(path)} ({field.data_type}): files "
                "have no statistics of it",
                hint="choose a number, text, date or timestamp among the first columns, or name "
                "it in delta.dataSkippingStatsColumns",
                condition="DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED",
            )
    return [path for path, _ in found]


def check_still_clustered(snapshot: Snapshot, metadata: Metadata) -> None:
    """Refuses metadata under which new files would lack the statistics of clustering columns.

    PROTOCOL: writers must write the statistics of all columns by which a table is clustered.
    """
    physical = physical_clustering_columns(snapshot)
    if not physical:
        return
    lacking = _without_bounds(metadata, physical)
    known = _without_bounds(snapshot.metadata, physical)
    new = [path for path in lacking if path not in known]
    if new:
        raise SchemaError(
            f"the table is clustered by {render_path(new[0])}, and new files would have no "
            "statistics of it",
            hint="name it in delta.dataSkippingStatsColumns, or cluster by other columns first",
            condition="DELTA_CLUSTERING_COLUMN_MISSING_STATS",
        )


def _without_bounds(metadata: Metadata, physical: Sequence[Path]) -> list[Path]:
    """Clustering columns, as users name them, of which files get no bounds."""
    schema, mode = parse_schema(metadata.schema_string), mapping_mode(metadata.configuration)
    indexed = indexed_columns(schema, TableProperties(metadata.configuration), ())
    found = (resolve(schema, logical_path(schema, path, mode)) for path in physical)
    return [
        path
        for path, field in found
        if find_path(indexed, path) is None or not has_bounds(field.data_type)
    ]


def to_paths(columns: ColumnName | Sequence[ColumnName] | None) -> list[Path]:
    if columns is None:
        return []
    if isinstance(columns, str):
        return [to_path(columns)]
    if not isinstance(columns, Sequence):
        raise InvalidArgumentError(
            f"{columns!r} are not columns", hint='give names, such as ["country", "day"]'
        )
    return [to_path(column) for column in columns]
