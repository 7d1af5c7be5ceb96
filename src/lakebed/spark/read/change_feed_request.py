"""The options of a read that ask for the change feed, as delta-spark spells them."""

from __future__ import annotations

from collections.abc import Callable

from lakebed.errors import InvalidArgumentError
from lakebed.log.change_feed.change_range import ChangeRange
from lakebed.settings.option_table import (
    ENDING_TIMESTAMP,
    ENDING_VERSION,
    READ_CHANGE_DATA,
    READ_CHANGE_FEED,
    STARTING_TIMESTAMP,
    STARTING_VERSION,
    TIMESTAMP_AS_OF,
    VERSION_AS_OF,
)

_FLAGS = (READ_CHANGE_FEED, READ_CHANGE_DATA)
_ENDS = (STARTING_VERSION, STARTING_TIMESTAMP, ENDING_VERSION, ENDING_TIMESTAMP)
OPTIONS = frozenset(option.name.lower() for option in (*_FLAGS, *_ENDS))
"""In lower case."""

Get = Callable[[str], str | None]


def asks_for_changes(get: Get) -> bool:
    """`get` gives the value of an option, whatever the case of its name."""
    # Both are read: a wrong value of either is an error.
    asked = [option.read(get) for option in _FLAGS]
    return any(asked)


def asked_range(get: Get, millis: Callable[[str], int], *, allow_beyond: bool) -> ChangeRange:
    """`millis` reads a time as the session does."""
    for option in (VERSION_AS_OF, TIMESTAMP_AS_OF):
        if get(option.name) is not None:
            raise time_travel(f"the option {option.name}")
    starting, ending = STARTING_TIMESTAMP.read(get), ENDING_TIMESTAMP.read(get)
    return ChangeRange(
        starting_version=STARTING_VERSION.read(get),
        starting_time=None if starting is None else millis(starting),
        ending_version=ENDING_VERSION.read(get),
        ending_time=None if ending is None else millis(ending),
        allow_beyond=allow_beyond,
    )


def time_travel(what: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the change feed is of a range of versions, but {what} names a single one",
        hint="leave it out, and give startingVersion and endingVersion",
    )
