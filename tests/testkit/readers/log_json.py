"""What the log of a table says, by the JSON of its commits alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def last_commit(path: Path) -> dict[str, Any]:
    """The actions of the newest commit by their names; those of files are left out."""
    return commit_of(path, max((path / "_delta_log").glob("*.json")).name)


def commit_of(path: Path, name: str) -> dict[str, Any]:
    lines = (path / "_delta_log" / name).read_text().splitlines()
    found: dict[str, Any] = {}
    for line in map(json.loads, lines):
        found.update(line)
    return found


def operations(path: Path) -> list[str]:
    """Oldest first."""
    names = sorted(file.name for file in (path / "_delta_log").glob("*.json"))
    return [commit_of(path, name)["commitInfo"]["operation"] for name in names]


def schema_json(path: Path) -> dict[str, Any]:
    """The fields of the newest schema by name, as the log has them."""
    names = sorted((file.name for file in (path / "_delta_log").glob("*.json")), reverse=True)
    text = next(
        c["metaData"]["schemaString"] for n in names if "metaData" in (c := commit_of(path, n))
    )
    return {field["name"]: field for field in json.loads(text)["fields"]}


def actions(path: Path, version: int | None = None) -> list[dict[str, Any]]:
    """Of the newest commit, or of another one."""
    log = path / "_delta_log"
    file = max(log.glob("*.json")) if version is None else log / f"{version:020}.json"
    return [json.loads(line) for line in file.read_text().splitlines()]


def last(path: Path, kind: str) -> list[dict[str, Any]]:
    """The actions of a kind in the newest commit."""
    return [action[kind] for action in actions(path) if kind in action]


def actions_of(path: Path) -> list[dict[str, Any]]:
    logs = sorted((path / "_delta_log").glob("*.json"))
    return [json.loads(line) for log in logs for line in log.read_text().splitlines()]


def live_adds(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for action in actions_of(path):
        if "remove" in action:
            found.pop(action["remove"]["path"], None)
        if "add" in action:
            found[action["add"]["path"]] = action["add"]
    return found


def metadata_of(path: Path) -> dict[str, Any]:
    return [each["metaData"] for each in actions_of(path) if "metaData" in each][-1]


def configuration_of(path: Path) -> dict[str, str]:
    found: dict[str, str] = metadata_of(path)["configuration"]
    return found


def log_files(path: Path) -> list[str]:
    return sorted(file.name for file in (path / "_delta_log").glob("*.json"))


def data_files(path: Path) -> list[str]:
    return sorted(str(file.relative_to(path)) for file in path.rglob("*.parquet"))
