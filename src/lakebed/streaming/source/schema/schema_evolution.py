"""What happens when a query with a schema log starts again after a change of the schema.

Renamed, dropped and widened columns need the consent of the user, by an option of the stream or a
setting of the session: what is downstream of the query may depend on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lakebed.errors import SourceSchemaChangedError
from lakebed.settings import option_table as options
from lakebed.settings import setting_table as settings
from lakebed.spec.actions import Add, AddCdc, Metadata, Protocol, Remove
from lakebed.spec.schema import schema_to_json
from lakebed.streaming.source.schema.schema_log import SchemaLog, TrackedSchema
from lakebed.streaming.source.schema.schema_rules import (
    ColumnChanges,
    Compatibility,
    column_changes,
    partition_schema,
    physical,
)
from lakebed.streaming.source.source_log import SourceLog
from lakebed.streaming.source.stream_options import StreamOptions

Get = Callable[[str], str | None]


def check_allowed(log: SchemaLog, asked: StreamOptions, session: Get, source_path: str) -> None:
    """Whether the stream may go on with the newest entry; `session` gives a setting by its name."""
    current, previous = log.current, log.previous
    if current is None or previous is None:
        return
    widening = Compatibility(allows_missing=True, widens=True)
    if not widening.holds(physical(previous.schema), physical(current.schema)):
        raise SourceSchemaChangedError(
            f"version {current.version} of the source changes types of columns in a way that a "
            f"stream cannot go on with: the columns were {previous.schema}, and are "
            f"{current.schema}",
            hint="start the query with a new checkpoint and schema location",
        )
    changes = column_changes(previous.schema, current.schema)
    consent = _Consent(asked, session, _java_hash(source_path), current.version)
    missing = consent.missing(changes)
    if missing:
        raise SourceSchemaChangedError(
            f"between versions {previous.version} and {current.version} the columns of the source "
            f"changed: {changes}. The query goes on when you allow it",
            hint=f"look at what depends on the query, then start it again with {_ways(missing)} "
            f"set to {current.version}, or to always for all later changes",
        )


def merged_entry(commits: SourceLog, current: TrackedSchema) -> TrackedSchema | None:
    """The newest of the changes that follow an entry without any data in between, as one."""
    found = current
    for number, commit in enumerate(commits.commits(current.version), current.version):
        metadata = [each for each in commit.actions if isinstance(each, Metadata)]
        protocol = [each for each in commit.actions if isinstance(each, Protocol)]
        has_files = any(isinstance(each, (Add, Remove, AddCdc)) for each in commit.actions)
        # Older commits may have been removed: then the change is as good as alone.
        if commit.version != number or has_files or not (metadata or protocol):
            break
        found = replace(found, version=commit.version)
        if metadata:
            found = replace(
                found,
                schema_string=metadata[-1].schema_string,
                partition_string=schema_to_json(partition_schema(metadata[-1])),
                configuration=dict(metadata[-1].configuration),
            )
        if protocol:
            found = replace(found, protocol=protocol[-1])
    return None if found.version == current.version else found


class _Consent:
    """What options and settings allow. A value is `always`, or the version of the change."""

    def __init__(self, asked: StreamOptions, session: Get, query: int, version: int) -> None:
        self._asked = asked
        self._session = session
        self._query = query
        self._version = str(version)

    def missing(self, changes: ColumnChanges) -> list[str]:
        """The options for the kinds of changes that are not allowed."""
        both = settings.STREAM_ALLOW_RENAME_AND_DROP.name
        kinds = (
            (changes.renamed, options.ALLOW_COLUMN_RENAME, settings.STREAM_ALLOW_RENAME, both),
            (changes.dropped, options.ALLOW_COLUMN_DROP, settings.STREAM_ALLOW_DROP, both),
            (
                changes.widened,
                options.ALLOW_COLUMN_TYPE_CHANGE,
                settings.STREAM_ALLOW_TYPE_CHANGE,
                settings.STREAM_ALLOW_TYPE_CHANGE.name,
            ),
        )
        return [
            option.name
            for found, option, setting, other in kinds
            if found
            and not self._in_option(option.name)
            and not self._in_setting(setting.name)
            and not self._in_setting(other)
        ]

    def _in_option(self, name: str) -> bool:
        return self._asked.allowed.get(name) in (_ALWAYS, self._version)

    def _in_setting(self, name: str) -> bool:
        """For all queries, or for the one with this hash of the folder of its source."""
        here = (self._session(f"{name}.ckpt_{self._query}") or "").lower()
        return (self._session(name) or "").lower() == _ALWAYS or here in (_ALWAYS, self._version)


_ALWAYS = "always"


def _ways(names: list[str]) -> str:
    return f"the options {' and '.join(names)}" if len(names) > 1 else f"the option {names[0]}"


def _java_hash(text: str) -> int:
    """`String.hashCode` of Java."""
    found = 0
    data = text.encode("utf-16-be", "surrogatepass")
    for unit in range(0, len(data), 2):
        found = (31 * found + int.from_bytes(data[unit : unit + 2], "big")) & 0xFFFFFFFF
    return found - (1 << 32) if found & 0x80000000 else found
