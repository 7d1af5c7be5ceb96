"""Whether a history is right: each version against what its command makes of the one before.

The table's rows are those of `replay`. Which command made a commit is known by the transaction ids
that it drew.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from model import PIN, Changes, Command, Facts, Row, State
from replay import COMMIT, File, Made, Replay, key_of, numbers
from simulated_store import Objects

LOG = "_delta_log/"
_CHECKPOINT = re.compile(r"_delta_log/(\d{20})\.checkpoint(\.[-0-9a-f]+)?\.(parquet|json)")
_CHECKSUM = re.compile(r"_delta_log/(\d{20})\.crc")
_COMPACTION = re.compile(r"_delta_log/(\d{20})\.(\d{20})\.compacted\.json")
_NEVER = ("checkpoint", "compact log", "clean up log", "publish", "clone", "append to clone")
_READS = ("read", "read old", "read changes", "refresh", "stream", "read clone", "vacuum clone")
CHANGES_OF_ROWS = ("delete", "update", "merge")

COMMITS = {
    **dict.fromkeys((*_NEVER, *_READS), (0, 0)),
    **dict.fromkeys((*CHANGES_OF_ROWS, "append once", "create", "convert"), (0, 1)),
    "vacuum": (2, 2),
    "optimize": (0, 99),
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
    newest_at_end: int = -1
    outcome: str = "killed"
    is_acknowledged: bool = False
    is_unknown: bool = False
    ids: set[str] = field(default_factory=set)
    """Whatever was drawn while it ran; its transactions are among them."""

    def __str__(self) -> str:
        return f"{self.client} #{self.facts.number} {self.command}: {self.outcome}"


@dataclass
class Version:
    made: Made
    run: Run
    is_upkeep: bool
    """Whether it is compaction that followed a command."""
    ended_ms: float = float("inf")

    @property
    def number(self) -> int:
        return self.made.number

    @property
    def files(self) -> dict[File, dict[str, Any]]:
        return self.made.files

    @property
    def state(self) -> State:
        return self.made.state


class Verdict:
    def __init__(self, objects: Objects, runs: list[Run], *, serializable: bool) -> None:
        self.objects = objects
        self.runs = runs
        self.versions: dict[int, Version] = {}
        self._serializable = serializable
        self._replay = Replay(objects)
        self._owners = {each: run for run in runs for each in run.ids}

    def owner(self, txn_id: str) -> Run | None:
        return self._owners.get(txn_id)

    def acknowledged(self, run: Run) -> None:
        """Just now: its commit is there, and so is every version before it."""
        found = sorted(numbers(COMMIT, self.objects.found))
        assert found == list(range(found[0], found[-1] + 1)), f"versions have holes: {found}"
        least, _ = COMMITS.get(run.command.name, (1, 1))
        ids = [_txn_id(blobs[-1].data) for _, blobs in self._replay.commits()]
        times = sum(each in run.ids for each in ids)
        assert times >= least, f"acknowledged, but its commit is not there: {run}"

    def give(self, *, skew_ms: float, retention_ms: float, log_retention_ms: float) -> None:
        self._check_versions()
        self._check_commits()
        self._check_idle()
        self._check_reads()
        self._check_feeds()
        self._check_derived_files()
        stamped = any("inCommitTimestamp" in each.made.info for each in self.versions.values())
        self._check_deletions(retention_ms, skew_ms if stamped else 0)
        # Both the clock of a writer and of the one who cleans up may be wrong.
        self._check_log_retention(log_retention_ms - 2 * skew_ms)
        self._check_pins()

    def _check_versions(self) -> None:
        for made in self._replay.versions():
            run = self.owner(made.info["txnId"])
            assert run is not None, f"version {made.number} is of no command"
            operation = made.info["operation"]
            is_upkeep = operation == "OPTIMIZE" and run.command.name != "optimize"
            version = Version(made, run, is_upkeep)
            self._check_effect(version)
            if made.number:
                self.versions[made.number - 1].ended_ms = made.born_ms
            self.versions[made.number] = version

    # --- commands -----------------------------------------------------------------------------

    def _check_effect(self, made: Version) -> None:
        """The state is what the command makes of the state before it.

        Under WriteSerializable a command may come, in the order of effects, before blind appends
        that were committed while it ran: their rows are then as if they had been added after it.
        """
        run, version = made.run, made.number
        before = self.versions[version - 1].state if version else State()
        states = {number: each.state for number, each in self.versions.items()}
        info = made.made.info
        hidden: Counter[Row] = Counter()
        if not self._serializable and run.command.name != "restore":
            for number in range(info.get("readVersion", version) + 1, version):
                other = self.versions[number]
                if other.run.command.is_blind:
                    hidden += other.state.rows - states[number - 1].rows
        hidden &= before.rows
        visible = State(before.rows - hidden, before.configuration, before.columns)
        expected = visible if made.is_upkeep else run.command.effect(visible, run.facts, states)
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
        kept = [each for each in self.versions.values() if not each.is_upkeep]
        made = Counter(id(version.run) for version in kept)
        for run in self.runs:
            least, most = COMMITS.get(run.command.name, (1, 1))
            if run.command.name == "pin" and not run.is_acknowledged:
                most = 2
            if not run.is_acknowledged:
                least = 0
                may_be_there = run.outcome == "killed" or run.is_unknown
                if not may_be_there and run.command.name not in ("vacuum", "pin", "optimize"):
                    most = 0
            assert least <= made[id(run)] <= most, f"{made[id(run)]} commits by {run}"
        batches = [
            version.run.command.option
            for version in self.versions.values()
            if version.run.command.name == "append once"
        ]
        assert len(set(batches)) == len(batches), "a batch of an application was committed twice"

    def _check_idle(self) -> None:
        """What made no commit found nothing to do, in a version that was the newest meanwhile."""
        made = {id(each.run) for each in self.versions.values() if not each.is_upkeep}
        for run in self.runs:
            if run.is_acknowledged and run.command.name in CHANGES_OF_ROWS and id(run) not in made:
                states = [each.state for each in self._newest_during(run)]
                idle = [run.command.effect(state, run.facts, {}) == state for state in states]
                assert any(idle), f"no commit, but there was something to do: {run}"

    def _newest_during(self, run: Run, since: int | None = None) -> list[Version]:
        first = run.newest_at_start if since is None else since
        return [self.versions[number] for number in range(max(first, 0), run.newest_at_end + 1)]

    def _check_reads(self) -> None:
        for run in self.runs:
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
            for since, found in run.facts.seen:
                known = [each.state.rows for each in self._newest_during(run, since)]
                counts = [rows.total() for rows in known]
                is_known = found in counts if isinstance(found, int) else found in known
                assert is_known, f"{run} from version {since} on read what no version had: {found}"

    def _check_feeds(self) -> None:
        for run in self.runs:
            for changes in run.facts.changes:
                assert changes.versions[-1] >= run.newest_at_start, f"{run}: {changes.versions}"
                for version in changes.versions:
                    self._check_changes(run, changes, version)
            for versions, rows in run.facts.streamed:
                before = self.versions[versions[0] - 1].state.rows
                expected = self.versions[versions[-1]].state.rows - before
                assert rows == expected, f"{run} of {versions}: {rows}, not {expected}"

    def _check_changes(self, run: Run, changes: Changes, version: int) -> None:
        before = self.versions[version - 1].state.rows if version else Counter[Row]()
        after = self.versions[version].state.rows
        came = changes.came.get(version, Counter[Row]())
        went = changes.went.get(version, Counter[Row]())
        where = f"{run}: version {version}: {came} came and {went} went"
        assert before + came == after + went, f"{where}, from {before} to {after}"
        if self.versions[version].run.command.name in ("append", "delete", "merge"):
            assert not came & went, f"{where}: rows that did not change"

    # --- checkpoints, checksums, compactions --------------------------------------------------

    def _check_derived_files(self) -> None:
        for path, blobs in self.objects.written.items():
            for blob in blobs:
                if match := _CHECKPOINT.fullmatch(path):
                    rows = _checkpoint_rows(blob.data, match[3], self.objects)
                    self._check_files(path, int(match[1]), rows)
                elif match := _CHECKSUM.fullmatch(path):
                    self._check_checksum(path, int(match[1]), json.loads(blob.data))
                elif match := _COMPACTION.fullmatch(path):
                    self._check_compaction(path, int(match[1]), int(match[2]), blob.data)

    def _check_files(self, path: str, version: int, adds: list[dict[str, Any]]) -> None:
        found, expected = {key_of(add) for add in adds}, set(self.versions[version].files)
        assert len(found) == len(adds), f"{path} has a file twice"
        assert found == expected, f"{path}: {found ^ expected} is wrong"

    def _check_checksum(self, path: str, version: int, found: dict[str, Any]) -> None:
        files = self.versions[version].files.values()
        for name, expected in [
            ("numFiles", len(files)),
            ("tableSizeBytes", sum(add["size"] for add in files)),
        ]:
            assert found.get(name, expected) == expected, f"{path}: {name} is {found[name]}"
        config = self.versions[version].made.metadata["configuration"]
        assert found["metadata"]["configuration"] == config, path

    def _check_compaction(self, path: str, start: int, end: int, data: bytes) -> None:
        files = set(self.versions[start - 1].files) if start else set()
        actions = [json.loads(line) for line in data.splitlines()]
        for action in actions:
            if "remove" in action:
                files.discard(key_of(action["remove"]))
        files |= {key_of(action["add"]) for action in actions if "add" in action}
        assert files == set(self.versions[end].files), path

    # --- what is deleted ----------------------------------------------------------------------

    def _check_deletions(self, retention_ms: float, tolerance_ms: float) -> None:
        """No file went that a version needs which was the newest inside the retention."""
        for gone in self.objects.deleted:
            if gone.path.startswith((LOG, "vacuum-clock-", "metadata/")):
                continue
            for version in self.versions.values():
                where = f"{gone.by.upper()} deleted {gone.path} of version {version.number}"
                oldest = gone.at_ms - retention_ms + tolerance_ms
                if gone.path in version.made.change_files:
                    assert gone.by == "vacuum", where
                    assert version.made.born_ms <= oldest, where
                if gone.path in self._places(version):
                    assert gone.by == "vacuum", where
                    assert max(version.ended_ms, version.made.born_ms) <= oldest, where
        newest = self.versions[max(self.versions)]
        missing = self._places(newest) - set(self.objects.found)
        assert not missing, f"the newest version has lost {missing}"

    def _places(self, version: Version) -> set[str]:
        return self._replay.places(version.made)

    def _check_log_retention(self, kept_ms: float) -> None:
        now = self.objects.turns.now_ms
        rebuildable = self.rebuildable()
        wanted = {v.number for v in self.versions.values() if v.ended_ms > now - kept_ms}
        assert wanted <= rebuildable, f"versions {sorted(wanted - rebuildable)} cannot be rebuilt"

    def rebuildable(self) -> set[int]:
        commits = numbers(COMMIT, self.objects.found)
        starts = numbers(_CHECKPOINT, self.objects.found) | ({0} & commits)
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
        finished = {f"{PIN}p{run.facts.number}" for run in self.runs if run.is_acknowledged}
        pins = self.versions[max(self.versions)].state.configuration
        for key, value in pins.items():
            if key in finished:
                missing = self._places(self.versions[int(value)]) - set(self.objects.found)
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


def _txn_id(data: bytes) -> str:
    return str(json.loads(data.partition(b"\n")[0])["commitInfo"]["txnId"])
