"""Where the files come from that VACUUM judges: a listing, an inventory, or the log alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable
from dataclasses import dataclass

from lakebed.commands.vacuum.candidates import confirmed, from_inventory, listed, may_go
from lakebed.commands.vacuum.last_vacuum import last_vacuumed
from lakebed.commands.vacuum.vacuum_options import VacuumOptions
from lakebed.errors import InvalidArgumentError
from lakebed.log.listing.file_locations import is_outside
from lakebed.log.listing.log_names import LOG_FOLDER
from lakebed.log.snapshot import Snapshot
from lakebed.log.versions.file_lifetimes import FileLifetimes
from lakebed.storage.store import ObjectMeta, Store


@dataclass(frozen=True)
class Selection:
    """`doomed` are the files that would go; `is_gone` tells of a place that it is gone already.

    Files outside of the table are taken to be there.
    """

    doomed: dict[str, ObjectMeta]
    is_gone: Callable[[str], bool]
    num_folders: int


Selecting = Callable[[FileLifetimes, "int | None", Container[str]], Selection]


def select(snapshot: Snapshot, options: VacuumOptions, cut_off: int) -> Selecting:
    """Looks at the store now; what comes back judges, once the log is known."""
    store = snapshot.store
    if options.mode == "lite":
        last = last_vacuumed(store)
        return lambda history, floor, protected: _from_log(
            store, cut_off, last, history, floor, protected
        )
    if options.inventory is not None:
        found = from_inventory(store, options.inventory)
        return lambda _history, _floor, protected: _from_inventory(
            snapshot, cut_off, found, protected
        )
    everything = listed(store)
    return lambda _history, _floor, protected: _from_listing(
        snapshot, cut_off, everything, protected
    )


def _from_listing(
    snapshot: Snapshot, cut_off: int, objects: list[ObjectMeta], protected: Container[str]
) -> Selection:
    there = {found.path for found in objects}
    allowed = may_go(snapshot, there)
    visible = [found for found in objects if allowed(found.path)]
    doomed = _doomed(visible, cut_off, protected)
    return Selection(
        doomed, lambda place: not is_outside(place) and place not in there, _folders(visible)
    )


def _from_inventory(
    snapshot: Snapshot, cut_off: int, objects: list[ObjectMeta], protected: Container[str]
) -> Selection:
    """An inventory is from earlier: whether a file is there, and how old it is, is asked again."""
    named = {found.path for found in objects}
    allowed = may_go(snapshot, named)
    visible = [found for found in objects if allowed(found.path)]
    candidates = _doomed(visible, cut_off, protected)
    there = confirmed(snapshot.store, candidates)

    def is_gone(place: str) -> bool:
        if is_outside(place) or place in protected:
            return False
        return place not in named or (place in candidates and place not in there)

    return Selection(_doomed(there.values(), cut_off, protected), is_gone, _folders(visible))


def _from_log(
    store: Store,
    cut_off: int,
    last: int | None,
    history: FileLifetimes,
    floor: int | None,
    protected: Container[str],
) -> Selection:
    """Files that commits outside of the retention have removed, since the last VACUUM."""
    if floor is None:
        return Selection({}, lambda _: False, 1)
    _check_complete(history, last)
    after = -1 if last is None else last
    removed = [life for life in history.lifetimes if life.removed_by is not None]
    old = _inside(
        protected,
        *(life.locations for life in removed if (life.removed_by or 0) <= after),
        [change.location for change in history.changes if change.version <= after],
    )
    new = _inside(
        protected,
        *(life.locations for life in removed if after < (life.removed_by or 0) <= floor),
        [change.location for change in history.changes if after < change.version <= floor],
    )
    there = confirmed(store, new)

    def is_gone(place: str) -> bool:
        return (place in new and place not in there) or (place in old and place not in new)

    return Selection(_doomed(there.values(), cut_off, protected), is_gone, 1)


def _check_complete(history: FileLifetimes, last: int | None) -> None:
    commits = [file.version for file in history.files if file.kind == "commit"]
    earliest = min(commits, default=0)
    if earliest > 0 and (last is None or last < earliest):
        raise InvalidArgumentError(
            f"VACUUM LITE goes by the log, but its commits before version {earliest} have been "
            "cleaned up since the last VACUUM: files that they removed would stay",
            hint="run a full VACUUM once",
        )


def _inside(protected: Container[str], *groups: Collection[str]) -> set[str]:
    inside_log = f"{LOG_FOLDER}/"
    return {
        place
        for group in groups
        for place in group
        if not is_outside(place) and not place.startswith(inside_log) and place not in protected
    }


def _doomed(
    objects: Iterable[ObjectMeta], cut_off: int, protected: Container[str]
) -> dict[str, ObjectMeta]:
    return {
        found.path: found
        for found in objects
        if found.modified_ms < cut_off and found.path not in protected
    }


def _folders(objects: Iterable[ObjectMeta]) -> int:
    """The folders that hold objects, at any depth, and the root."""
    found = {""}
    for each in objects:
        folder = each.path.rpartition("/")[0]
        while folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return len(found)
