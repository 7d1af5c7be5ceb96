"""Which versions a read of the change feed asks for, by their numbers or by times.

As in delta-spark both ends belong to the range, a start between two versions is the later one, and
an end between two versions is the earlier one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lakebed.errors import InvalidArgumentError, VersionNotFoundError
from lakebed.log.listing.commit_times import CommitTimes, utc_text
from lakebed.log.listing.listing import list_log
from lakebed.log.listing.log_names import LogFile
from lakebed.log.snapshot import Snapshot
from lakebed.settings.setting_table import CHANGES_OUT_OF_RANGE
from lakebed.storage.store import Store


@dataclass(frozen=True)
class ChangeRange:
    """What was asked for. Times are in milliseconds; without an end it is the newest version.

    `allow_beyond` makes a start after the newest version an empty range, and an end after it the
    newest version; else times after it, and a start after it, are errors.
    """

    starting_version: int | None = None
    starting_time: int | None = None
    ending_version: int | None = None
    ending_time: int | None = None
    allow_beyond: bool = False

    def __post_init__(self) -> None:
        _check_one("starting", self.starting_version, self.starting_time)
        _check_one("ending", self.ending_version, self.ending_time)
        if self.starting_version is None and self.starting_time is None:
            raise InvalidArgumentError(
                "it is not said where the changes start",
                hint="give startingVersion or startingTimestamp",
            )

    def resolve(self, latest: Snapshot) -> range:
        """The versions that are asked for and are there; may be empty."""
        newest = latest.version
        start, end = self._ends(latest)
        if start > newest:
            if self.allow_beyond:
                return range(newest + 1, newest + 1)
            raise VersionNotFoundError(
                f"the changes cannot start at version {start}: the newest is {newest}",
                hint=f"start at version {newest} or before",
            )
        if self._lies_between_versions(start, end):
            return range(start, start)
        if end < start:
            raise InvalidArgumentError(
                f"the changes start at version {start}, after their end at version {end}",
                hint="exchange start and end; both belong to the range",
            )
        return range(start, min(end, newest) + 1)

    def _ends(self, latest: Snapshot) -> tuple[int, int]:
        newest = latest.version
        start, end = self.starting_version, self.ending_version
        if self.starting_time is None and self.ending_time is None:
            return start or 0, newest if end is None else end
        commits = contiguous_commits(latest.store, 0)
        times = _Times(commits, CommitTimes(latest.store, commits, latest.properties))
        if self.starting_time is not None:
            start = times.first_from(self.starting_time, self.allow_beyond)
        if self.ending_time is not None:
            end = times.last_until(self.ending_time, self.allow_beyond)
        return start or 0, newest if end is None else end

    def _lies_between_versions(self, start: int, end: int) -> bool:
        """Between two times there need not be a commit: nothing changed then."""
        if self.starting_time is None or self.ending_time is None:
            return False
        return self.starting_time <= self.ending_time and end == start - 1


def contiguous_commits(store: Store, start: int) -> list[LogFile]:
    """The commits from `start` on that are there, without a gap up to the newest."""
    found = [file for file in list_log(store, start) if file.kind == "commit"]
    first = max(len(found) - 1, 0)
    while first > 0 and found[first - 1].version == found[first].version - 1:
        first -= 1
    return found[first:]


@dataclass(frozen=True)
class _Times:
    commits: Sequence[LogFile]
    times: CommitTimes

    def __post_init__(self) -> None:
        if not self.commits:
            raise VersionNotFoundError(
                "no commit of the table is there any more, so the times of versions are not known",
                hint="give startingVersion and endingVersion",
            )

    def first_from(self, timestamp: int, allow_beyond: bool) -> int:
        """The first version that is not older than `timestamp`."""
        before = self.times.newest_until(timestamp)
        if before is None:
            return self.commits[0].version
        if self.times.time_of(before) == timestamp:
            return before
        if before == self._newest and not allow_beyond:
            raise self._beyond("start", timestamp)
        return before + 1

    def last_until(self, timestamp: int, allow_beyond: bool) -> int:
        """The last version that is not newer than `timestamp`."""
        found = self.times.newest_until(timestamp)
        if found is None:
            first = self.commits[0].version
            raise VersionNotFoundError(
                f"the changes end at {utc_text(timestamp)}, before the oldest commit that is "
                f"there, version {first} of {utc_text(self.times.time_of(first))}",
                hint="end at a later time",
            )
        if found == self._newest and timestamp > self.times.time_of(found) and not allow_beyond:
            raise self._beyond("end", timestamp)
        return found

    @property
    def _newest(self) -> int:
        return self.commits[-1].version

    def _beyond(self, what: str, timestamp: int) -> VersionNotFoundError:
        newest = self._newest
        advice = (
            "leave the end out to read up to it" if what == "end" else "start at that or before"
        )
        return VersionNotFoundError(
            f"the changes {what} at {utc_text(timestamp)}, after the newest version, {newest} of "
            f"{utc_text(self.times.time_of(newest))}",
            hint=f"{advice}; or set {CHANGES_OUT_OF_RANGE.name} to true",
        )


def _check_one(end: str, version: int | None, timestamp: int | None) -> None:
    if version is not None and timestamp is not None:
        raise InvalidArgumentError(
            f"give {end}Version or {end}Timestamp, not both", hint="leave one of them out"
        )
    if version is not None and version < 0:
        raise InvalidArgumentError(
            f"{end}Version is {version}", hint="versions are whole numbers from 0 on"
        )
