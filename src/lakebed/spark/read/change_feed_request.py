"""The options of a read that ask for the change feed, as delta-spark spells them."""

from __future__ import annotations

from collections.abc import Callable

from lakebed.errors import InvalidArgumentError
from lakebed.log.change_feed.change_range import ChangeRange
from lakebed.spark.session.flags import parse_flag

_FLAGS = ("readChangeFeed", "readChangeData")
_ENDS = ("startingVersion", "startingTimestamp", "endingVersion", "endingTimestamp")
OPTIONS = frozenset(name.lower() for name in (*_FLAGS, *_ENDS))
"""In lower case."""

Get = Callable[[str], str | None]


def asks_for_changes(get: Get) -> bool:
    """`get` gives the value of an option, whatever the case of its name."""
    texts = {name: get(name) for name in _FLAGS}
    flags = [parse_flag(name, text) for name, text in texts.items() if text is not None]
    return any(flags)


def asked_range(get: Get, millis: Callable[[str], int], *, allow_beyond: bool) -> ChangeRange:
    """`millis` reads a time as the session does."""
    for name in ("versionAsOf", "timestampAsOf"):
        if get(name) is not None:
            raise time_travel(f"the option {name}")
    starting, ending = get("startingTimestamp"), get("endingTimestamp")
    return ChangeRange(
        starting_version=_version("startingVersion", get),
        starting_time=None if starting is None else millis(starting),
        ending_version=_version("endingVersion", get),
        ending_time=None if ending is None else millis(ending),
        allow_beyond=allow_beyond,
    )


def time_travel(what: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the change feed is of a range of versions, but {what} names a single one",
        hint="leave it out, and give startingVersion and endingVersion",
    )


def _version(name: str, get: Get) -> int | None:
    text = get(name)
    try:
        return None if text is None else int(text)
    except ValueError as error:
        raise InvalidArgumentError(
            f"{name} is {text!r}", hint="versions are whole numbers from 0 on"
        ) from error
