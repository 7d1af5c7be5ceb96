"""The state of a table by its log alone, in plain JSON: nothing of Lakebed takes part.

Tables in memory or on S3 are first copied out as they are, byte by byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from deltalake import DeltaTable

_COMMIT = re.compile(r"(\d{20})\.json")


class Source(Protocol):
    def list_all(self, prefix: str = "") -> Iterable[Any]: ...

    def get(self, path: str) -> bytes: ...


@dataclass
class Replayed:
    """`commits` by version; `files` are the live paths, `added` counts how often each was added."""

    commits: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    files: dict[tuple[str, str | None], dict[str, Any]] = field(default_factory=dict)
    added: dict[str, int] = field(default_factory=dict)
    metadata: dict[str, Any] | None = None

    @property
    def paths(self) -> set[str]:
        return {path for path, _ in self.files}

    def infos(self) -> list[dict[str, Any]]:
        return [commit[0]["commitInfo"] for commit in self.commits.values()]


def copy_out(source: Source, folder: Path) -> Path:
    for found in source.list_all():
        target = folder / found.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.get(found.path))
    return folder


def commits(folder: Path) -> dict[int, bytes]:
    log = folder / "_delta_log"
    names = sorted(path.name for path in log.iterdir()) if log.exists() else []
    found = filter(None, map(_COMMIT.fullmatch, names))
    return {int(match[1]): (log / match[0]).read_bytes() for match in found}


def replay(folder: Path, cleaned_up: Mapping[int, bytes] | None = None) -> Replayed:
    """Fails if versions have holes, or a line is not whole.

    `cleaned_up` are commits that were there once; the log may have lost them since.
    """
    found = commits(folder)
    assert list(found) == list(range(min(found), max(found) + 1)), "versions are not contiguous"
    found = {**(cleaned_up or {}), **found}
    assert sorted(found) == list(range(len(found))), "the start of the log is missing"
    state = Replayed()
    for version, data in sorted(found.items()):
        assert data.endswith(b"\n"), f"version {version} is torn"
        actions = [json.loads(line) for line in data.splitlines()]
        state.commits[version] = actions
        for action in actions:
            _apply(state, action)
    txn_ids = [info["txnId"] for info in state.infos()]
    assert len(set(txn_ids)) == len(txn_ids), "a commit is there twice"
    return state


def check(folder: Path, cleaned_up: Mapping[int, bytes] | None = None) -> Replayed:
    """The replay, compared with what delta-rs reads from the same log, checkpoints and all."""
    state = replay(folder, cleaned_up)
    other = DeltaTable(str(folder))
    assert other.version() == len(state.commits) - 1
    actions = pa.table(other.get_add_actions())
    assert sorted(actions["path"].to_pylist()) == sorted(path for path, _ in state.files)
    return state


def _apply(state: Replayed, action: dict[str, Any]) -> None:
    if "metaData" in action:
        state.metadata = action["metaData"]
    if "remove" in action:
        state.files.pop(_key(action["remove"]), None)
    if "add" in action:
        add = action["add"]
        state.files[_key(add)] = add
        state.added[add["path"]] = state.added.get(add["path"], 0) + 1


def _key(raw: dict[str, Any]) -> tuple[str, str | None]:
    vector = raw.get("deletionVector")
    return raw["path"], None if vector is None else json.dumps(vector, sort_keys=True)
