"""Deleting, several files at a time, with an eye on the commits that others make meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from lakebed.commands.vacuum.plan import Plan
from lakebed.formats import commit_file as commit
from lakebed.log.listing.file_locations import FileLocations, checked_reference
from lakebed.log.listing.listing import newer_commits
from lakebed.log.versions.readable import THREADS
from lakebed.storage.store import Store

BATCH = 1000
_LOCAL_THREADS = 4


class Watch:
    """Spares files that commits after the plan refer to.

    A RESTORE may bring back a file that had expired, and a very slow writer may commit one that
    looks abandoned. If a commit changes the table's properties (a pin, a longer retention) or
    protocol, everything is planned again.
    """

    def __init__(self, plan: Plan, replan: Callable[[], Plan]) -> None:
        self._store = plan.snapshot.store
        self._places = FileLocations(self._store)
        self._seen = plan.snapshot.version
        self._spared: set[str] = set()
        self._replan = replan
        self._allowed: frozenset[str] | None = None

    def allowed(self, paths: list[str]) -> list[str]:
        """Those of the paths that may go as far as is known now."""
        changed = self._look()
        while changed:
            plan = self._replan()
            known = frozenset(plan.doomed)
            self._allowed = known if self._allowed is None else self._allowed & known
            changed = self._look()
        return [path for path in paths if path not in self._spared and self._may_go(path)]

    def _may_go(self, path: str) -> bool:
        return self._allowed is None or path in self._allowed

    def _look(self) -> bool:
        """Take in the commits since; whether one of them changes what VACUUM goes by."""
        changed = False
        for file in newer_commits(self._store, self._seen):
            for name, raw in commit.decode(self._store.get(file.path), file.path):
                if name in ("add", "remove"):
                    self._spared.update(self._places.of(*checked_reference(raw, file.path)))
                elif name == "cdc":
                    self._spared.update(self._places.of(checked_reference(raw, file.path)[0], None))
                elif name in ("metaData", "protocol"):
                    changed = True
            self._seen = file.version
        return changed


def sweep(store: Store, paths: list[str], watch: Watch) -> Iterator[str]:
    """Delete the paths; yields each that is gone. The first failure ends it, after its batch."""
    threads = _LOCAL_THREADS if store.cheap_probes else THREADS
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, len(paths), BATCH):
            batch = watch.allowed(paths[start : start + BATCH])
            waiting = [(path, pool.submit(_delete, store, path)) for path in batch]
            failure: BaseException | None = None
            for path, future in waiting:
                error = future.exception()
                failure = failure or error
                if error is None:
                    yield path
            if failure is not None:
                raise failure


def _delete(store: Store, path: str) -> None:
    store.delete(path)
    if store.url.startswith("file:"):
        # Hadoop keeps checksums beside files on a disk; they are hidden, so nobody would find them.
        folder, slash, name = path.rpartition("/")
        store.delete(f"{folder}{slash}.{name}.crc")
