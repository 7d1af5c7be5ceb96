"""Whether a history is right: a replay of the log's bytes and the files' rows, version by version.

Nothing of Lakebed takes part: commits are JSON, data files are read by pyarrow, deletion vectors by
the protocol's text. Which command made a commit is known by the transaction ids that it drew.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from client_commands import PIN, Command, Facts, Row, State
from simulated_store import Objects

from testkit.tables.marked_tables import vector_rows

LOG = "_delta_log/"
_COMMIT = re.compile(r"_delta_log/(\d{20})\.json")
_CHECKPOINT = re.compile(r"_delta_log/(\d{20})\.checkpoint(\.[-0-9a-f]+)?\.(parquet|json)")
_CHECKSUM = re.compile(r"_delta_log/(\d{20})\.crc")
_COMPACTION = re.compile(r"_delta_log/(\d{20})\.(\d{20})\.compacted\.json")
_OWN = ("sim.", "delta.constraints.", PIN)
File = tuple[str, str]
"""The path and the deletion vector, as JSON."""

COMMITS = {
    **dict.fromkeys(("checkpoint", "compact log", "clean up log"), (0, 0)),
    **dict.fromkeys(("read", "read old", "refresh"), (0, 0)),
    "vacuum": (2, 2),
    "append once": (0, 1),
    "create": (0, 1),
}
"""How many commits a command makes at least and at most that is acknowledged; others make one."""


@dataclass
class Run:
    """One command of one client, and how it ended."""

    client: str
    command: Command
    facts: Facts
    newest_at_start: int
    started_ms: float
    outcome: str = "killed"
    is_acknowledged: bool = False
    is_unknown: bool = False
    ids: set[str] = field(default_factory=set)
    """Whatever was drawn while it ran; its transactions are among them."""

    def __str__(self) -> str:
        return f"{self.client} #{self.facts.number} {self.command}: {self.outcome}"


@dataclass
class Version:
    number: int
    run: Run
    info: dict[str, Any]
    files: dict[File, dict[str, Any]]
    metadata: dict[str, Any]
    state: State
    born_ms: int
    changes_no_data: bool
    ended_ms: float = float("inf")


class Verdict:
    def __init__(self, objects: Objects, runs: list[Run], *, serializable: bool) -> None:
        self._objects = objects
        self._runs = runs
        self._serializable = serializable
        self._rows: dict[str, list[tuple[int, str]]] = {}
        self._owners = {each: run for run in runs for each in run.ids}
        self.versions: dict[int, Version] = {}

    def acknowledged(self, run: Run) -> None:
        """Just now: its commit is there, and so is every version before it."""
        found = sorted(_numbers(_COMMIT, self._objects.found))
        assert found == list(range(found[0], found[-1] + 1)), f"versions have holes: {found}"
        least, _ = COMMITS.get(run.command.name, (1, 1))
        ids = [_txn_id(blobs[-1].data) for path, blobs in self._commits()]
        times = sum(each in run.ids for each in ids)
        assert times >= least, f"acknowledged, but its commit is not there: {run}"

    def give(self, *, skew_ms: float, retention_ms: float, log_retention_ms: float) -> None:
        self._replay()
        self._check_commits()
        self._check_reads()
        self._check_derived_files()
        stamped = any("inCommitTimestamp" in each.info for each in self.versions.values())
        self._check_deletions(retention_ms, skew_ms if stamped else 0)
        # Both the clock of a writer and of the one who cleans up may be wrong.
        self._check_log_retention(log_retention_ms - 2 * skew_ms)
        self._check_pins()

    # --- the log ------------------------------------------------------------------------------

    def _commits(self) -> Iterator[tuple[int, list[Any]]]:
        for path, blobs in self._objects.written.items():
            match = _COMMIT.fullmatch(path)
            if match:
                yield int(match[1]), blobs

    def _replay(self) -> None:
        found = sorted(self._commits())
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
                if "metaData" in action:
                    metadata = action["metaData"]
                if "remove" in action:
                    key = _key(action["remove"])
                    assert files.pop(key, None) is not None, (
                        f"version {version} removes {key} twice"
                    )
                if "add" in action:
                    key = _key(action["add"])
                    assert key not in files, f"version {version} adds {key} twice"
                    files[key] = action["add"]
            info = actions[0]["commitInfo"]
            run = self._owners.get(info["txnId"])
            assert run is not None, f"version {version} is of no command"
            state = self._state(files, metadata)
            changes = [each for each in actions if "add" in each or "remove" in each]
            made = Version(
                version, run, info, files, metadata, state, blob.modified_ms, not changes
            )
            self._check_effect(made)
            self.versions[version] = made
            if version:
                self.versions[version - 1].ended_ms = blob.modified_ms
            if "inCommitTimestamp" in info:
                stamps.append(info["inCommitTimestamp"])
        assert stamps == sorted(set(stamps)), f"in-commit timestamps do not increase: {stamps}"

    def _state(self, files: dict[File, dict[str, Any]], metadata: dict[str, Any]) -> State:
        rows: Counter[Row] = Counter()
        for add in files.values():
            rows.update(self._rows_of(add))
        own = {k: v for k, v in metadata["configuration"].items() if k.startswith(_OWN)}
        columns = [each["name"] for each in json.loads(metadata["schemaString"])["fields"]]
        return State(rows, own, tuple(columns))

    def _rows_of(self, add: dict[str, Any]) -> Iterator[Row]:
        path = add["path"].replace("%3D", "=")
        if path not in self._rows:
            data = self._objects.written[path][-1].data
            file = pq.ParquetFile(pa.BufferReader(data))
            table = file.read(columns=["id", "tag"], use_threads=False)
            pairs = zip(table["id"].to_pylist(), table["tag"].to_pylist(), strict=True)
            self._rows[path] = list(pairs)
        rows = self._rows[path]
        assert json.loads(add["stats"])["numRecords"] == len(rows), f"{path}: wrong statistics"
        dead = vector_rows(_Ever(self._objects), add.get("deletionVector"))  # type: ignore[arg-type]
        p = int(add["partitionValues"]["p"])
        return ((p, *row) for number, row in enumerate(rows) if number not in dead)

    # --- commands -----------------------------------------------------------------------------

    def _check_effect(self, made: Version) -> None:
        """The state is what the command makes of the state before it.

        Under WriteSerializable a command may come, in the order of effects, before blind appends
        that were committed while it ran: their rows are then as if they had been added after it.
        """
        run, version = made.run, made.number
        before = self.versions[version - 1].state if version else State()
        states = {number: each.state for number, each in self.versions.items()}
        if made.changes_no_data and run.command.name in ("delete", "update"):
            # What found nothing comes, in the order of effects, when it looked.
            before = states[made.info["readVersion"]]
            assert made.state.rows == states[version - 1].rows, f"version {version} by {run}"
            made = replace(made, state=replace(made.state, rows=before.rows))
        hidden: Counter[Row] = Counter()
        if not self._serializable and run.command.name != "restore":
            for number in range(made.info.get("readVersion", version) + 1, version):
                other = self.versions[number]
                if other.run.command.is_blind:
                    hidden += other.state.rows - states[number - 1].rows
        hidden &= before.rows
        visible = State(before.rows - hidden, before.configuration, before.columns)
        expected = run.command.effect(visible, run.facts, states)
        expected = State(expected.rows + hidden, expected.configuration, expected.columns)
        where = f"version {version} by {run}"
        assert made.state.rows == expected.rows, (
            f"{where}\n  has too much {sorted((made.state.rows - expected.rows).elements())}"
            f"\n  and lacks {sorted((expected.rows - made.state.rows).elements())}"
        )
        assert made.state.configuration == expected.configuration, (
            f"{where}: properties {made.state.configuration}, not {expected.configuration}"
        )
        assert made.state.columns == expected.columns, where
        _check_constraints(made)

    def _check_commits(self) -> None:
        made = Counter(id(version.run) for version in self.versions.values())
        for run in self._runs:
            least, most = COMMITS.get(run.command.name, (1, 1))
            if run.command.name == "pin" and not run.is_acknowledged:
                most = 2
            if not run.is_acknowledged:
                least = 0
                may_be_there = run.outcome == "killed" or run.is_unknown
                if not may_be_there and run.command.name not in ("vacuum", "pin"):
                    most = 0
            assert least <= made[id(run)] <= most, f"{made[id(run)]} commits by {run}"
        batches = [
            version.run.command.option
            for version in self.versions.values()
            if version.run.command.name == "append once"
        ]
        assert len(set(batches)) == len(batches), "a batch of an application was committed twice"

    def _check_reads(self) -> None:
        for run in self._runs:
            for place, (version, rows) in enumerate(run.facts.read):
                assert version in self.versions, f"read version {version}: {run}"
                expected = self.versions[version].state.rows
                assert rows == expected, (
                    f"{run} read of version {version}"
                    f" too much {sorted((rows - expected).elements())}"
                    f"\n  and too little {sorted((expected - rows).elements())}"
                )
                if run.command.name in ("read", "refresh"):
                    oldest = run.newest_at_start if not place else run.facts.read[0][0]
                    assert version >= oldest, f"read version {version}, not {oldest}: {run}"

    # --- checkpoints, checksums, compactions --------------------------------------------------

    def _check_derived_files(self) -> None:
        for path, blobs in self._objects.written.items():
            for blob in blobs:
                if match := _CHECKPOINT.fullmatch(path):
                    rows = _checkpoint_rows(blob.data, match[3], self._objects)
                    self._check_files(path, int(match[1]), rows)
                elif match := _CHECKSUM.fullmatch(path):
                    self._check_checksum(path, int(match[1]), json.loads(blob.data))
                elif match := _COMPACTION.fullmatch(path):
                    self._check_compaction(path, int(match[1]), int(match[2]), blob.data)

    def _check_files(self, path: str, version: int, adds: list[dict[str, Any]]) -> None:
        found, expected = {_key(add) for add in adds}, set(self.versions[version].files)
        assert len(found) == len(adds), f"{path} has a file twice"
        assert found == expected, f"{path}: {found ^ expected} is wrong"

    def _check_checksum(self, path: str, version: int, found: dict[str, Any]) -> None:
        files = self.versions[version].files.values()
        for name, expected in [
            ("numFiles", len(files)),
            ("tableSizeBytes", sum(add["size"] for add in files)),
        ]:
            assert found.get(name, expected) == expected, f"{path}: {name} is {found[name]}"
        config = self.versions[version].metadata["configuration"]
        assert found["metadata"]["configuration"] == config, path

    def _check_compaction(self, path: str, start: int, end: int, data: bytes) -> None:
        files = set(self.versions[start - 1].files) if start else set()
        actions = [json.loads(line) for line in data.splitlines()]
        for action in actions:
            if "remove" in action:
                files.discard(_key(action["remove"]))
        files |= {_key(action["add"]) for action in actions if "add" in action}
        assert files == set(self.versions[end].files), path

    # --- what is deleted ----------------------------------------------------------------------

    def _check_deletions(self, retention_ms: float, tolerance_ms: float) -> None:
        """No file went that a version needs which was the newest inside the retention."""
        for gone in self._objects.deleted:
            if gone.path.startswith((LOG, "vacuum-clock-")):
                continue
            if gone.by != "vacuum":
                continue  # a writer takes back what it never committed; a commit of it shows below
            for version in self.versions.values():
                ends = max(version.ended_ms, version.born_ms)
                if ends > gone.at_ms - retention_ms + tolerance_ms:
                    needed = gone.path not in self._places(version)
                    assert needed, f"VACUUM deleted {gone.path} of version {version.number}"
        newest = self.versions[max(self.versions)]
        missing = self._places(newest) - set(self._objects.found)
        assert not missing, f"the newest version has lost {missing}"

    def _places(self, version: Version) -> set[str]:
        found = set()
        for add in version.files.values():
            found.add(add["path"].replace("%3D", "="))
            vector = add.get("deletionVector")
            if vector is not None:
                from testkit.tables.marked_tables import vector_path

                found.add(vector_path(vector))
        return found

    def _check_log_retention(self, kept_ms: float) -> None:
        now = self._objects.turns.now_ms
        rebuildable = self.rebuildable()
        wanted = {v.number for v in self.versions.values() if v.ended_ms > now - kept_ms}
        assert wanted <= rebuildable, f"versions {sorted(wanted - rebuildable)} cannot be rebuilt"

    def rebuildable(self) -> set[int]:
        commits = _numbers(_COMMIT, self._objects.found)
        starts = _numbers(_CHECKPOINT, self._objects.found) | ({0} & commits)
        found: set[int] = set()
        for start in sorted(starts):
            version = start
            while version not in found:
                found.add(version)
                if version + 1 not in commits:
                    break
                version += 1
        return found

    def _check_pins(self) -> None:
        """What is pinned can be read, unless the one who pinned it never came to look."""
        finished = {f"{PIN}p{run.facts.number}" for run in self._runs if run.is_acknowledged}
        pins = self.versions[max(self.versions)].state.configuration
        for key, value in pins.items():
            if key in finished:
                missing = self._places(self.versions[int(value)]) - set(self._objects.found)
                assert not missing, f"{key} has lost {missing}"
                assert int(value) in self.rebuildable(), f"{key} cannot be rebuilt"


def _check_constraints(made: Version) -> None:
    for key, condition in made.state.configuration.items():
        if key.startswith("delta.constraints."):
            p, limit = map(int, re.findall(r"p != (\d+) OR id <= (\d+)", condition)[0])
            broken = [r for r in made.state.rows if r[0] == p and limit < r[1] < 1000]
            assert not broken, f"version {made.number} by {made.run}: {broken} break {condition}"


def _checkpoint_rows(data: bytes, kind: str, objects: Objects) -> list[dict[str, Any]]:
    if kind == "json":
        actions = [json.loads(line) for line in data.splitlines()]
    else:
        actions = _parquet_actions(data)
    found = [action["add"] for action in actions if action.get("add")]
    for action in actions:
        if action.get("sidecar"):
            path = f"{LOG}_sidecars/{action['sidecar']['path'].rpartition('/')[2]}"
            inner = _parquet_actions(objects.written[path][-1].data)
            found += [each["add"] for each in inner if each.get("add")]
    return found


def _parquet_actions(data: bytes) -> list[dict[str, Any]]:
    file = pq.ParquetFile(pa.BufferReader(data))
    names = set(file.schema_arrow.names) & {"add", "sidecar"}
    wanted = [f"add.{name}" for name in ("path", "deletionVector")] + ["sidecar"]
    columns = [name for name in wanted if name.partition(".")[0] in names]
    return file.read(columns=columns, use_threads=False).to_pylist()


def _key(raw: dict[str, Any]) -> File:
    vector = raw.get("deletionVector")
    if vector is None:
        return raw["path"], ""
    return raw["path"], f"{vector['pathOrInlineDv']}@{vector.get('offset')}"


def _numbers(pattern: re.Pattern[str], paths: Any) -> set[int]:
    return {int(match[1]) for match in map(pattern.fullmatch, paths) if match}


def _txn_id(data: bytes) -> str:
    return str(json.loads(data.partition(b"\n")[0])["commitInfo"]["txnId"])


class _Ever:
    """Objects also after they are gone."""

    def __init__(self, objects: Objects) -> None:
        self.get: Callable[[str], bytes] = lambda path: objects.written[path][-1].data
