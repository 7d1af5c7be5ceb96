"""Which versions a stream was asked to start and to end with."""

from __future__ import annotations

from contextlib import suppress

from lakebed.errors import (
    InvalidArgumentError,
    LogCorruptedError,
    TableNotFoundError,
    VersionNotFoundError,
)
from lakebed.log.change_feed.change_range import contiguous_commits
from lakebed.log.listing.commit_times import CommitTimes, utc_text
from lakebed.log.table_log import TableLog
from lakebed.streaming.source.stream_options import LATEST, StreamOptions


def starting_version(log: TableLog, options: StreamOptions) -> int | None:
    """The first version whose commit is read; None if all rows of the table come first."""
    if options.starting_version == LATEST:
        return log.snapshot().version + 1
    found = None
    if options.starting_version is not None:
        found = int(options.starting_version)
        _check_exists(log, found, options)
    elif options.starting_time is not None:
        found = _first_from(log, options.starting_time, options)
    if found is not None:
        # A protocol that this version needs and Lakebed does not know. The log need not be able
        # to rebuild it: a stream reads its commit alone.
        with suppress(VersionNotFoundError, LogCorruptedError, TableNotFoundError):
            log.at_version(found)
    return found


def ending_version(log: TableLog, options: StreamOptions) -> int | None:
    """The last version whose commit is read; None if there is no end."""
    found = options.ending_version
    if options.ending_time is not None:
        _, times = _times(log)
        found = times.newest_until(options.ending_time)
        if found is None:
            raise VersionNotFoundError(
                f"endingTimestamp is {utc_text(options.ending_time)}, before the oldest version "
                "whose time is known",
                hint="ask for a later time",
            )
    start = options.starting_version
    if found is not None and isinstance(start, int) and start > found:
        raise InvalidArgumentError(
            f"the stream starts at version {start}, after its end at version {found}",
            hint="exchange startingVersion and endingVersion; both belong to the range",
        )
    return found


def _check_exists(log: TableLog, version: int, options: StreamOptions) -> None:
    commits = contiguous_commits(log.store, 0)
    newest = commits[-1].version if commits else log.snapshot().version
    oldest = commits[0].version if commits else newest + 1
    if version < oldest:
        raise VersionNotFoundError(
            f"startingVersion is {version}, but the oldest version whose commit is there is "
            f"{oldest}",
            hint=f"start at version {oldest} or later, or leave startingVersion out to read the "
            "rows of the table first",
        )
    if version > newest and not options.allows_beyond:
        raise VersionNotFoundError(
            f"startingVersion is {version}, but the newest version is {newest}",
            hint=f"start at version {newest} or before, or with startingVersion latest",
        )


def _first_from(log: TableLog, timestamp: int, options: StreamOptions) -> int:
    """The first version that is not older than `timestamp`."""
    oldest, times = _times(log)
    before = times.newest_until(timestamp)
    if before is None:
        return oldest
    if times.time_of(before) == timestamp:
        return before
    newest = log.snapshot().version
    if before >= newest and not options.allows_beyond:
        raise VersionNotFoundError(
            f"startingTimestamp is {utc_text(timestamp)}, after the newest version, {newest} of "
            f"{utc_text(times.time_of(before))}",
            hint="start at that time or before, or with startingVersion latest",
        )
    return before + 1


def _times(log: TableLog) -> tuple[int, CommitTimes]:
    """The oldest version whose commit is there, and the times of all from it on."""
    commits = contiguous_commits(log.store, 0)
    if not commits:
        raise VersionNotFoundError(
            "no commit of the table is there any more, so the times of versions are not known",
            hint="give startingVersion and endingVersion",
        )
    return commits[0].version, CommitTimes(log.store, commits, log.snapshot().properties)
