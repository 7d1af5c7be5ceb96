"""The live files of versions: what one has that another has not, and which of them are missing.

RESTORE and CLONE make one version look like another; the difference is all that they commit.
PROTOCOL: Add File and Remove File. A file with another deletion vector is another logical file.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.formats.file_actions import adds_from_table
from lakebed.formats.statistics.stats_to_json import write_stats
from lakebed.log.file_state import ADD_FIELDS
from lakebed.log.listing.file_keys import file_key
from lakebed.log.listing.file_locations import FileLocations, is_outside
from lakebed.log.snapshot import Snapshot
from lakebed.log.versions.readable import existing, list_paths
from lakebed.spec.actions import Add
from lakebed.storage.store import Store


def whole_files(snapshot: Snapshot) -> pa.Table:
    """The live files with all that the log says about them, statistics as JSON text.

    Checkpoints may hold statistics as columns alone; a commit needs the text.
    """
    files = snapshot.files(ADD_FIELDS)
    stats = files.column("stats")
    if not stats.null_count or not snapshot.has_parsed_stats:
        return files
    parsed = write_stats(snapshot.files(["stats_parsed"]).column("stats_parsed"))
    stats = pc.coalesce(stats, pa.chunked_array([parsed]))
    return files.set_column(files.schema.get_field_index("stats"), "stats", stats)


def only_in(files: pa.Table, others: pa.Table) -> list[Add]:
    """The files that are not among the others."""
    keys, known = _keys(files), _keys(others)
    if not len(keys):
        return []
    return adds_from_table(files.filter(pc.invert(pc.is_in(keys, value_set=known))))


def _keys(files: pa.Table) -> pa.Array:
    """One string for each file; without vectors and absolute paths it is the path itself."""
    paths, vectors = files.column("path"), files.column("deletionVector")
    no_vectors = vectors.null_count == files.num_rows
    if no_vectors and not pc.any(pc.match_substring_regex(paths, r"^/|:")).as_py():
        return pa.concat_arrays([chunk.cast(pa.string()) for chunk in paths.chunks] or [_NONE])
    rows = zip(paths.to_pylist(), vectors.to_pylist(), strict=True)
    return pa.array([file_key(path, vector) for path, vector in rows], pa.string())


_NONE = pa.array([], pa.string())


# To ask for so many objects one by one takes longer than to list the table.
_MANY = 1_000


def missing(store: Store, adds: Sequence[Add]) -> list[str]:
    """The data files and the files of their vectors that are gone. `store` is that of the table."""
    places = FileLocations(store)
    wanted = [place for add in adds for place in places.of(add.path, _vector(add))]
    if len(wanted) > _MANY and not store.cheap_probes:
        outside = [place for place in wanted if is_outside(place)]
        there = list_paths(store) | existing(store, outside)
    else:
        there = existing(store, wanted)
    return [place for place in dict.fromkeys(wanted) if place not in there]


def _vector(add: Add) -> dict[str, object] | None:
    return None if add.deletion_vector is None else add.deletion_vector.to_json()
