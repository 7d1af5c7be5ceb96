"""The first entry of the schema log of a query that began without one."""

from __future__ import annotations

from lakebed.errors import SourceSchemaChangedError
from lakebed.spec.actions import Metadata, Protocol
from lakebed.streaming.source.schema.schema_rules import (
    Compatibility,
    has_mapping_changes,
    schema_of,
)
from lakebed.streaming.source.source_files import Source


def resolved_schema(source: Source, start: int, end: int) -> tuple[Metadata, Protocol]:
    """What all files of a batch that was planned before can be read with.

    The batch cannot be split any more, so there must be one schema for the versions of it.
    """
    snapshot = source.snapshot_at(start)
    metadata, protocol = [snapshot.metadata], snapshot.protocol
    for commit, _ in source.commits(start, end, was_seen=True):
        metadata += [each for each in commit.actions if isinstance(each, Metadata)]
        for each in commit.actions:
            if isinstance(each, Protocol):
                if not _features(protocol) <= _features(each):
                    raise _refusal(source, start, end)
                protocol = each
    last = metadata[-1]
    for each in metadata[:-1]:
        is_readable = Compatibility().holds(schema_of(each), schema_of(last))
        if has_mapping_changes(each, last) or not is_readable:
            raise _refusal(source, start, end)
    return last, protocol


def _features(protocol: Protocol) -> set[str]:
    return {*(protocol.reader_features or ()), *(protocol.writer_features or ())}


def _refusal(source: Source, start: int, end: int) -> SourceSchemaChangedError:
    return SourceSchemaChangedError(
        f"the schema log cannot begin with versions {start} to {end} of {source.url}, which the "
        "query planned to read together before it had the log: no schema fits all of them",
        hint="start the query with a new checkpoint and schema location",
    )
