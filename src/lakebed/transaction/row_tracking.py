"""Row ids and row commit versions of added files (PROTOCOL: Writer Requirements for Row Tracking).

Ids are assigned again at every attempt, from the high-water mark of the version below: that two
transactions both need ids is no conflict, the second one takes the next ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import orjson

from lakebed.errors import InvalidCommitError, LogCorruptedError
from lakebed.spec.actions import Action, Add, DomainMetadata, Remove
from lakebed.spec.stats import NUM_RECORDS

FEATURE = "rowTracking"
DOMAIN = "delta.rowTracking"
PRESERVED_TAG = "delta.rowTracking.preserved"
_MARK = "rowIdHighWaterMark"
_NO_MARK = -1


def assign(
    actions: Iterable[Action], domains: Mapping[str, DomainMetadata], version: int
) -> list[Action]:
    """The actions with ids for every file, and the new high-water mark if it moved.

    Files that bring ids along keep them: they were in the table before, or are clones.
    """
    before = high_water_mark(domains)
    mark = before
    result: list[Action] = []
    for action in actions:
        if isinstance(action, Add):
            action, mark = _with_ids(action, mark, version)
        result.append(action)
    if mark != before:
        result.append(DomainMetadata(DOMAIN, orjson.dumps({_MARK: mark}).decode()))
    return result


def suspend(actions: Iterable[Action]) -> list[Action]:
    """PROTOCOL: with `delta.rowTrackingSuspended`, no one gives out ids."""
    return [
        replace(action, base_row_id=None, default_row_commit_version=None)
        if isinstance(action, Add)
        else action
        for action in actions
    ]


def adopt(actions: Sequence[Action], winners: Iterable[Add]) -> list[Action]:
    """Takes over ids that a winning commit gave to files which these actions also name.

    A backfill commits every file again to give it ids. The file must keep them when it is committed
    once more or removed.
    """
    ids = {add.path: add for add in winners if add.base_row_id is not None}
    return [_adopted(action, ids) for action in actions] if ids else list(actions)


def high_water_mark(domains: Mapping[str, DomainMetadata]) -> int:
    """The highest id ever given out; -1 if there is none."""
    domain = domains.get(DOMAIN)
    if domain is None:
        return _NO_MARK
    try:
        mark = orjson.loads(domain.configuration)[_MARK]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise LogCorruptedError(f"the domain {DOMAIN} has no {_MARK}") from error
    if isinstance(mark, bool) or not isinstance(mark, int):
        raise LogCorruptedError(f"the domain {DOMAIN} has {mark!r} as {_MARK}")
    return mark


def physical_records(add: Add) -> int | None:
    """How many rows the file holds, with those that a deletion vector marks as deleted."""
    if add.stats is None:
        return None
    try:
        count = orjson.loads(add.stats)[NUM_RECORDS]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    return count if isinstance(count, int) and not isinstance(count, bool) else None


def _with_ids(add: Add, mark: int, version: int) -> tuple[Add, int]:
    base, commit_version = add.base_row_id, add.default_row_commit_version
    if base is None:
        base = mark + 1
        mark += _needed_records(add)
    elif base > mark:
        mark = max(mark, base + _needed_records(add) - 1)
    if commit_version is None:
        commit_version = version
    return replace(add, base_row_id=base, default_row_commit_version=commit_version), mark


def _needed_records(add: Add) -> int:
    count = physical_records(add)
    if count is None:
        raise InvalidCommitError(
            f"{add.path} has no numRecords in its statistics, so its rows cannot get ids",
            hint="the table has row tracking: write the number of rows into the statistics",
        )
    return count


def _adopted(action: Action, ids: Mapping[str, Add]) -> Action:
    if not isinstance(action, Add | Remove) or action.base_row_id is not None:
        return action
    known = ids.get(action.path)
    if known is None:
        return action
    return replace(
        action,
        base_row_id=known.base_row_id,
        default_row_commit_version=known.default_row_commit_version,
    )
