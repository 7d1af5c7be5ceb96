"""What streams have still to read of a table, for a VACUUM that is given their checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lakebed.commands.vacuum.vacuum_streams import KnownStream
from lakebed.errors import InvalidArgumentError, SourceDataLossError, VersionNotFoundError
from lakebed.log.listing.file_locations import FileLocations
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Add
from lakebed.storage.store import Store
from lakebed.streaming.backlog import Backlog, last_read
from lakebed.streaming.checkpoint import read_checkpoint


def known_streams(checkpoints: Iterable[Store], log: TableLog) -> tuple[KnownStream, ...]:
    """One for each time that a query reads the table; a query may read it twice."""
    newest = log.snapshot()
    return tuple(each for store in checkpoints for each in _of_checkpoint(store, newest))


def _of_checkpoint(store: Store, newest: Snapshot) -> Iterator[KnownStream]:
    position = read_checkpoint(store)
    table_id = newest.metadata.id
    sources = [each for each in position.sources if each.offset.table_id == table_id]
    if not sources and position.batch is not None:
        raise InvalidArgumentError(
            f"the query with the checkpoint {store.url} does not read {newest.store.url}",
            hint="leave it out of streams, which are those that read this table",
        )
    for source in sources:
        backlog = Backlog(source.offset, newest)
        known = KnownStream(
            store.url, position.query, last_read(source.offset)[0], backlog.first_commit
        )
        yield _with_files(known, backlog)


def _with_files(known: KnownStream, backlog: Backlog) -> KnownStream:
    places = FileLocations(backlog.newest.store)
    try:
        files = frozenset(place for add in backlog.files() for place in _places(places, add))
        changes = frozenset(places.locate(each.path) for each in backlog.change_files())
    except (SourceDataLossError, VersionNotFoundError):
        return KnownStream(
            known.checkpoint, known.query, known.version, known.first_commit, is_broken=True
        )
    return KnownStream(
        known.checkpoint, known.query, known.version, known.first_commit, files, changes
    )


def _places(places: FileLocations, add: Add) -> tuple[str, ...]:
    vector = add.deletion_vector
    return places.of(add.path, None if vector is None else vector.to_json())
