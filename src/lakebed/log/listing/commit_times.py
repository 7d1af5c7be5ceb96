"""When versions were made, and which version was current at a time.

PROTOCOL: In-Commit Timestamps. Without them the time of a commit is the time of its file, moved
forward where clocks went backwards, so that times always grow with versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from lakebed.errors import InvalidArgumentError, LogCorruptedError, VersionNotFoundError
from lakebed.formats import commit_file as commit
from lakebed.log.listing.log_names import LogFile
from lakebed.spec.properties import TableProperties
from lakebed.storage.store import Store

# The milliseconds of the years 1 to 9999, which Python can tell the date of.
_CALENDAR = range(-62_135_596_800_000, 253_402_300_800_000)


class CommitTimes:
    """Times of the commits at hand, oldest first and contiguous."""

    def __init__(
        self, store: Store, commits: Sequence[LogFile], properties: TableProperties
    ) -> None:
        self._store = store
        self._commits = list(commits)
        self._by_file = _monotonic(self._commits)
        self._first_in_commit = _first_in_commit(properties)
        self._enabled_at = properties.in_commit_timestamp_enablement_timestamp

    def time_of(self, version: int) -> int:
        index = version - self._commits[0].version
        if self._first_in_commit is not None and version >= self._first_in_commit:
            return self._in_commit(self._commits[index])
        return self._by_file[index]

    def version_at(self, timestamp: int) -> int:
        """The newest version that was there at `timestamp` (milliseconds)."""
        first, last = self._searchable(timestamp)
        if last == self._commits[-1].version and timestamp > self.time_of(last):
            raise VersionNotFoundError(
                f"{utc_text(timestamp)} is after the newest version, {last} of "
                f"{utc_text(self.time_of(last))}",
                hint="leave the time out to read the newest version",
            )
        found = self.newest_until(timestamp)
        if found is None:
            raise VersionNotFoundError(
                f"{utc_text(timestamp)} is before the oldest version that can be read, "
                f"{first} of {utc_text(self.time_of(first))}",
                hint="ask for a later time",
            )
        return found

    def newest_until(self, timestamp: int) -> int | None:
        """The newest version that is not newer than `timestamp`; None if all are."""
        first, last = self._searchable(timestamp)
        if timestamp < self.time_of(first):
            return None
        while first < last:
            middle = (first + last + 1) // 2
            if self.time_of(middle) <= timestamp:
                first = middle
            else:
                last = middle - 1
        return first

    def _searchable(self, timestamp: int) -> tuple[int, int]:
        """File times before in-commit timestamps were on may be later than those: keep apart."""
        first, last = self._commits[0].version, self._commits[-1].version
        start = self._first_in_commit
        if start is None or self._enabled_at is None or not first < start <= last:
            return first, last
        if timestamp >= self._enabled_at:
            return start, last
        return first, start - 1

    def _in_commit(self, file: LogFile) -> int:
        info = commit.decode_commit_info(self._store.get(file.path), file.path)
        try:
            stamp = None if info is None else info.in_commit_timestamp
        except LogCorruptedError as error:
            raise LogCorruptedError(error.message, file=file.path) from error
        if stamp is None:
            raise LogCorruptedError(
                "in-commit timestamps are on, but the commit has none", file=file.path
            )
        if stamp not in _CALENDAR:
            raise LogCorruptedError(f"{stamp} is no in-commit timestamp", file=file.path)
        return stamp


def to_millis(timestamp: str | datetime | int) -> int:
    """A time as the user gives it; without a zone it is UTC."""
    if isinstance(timestamp, int):
        return timestamp
    if isinstance(timestamp, str):
        try:
            timestamp = datetime.fromisoformat(timestamp.strip().replace("Z", "+00:00"))
        except ValueError as error:
            raise InvalidArgumentError(
                f"{timestamp!r} is not a time",
                hint="write it as 2026-01-31, 2026-01-31 12:00:00 or 2026-01-31T12:00:00+01:00",
            ) from error
    if timestamp.tzinfo is None:
        timestamp = timestamp.replace(tzinfo=timezone.utc)
    return int(timestamp.timestamp() * 1000 + 0.5) if timestamp.microsecond else _exact(timestamp)


def utc_text(timestamp: int) -> str:
    if timestamp not in _CALENDAR:
        return f"{timestamp} ms after 1970"
    stamp = datetime.fromtimestamp(timestamp / 1000, timezone.utc)
    return stamp.isoformat(sep=" ", timespec="milliseconds").replace("+00:00", " UTC")


def _exact(timestamp: datetime) -> int:
    return int(timestamp.timestamp()) * 1000


def _monotonic(commits: Sequence[LogFile]) -> list[int]:
    times: list[int] = []
    for file in commits:
        time = file.modified_ms
        times.append(max(time, times[-1] + 1) if times else time)
    return times


def _first_in_commit(properties: TableProperties) -> int | None:
    if not properties.enable_in_commit_timestamps:
        return None
    version = properties.in_commit_timestamp_enablement_version
    return 0 if version is None else version
