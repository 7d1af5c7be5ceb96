"""The options of a stream that reads a table, checked before the query starts."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lakebed.errors import InvalidArgumentError
from lakebed.settings import option_table as table
from lakebed.settings.setting import Option
from lakebed.streaming.source.admission import Limit

LATEST = "latest"


@dataclass(frozen=True)
class StreamOptions:
    """What a user asked of a stream. Times are in milliseconds."""

    limit: Limit = field(default_factory=Limit)
    starting_version: int | str | None = None
    starting_time: int | None = None
    ending_version: int | None = None
    ending_time: int | None = None
    skips_changes: bool = False
    ignores_changes: bool = False
    ignores_deletes: bool = False
    excluded: re.Pattern[str] | None = None
    fails_on_data_loss: bool = True
    reads_changes: bool = False
    schema_location: str | None = None
    tracking_id: str | None = None
    allows_beyond: bool = False
    """A start after the newest version is not an error, but waits for it."""
    allowed: Mapping[str, str] = field(default_factory=dict)
    """What the options for renamed, dropped and widened columns say, by their names."""

    @classmethod
    def of(
        cls,
        options: Mapping[str, str],
        millis: Callable[[str], int],
        *,
        allows_beyond: bool = False,
    ) -> StreamOptions:
        """Names are taken in any case; `millis` parses a timestamp as the session does."""
        known = {key.lower(): value for key, value in options.items()}

        def get(name: str) -> str | None:
            return known.get(name.lower())

        def time(option: Option[str | None]) -> int | None:
            text = option.read(get)
            return None if text is None else millis(text)

        _refuse(get)
        location, fails = _schema_location(get), table.FAIL_ON_DATA_LOSS.read(get)
        if location is not None and not fails:
            raise InvalidArgumentError(
                "failOnDataLoss cannot be false with a schema location",
                hint="leave out one of failOnDataLoss and schemaTrackingLocation",
            )
        return cls(
            limit=Limit(
                table.MAX_FILES_PER_TRIGGER.read(get), table.MAX_BYTES_PER_TRIGGER.read(get)
            ),
            starting_version=table.STREAM_STARTING_VERSION.read(get),
            starting_time=time(table.STREAM_STARTING_TIMESTAMP),
            ending_version=table.STREAM_ENDING_VERSION.read(get),
            ending_time=time(table.STREAM_ENDING_TIMESTAMP),
            skips_changes=table.SKIP_CHANGE_COMMITS.read(get),
            ignores_changes=_any(get, table.IGNORE_CHANGES, table.IGNORE_FILE_DELETION),
            ignores_deletes=table.IGNORE_DELETES.read(get),
            excluded=_pattern(table.EXCLUDE_REGEX.read(get)),
            fails_on_data_loss=fails,
            reads_changes=_any(get, table.READ_CHANGE_FEED, table.READ_CHANGE_DATA),
            schema_location=location,
            tracking_id=table.SOURCE_TRACKING_ID.read(get),
            allows_beyond=allows_beyond,
            allowed={each.name: value for each in _ALLOWED if (value := each.read(get))},
        )

    @property
    def has_start(self) -> bool:
        return self.starting_version is not None or self.starting_time is not None

    @property
    def allows_changes(self) -> bool:
        return self.ignores_changes or self.skips_changes

    @property
    def allows_deletes(self) -> bool:
        return self.allows_changes or self.ignores_deletes

    def excludes(self, path: str) -> bool:
        return self.excluded is not None and self.excluded.search(path) is not None


Get = Callable[[str], str | None]
_ALLOWED = (table.ALLOW_COLUMN_RENAME, table.ALLOW_COLUMN_DROP, table.ALLOW_COLUMN_TYPE_CHANGE)


def stream_option_names() -> frozenset[str]:
    """In lower case; all others say how to reach the store."""
    return frozenset({*(name.lower() for name in table.STREAM_OPTIONS), "path", "readchangedata"})


def _refuse(get: Get) -> None:
    for option in (table.VERSION_AS_OF, table.TIMESTAMP_AS_OF):
        if get(option.name) is not None:
            raise time_travel(f"the option {option.name}")
    for end in ("starting", "ending"):
        if get(f"{end}Version") is not None and get(f"{end}Timestamp") is not None:
            raise InvalidArgumentError(
                f"give {end}Version or {end}Timestamp, not both", hint="leave one of them out"
            )
    if table.WITH_EVENT_TIME_ORDER.read(get):
        raise InvalidArgumentError(
            f"{table.WITH_EVENT_TIME_ORDER.name} is not supported",
            hint="leave it out; with a watermark, read the table in batches first, or choose a "
            "watermark that is longer than the range of times in the table",
        )


def time_travel(what: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"a stream cannot read one version of a table, but {what} names one",
        hint="leave it out; startingVersion and startingTimestamp say where a stream starts",
    )


def _any(get: Get, *options: Option[bool]) -> bool:
    # All are read: a wrong value of any is an error.
    values = [option.read(get) for option in options]
    return any(values)


def _schema_location(get: Get) -> str | None:
    found = [table.SCHEMA_TRACKING_LOCATION.read(get), table.SCHEMA_LOCATION.read(get)]
    if None not in found and found[0] != found[1]:
        raise InvalidArgumentError(
            "schemaTrackingLocation and schemaLocation name different folders",
            hint="leave one of them out: they are the same option",
        )
    return found[0] or found[1]


def _pattern(text: str | None) -> re.Pattern[str] | None:
    if text is None:
        return None
    try:
        with warnings.catch_warnings():
            # Such as [a-z&&[^b]], which Java reads in another way.
            warnings.simplefilter("error", FutureWarning)
            return re.compile(text, re.ASCII)
    except (re.error, FutureWarning, OverflowError, RecursionError) as error:
        raise InvalidArgumentError(
            f"{table.EXCLUDE_REGEX.name} is {text!r}, which is not a regular expression: {error}",
            hint="use what regular expressions of Python and Java have in common",
        ) from error
