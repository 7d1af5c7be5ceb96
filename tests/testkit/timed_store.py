"""A store whose objects are as old as a test wants them to be."""

from __future__ import annotations

from collections.abc import Callable

from lakebed.log.listing.log_names import parse_name
from lakebed.storage import ObjectMeta, Store
from testkit.faults import FaultStore


class TimedStore(FaultStore):
    """`clock` gives the time of a commit by its version; `ages` that of any other path."""

    def __init__(self, inner: Store, clock: Callable[[int], int]) -> None:
        super().__init__(inner)
        self.clock = clock
        self.ages: dict[str, int] = {}

    def list_from(self, start: str) -> list[ObjectMeta]:
        return [self._timed(found) for found in super().list_from(start)]

    def head(self, path: str) -> ObjectMeta:
        return self._timed(super().head(path))

    def _timed(self, found: ObjectMeta) -> ObjectMeta:
        if found.path in self.ages:
            return found._replace(modified_ms=self.ages[found.path])
        file = parse_name(found.path)
        return found if file is None else found._replace(modified_ms=self.clock(file.version))
