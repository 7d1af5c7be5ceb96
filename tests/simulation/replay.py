"""A table by its bytes alone: commits as JSON, rows by pyarrow, vectors by the protocol's text.

Nothing of Lakebed takes part.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from model import PIN, Row, State
from simulated_store import Objects

from testkit.tables.marked_tables import vector_path, vector_rows

COMMIT = re.compile(r"_delta_log/(\d{20})\.json")
_OWN = ("sim.", "delta.constraints.", PIN)
File = tuple[str, str]
"""The path and the deletion vector, as JSON."""


@dataclass
class Made:
    """What a commit made of a table."""

    number: int
    info: dict[str, Any]
    actions: list[dict[str, Any]]
    files: dict[File, dict[str, Any]]
    metadata: dict[str, Any]
    state: State
    born_ms: int

    @property
    def change_files(self) -> set[str]:
        return {unquote(each["cdc"]["path"]) for each in self.actions if "cdc" in each}


class Replay:
    """`others` are the tables whose files a clone may have."""

    def __init__(self, objects: Objects, *others: Objects) -> None:
        self._objects = objects
        self._others = others
        self._rows: dict[tuple[str, str], list[tuple[int, str]]] = {}

    def commits(self) -> Iterator[tuple[int, list[Any]]]:
        for path, blobs in self._objects.written.items():
            match = COMMIT.fullmatch(path)
            if match:
                yield int(match[1]), blobs

    def versions(self) -> Iterator[Made]:
        found = sorted(self.commits())
        assert [version for version, _ in found] == list(range(len(found))), "versions have holes"
        files: dict[File, dict[str, Any]] = {}
        metadata: dict[str, Any] = {}
        stamps: list[int] = []
        for version, blobs in found:
            blob = blobs[-1]
            assert blob.data.endswith(b"\n"), f"version {version} is torn"
            actions = [json.loads(line) for line in blob.data.splitlines()]
            files = dict(files)
            for action in actions:
                metadata = action.get("metaData", metadata)
                _apply(version, files, action)
            info = actions[0]["commitInfo"]
            state = self._state(files, metadata)
            yield Made(version, info, actions, files, metadata, state, blob.modified_ms)
            if "inCommitTimestamp" in info:
                stamps.append(info["inCommitTimestamp"])
        assert stamps == sorted(set(stamps)), f"in-commit timestamps do not increase: {stamps}"

    def places(self, made: Made) -> set[str]:
        """The files in the table's folder that a version needs."""
        found = set()
        for add in made.files.values():
            vector = add.get("deletionVector")
            places = [self._place(add["path"])]
            if vector is not None:
                places.append(self._vector_place(vector))
            found |= {path for objects, path in places if objects is self._objects}
        return found

    def _state(self, files: dict[File, dict[str, Any]], metadata: dict[str, Any]) -> State:
        fields = json.loads(metadata["schemaString"])["fields"]
        physical = {
            each["name"]: each["metadata"].get("delta.columnMapping.physicalName", each["name"])
            for each in fields
        }
        rows: Counter[Row] = Counter()
        for add in files.values():
            rows.update(self._rows_of(add, physical))
        own = {k: v for k, v in metadata["configuration"].items() if k.startswith(_OWN)}
        return State(rows, own, tuple(each["name"] for each in fields))

    def _rows_of(self, add: dict[str, Any], physical: dict[str, str]) -> Iterator[Row]:
        objects, path = self._place(add["path"])
        key = objects.url, path
        if key not in self._rows:
            file = pq.ParquetFile(pa.BufferReader(objects.ever(path)))
            names = [physical["id"], physical["tag"]]
            table = file.read(columns=names, use_threads=False)
            columns = [table[name].to_pylist() for name in names]
            self._rows[key] = list(zip(*columns, strict=True))
        rows = self._rows[key]
        assert json.loads(add["stats"])["numRecords"] == len(rows), f"{path}: wrong statistics"
        dead = self._dead(add.get("deletionVector"))
        p = int(add["partitionValues"][physical["p"]])
        return ((p, *row) for number, row in enumerate(rows) if number not in dead)

    def _dead(self, vector: dict[str, Any] | None) -> set[int]:
        if vector is None:
            return set()
        objects, path = self._vector_place(vector)
        data = objects.ever(path)
        known = {**vector, "storageType": "u", "pathOrInlineDv": "0" * 20}
        return vector_rows(_Only(data), known)  # type: ignore[arg-type]

    def _vector_place(self, vector: dict[str, Any]) -> tuple[Objects, str]:
        if vector["storageType"] == "p":
            return self._place(vector["pathOrInlineDv"])
        return self._objects, vector_path(vector)

    def _place(self, reference: str) -> tuple[Objects, str]:
        for each in (self._objects, *self._others):
            if reference.startswith(f"{each.url}/"):
                return each, unquote(reference[len(each.url) + 1 :])
        assert ":" not in reference, f"a file of another place: {reference}"
        return self._objects, unquote(reference)


def key_of(raw: dict[str, Any]) -> File:
    vector = raw.get("deletionVector")
    if vector is None:
        return raw["path"], ""
    return raw["path"], f"{vector['pathOrInlineDv']}@{vector.get('offset')}"


def numbers(pattern: re.Pattern[str], paths: Any) -> set[int]:
    return {int(match[1]) for match in map(pattern.fullmatch, paths) if match}


def _apply(version: int, files: dict[File, dict[str, Any]], action: dict[str, Any]) -> None:
    if "remove" in action:
        key = key_of(action["remove"])
        assert files.pop(key, None) is not None, f"version {version} removes {key} twice"
    if "add" in action:
        key = key_of(action["add"])
        assert key not in files, f"version {version} adds {key} twice"
        files[key] = action["add"]


class _Only:
    """A store of one object."""

    def __init__(self, data: bytes) -> None:
        self.get: Callable[[str], bytes] = lambda _: data
