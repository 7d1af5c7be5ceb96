"""How far a stream has read a table, as delta-spark writes it into checkpoints.

Spark compares offsets as JSON text, so every letter counts: the order of the keys, no spaces, and
version 1 of the format wherever it suffices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from lakebed.errors import SourceReplacedError, StreamOffsetError

BEGIN = -100
"""The index before everything in a version. Checkpoints have -1 in its place."""
SCHEMA_CHANGE = -20
"""The index of a change of metadata or protocol at which a stream with a schema log stops."""
AFTER_SCHEMA_CHANGE = -19
END = 2**63 - 1 - 100
"""The index behind everything in a version; no offset has it."""


@dataclass(frozen=True)
class SourceOffset:
    """Everything up to and including the file `index` of `version` has been read.

    `is_initial`: the files are those of the whole table in that version, not of its commit.
    """

    table_id: str
    version: int
    index: int = BEGIN
    is_initial: bool = False

    @classmethod
    def parse(cls, text: str, table_id: str) -> SourceOffset:
        """An offset of this table; an error if it is of another one."""
        found = _decode(text)
        if found.table_id != table_id:
            raise SourceReplacedError(
                f"the checkpoint is of the table with the id {found.table_id}, but the source now "
                f"has the id {table_id}: it was replaced by another table",
                hint="start the query with a new checkpoint location, or read the former table",
            )
        return found

    @classmethod
    def after(cls, table_id: str, version: int, index: int, previous: SourceOffset) -> SourceOffset:
        """The offset once a file has been read. Behind the last one the next version begins."""
        if index == END:
            return cls(table_id, version + 1)
        is_initial = previous.is_initial and version == previous.version
        return cls(table_id, version, index, is_initial)

    @property
    def place(self) -> tuple[int, int]:
        """Offsets of one table are in the order of their places."""
        return self.version, self.index

    @property
    def is_schema_change(self) -> bool:
        return self.index in (SCHEMA_CHANGE, AFTER_SCHEMA_CHANGE)

    def at(self, index: int) -> SourceOffset:
        return replace(self, index=index)

    def to_json(self) -> str:
        assert self.index != END, "no offset stands at the end of a version"
        return orjson.dumps(
            {
                "sourceVersion": 3 if self.is_schema_change else 1,
                "reservoirId": self.table_id,
                "reservoirVersion": self.version,
                "index": _BEGIN_IN_CHECKPOINTS if self.index == BEGIN else self.index,
                "isStartingVersion": self.is_initial,
            }
        ).decode()


def decode_offset(text: str) -> SourceOffset:
    """An offset of whatever table."""
    return _decode(text)


_BEGIN_IN_CHECKPOINTS = -1
_VERSIONS = (1, 3)
"""Version 2 of the format is reserved."""


def _decode(text: str) -> SourceOffset:
    try:
        raw = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _broken(text, "is not JSON") from error
    if not isinstance(raw, dict):
        raise _broken(text, "is not a JSON object")
    source_version = _number(raw, "sourceVersion", text)
    if source_version not in _VERSIONS:
        raise StreamOffsetError(
            f"an offset of the checkpoint has the format {source_version}, which Lakebed does not "
            "know",
            hint="it was written by a newer version of Delta Lake or Lakebed: update Lakebed",
        )
    table_id, is_initial = raw.get("reservoirId"), raw.get("isStartingVersion", False)
    if not isinstance(table_id, str) or not isinstance(is_initial, bool):
        raise _broken(text, "has no valid reservoirId or isStartingVersion")
    version, index = _number(raw, "reservoirVersion", text), _number(raw, "index", text)
    if source_version == 1 and index == _BEGIN_IN_CHECKPOINTS:
        index = BEGIN
    if version < 0 or not _is_index(index):
        raise _broken(text, f"has the version {version} and the index {index}")
    return SourceOffset(table_id, version, index, is_initial)


def _is_index(index: int) -> bool:
    return index in (BEGIN, SCHEMA_CHANGE, AFTER_SCHEMA_CHANGE) or 0 <= index < END


def _number(raw: Mapping[str, Any], name: str, text: str) -> int:
    found = raw.get(name)
    if type(found) is not int:
        raise _broken(text, f"has no whole number as {name}")
    return found


def _broken(text: str, what: str) -> StreamOffsetError:
    return StreamOffsetError(
        f"{text!r} is not an offset of a Delta table: it {what}",
        hint="was the source of the query changed to a Delta table? Use a new checkpoint location",
    )
