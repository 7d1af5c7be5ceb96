"""What a log says about its table, read by neither engine: plain JSON, for the small logs here."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_PROTOCOL = {"minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures"}
_RANDOM = {"delta.columnMapping.physicalName"}
"""Each table has its own."""
_RANDOM_PROPERTIES = {
    "delta.rowTracking.materializedRowIdColumnName",
    "delta.rowTracking.materializedRowCommitVersionColumnName",
    "delta.inCommitTimestampEnablementTimestamp",
}


_NUMBER = re.compile(r"#\d+L?")
_QUALIFIER = re.compile(r"\b[A-Za-z_]\w*\.(?=[A-Za-z_])")


@dataclass
class LogState:
    """The newest version; `version` is -1 where there is no log."""

    version: int = -1
    protocol: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    commit: dict[str, Any] = field(default_factory=dict)
    """The `commitInfo` of the newest version."""
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The live `add` actions, by path and deletion vector."""
    domains: dict[str, Any] = field(default_factory=dict)
    folder: str = "(no folder)"
    """What is of one engine alone in paths."""

    @property
    def schema(self) -> list[Any]:
        """Names, types, nullability, and metadata without what is random."""
        if not self.metadata:
            return []
        fields = json.loads(self.metadata["schemaString"])["fields"]
        return [_without_random(each) for each in fields]

    @property
    def partitioning(self) -> list[str]:
        return list(self.metadata.get("partitionColumns", []))

    @property
    def properties(self) -> dict[str, str]:
        found = self.metadata.get("configuration", {})
        return {
            name: "(random)" if name in _RANDOM_PROPERTIES else value
            for name, value in sorted(found.items())
        }

    @property
    def features(self) -> dict[str, Any]:
        """The protocol, with features in one order. Other members are the writer's own."""
        return {
            name: sorted(value) if isinstance(value, list) else value
            for name, value in sorted(self.protocol.items())
            if name in _PROTOCOL
        }

    @property
    def operation(self) -> str | None:
        return self.commit.get("operation")

    @property
    def parameters(self) -> dict[str, Any]:
        """What the history says about the call. Each engine has folders of its own; delta-spark
        numbers columns, and Lakebed says of which side of a MERGE they are."""
        found = self.commit.get("operationParameters") or {}
        text = json.dumps(found, sort_keys=True).replace(self.folder, "(folder)")
        parameters: dict[str, Any] = json.loads(text)
        return {
            name: _QUALIFIER.sub("", _NUMBER.sub("", value)) if "redicate" in name else value
            for name, value in parameters.items()
        }

    @property
    def clustering(self) -> list[list[str]] | None:
        """Physical names that no table shares count as one."""
        domain = self.domains.get("delta.clustering")
        if domain is None or domain.get("removed"):
            return None
        columns = json.loads(domain["configuration"])["clusteringColumns"]
        return [["(random)" if part.startswith("col-") else part for part in c] for c in columns]

    @property
    def metrics(self) -> dict[str, str]:
        return dict(sorted((self.commit.get("operationMetrics") or {}).items()))


def log_state(table: Path, folder: Path | None = None) -> LogState:
    state = LogState() if folder is None else LogState(folder=str(folder))
    for commit in sorted((table / "_delta_log").glob("[0-9]*.json")):
        if len(commit.stem) != 20:
            continue
        state.version = int(commit.stem)
        state.commit = {}
        for line in commit.read_text().splitlines():
            _apply(state, json.loads(line))
    return state


def _apply(state: LogState, action: dict[str, Any]) -> None:
    [(kind, content)] = action.items()
    match kind:
        case "protocol":
            state.protocol = content
        case "metaData":
            state.metadata = content
        case "commitInfo":
            state.commit = content
        case "add":
            state.files[_key(content)] = content
        case "remove":
            state.files.pop(_key(content), None)
        case "domainMetadata":
            state.domains[content["domain"]] = content


def _key(file: dict[str, Any]) -> str:
    vector = file.get("deletionVector") or {}
    return f"{file['path']} {vector.get('pathOrInlineDv')} {vector.get('offset')}"


def _without_random(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: "(random)" if name in _RANDOM else _without_random(inner)
            for name, inner in sorted(value.items())
        }
    if isinstance(value, list):
        return [_without_random(inner) for inner in value]
    return value
