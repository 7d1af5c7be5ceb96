"""A process that changes rows of a shared table until it is done or killed, and how to start some.

    python changing_writer.py <plan as JSON> <file for reports>

A writer is a client of a Spark Connect server: Spark's work is done elsewhere, but what decides and
commits is in this process, so to kill it is to kill a change in its midst. Without a server it does
without Spark. It says `ready` when it
has a session, and begins when a line comes. A report is one line of JSON, written in one call: that
a change begins, and how it ended. See test_concurrent_changes.py and bench/conflicts.py.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal["delete", "update", "lower", "merge", "append"]
Death = Literal["before", "after"]
Report = dict[str, Any]
COLUMNS = "id LONG, n LONG, last STRING"


@dataclass(frozen=True)
class Change:
    """One change; `name` is found again in the history of the table.

    delete: the rows go. update: n goes up by one. lower: n goes down by one in the rows from the
    smallest to the greatest id in which it is above one, so what it changes depends on others.
    merge: update, and insert what is not there. append: insert. All but delete leave their name.
    """

    name: str
    kind: Kind
    ids: tuple[int, ...]

    @property
    def condition(self) -> str:
        """It is always true that a change has not been there before; it says the name."""
        mark = f"last <> '{self.name}'"
        if self.kind == "lower":
            return f"n > 1 AND id BETWEEN {min(self.ids)} AND {max(self.ids)} AND {mark}"
        return f"id IN ({', '.join(map(str, self.ids))}) AND {mark}"


@dataclass(frozen=True)
class Plan:
    """What a writer does. With `dies` it kills itself before or after its first commit.

    `server` is the address of Spark, "" for none.
    """

    name: str
    server: str
    table: str
    row_level: bool
    changes: tuple[Change, ...]
    dies: Death | None = None

    @classmethod
    def parse(cls, text: str) -> Plan:
        found = json.loads(text)
        changes = (Change(**{**each, "ids": tuple(each["ids"])}) for each in found["changes"])
        return cls(**{**found, "changes": tuple(changes)})


def random_changes(
    dice: random.Random,
    writer: int,
    count: int,
    *,
    rows: int,
    kinds: Sequence[Kind],
    scattered: bool = True,
) -> tuple[Change, ...]:
    """Changes of a few rows of a table of so many, and of a few that merges insert."""
    changes = []
    for number in range(count):
        kind = dice.choice(kinds)
        if kind == "append":
            ids = [10 * rows + 1000 * writer + number]  # nobody else's
        elif kind == "lower":
            first = dice.randrange(rows - 12)
            ids = [first, first + 12]
        elif scattered:
            ids = dice.sample(range(rows + rows // 10), 3)
        else:
            first = dice.randrange(rows - 3)
            ids = [first, first + 1, first + 2]
        if kind == "merge":
            ids[-1] = rows + dice.randrange(rows // 10)
        changes.append(Change(f"w{writer}-{number}", kind, tuple(ids)))
    return tuple(changes)


# --- the program of a writer ----------------------------------------------------------------------


def work(plan: Plan, reports: str) -> None:
    import lakebed
    from lakebed.errors import ConflictError

    session = lakebed.session(plan.name, remote=plan.server) if plan.server else None
    file = os.open(reports, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def report(change: Change, event: str, **facts: Any) -> None:
        line = {"name": change.name, "kind": change.kind, "event": event, "at": time.monotonic()}
        os.write(file, json.dumps({**line, **facts}).encode() + b"\n")

    print("ready", flush=True)
    sys.stdin.readline()
    if plan.dies is not None:
        _die_at_a_commit(plan.dies)
    for change in plan.changes:
        report(change, "begins")
        tries: list[int] = []
        try:
            rows = _make(session, plan, change, tries)
        except ConflictError as error:
            report(change, "refused", tries=tries, error=error.code)
        else:
            report(change, "done", tries=tries, rows=rows)


def _make(session: Any, plan: Plan, change: Change, tries: list[int]) -> int:
    """The number of rows that changed; `tries` gets the versions that the change began from."""
    if change.kind == "append" and session is None:
        import lakebed

        lakebed.write(plan.table, _rows(session, change), mode="append", user_metadata=change.name)
        return len(change.ids)
    if change.kind == "append":
        writer = _rows(session, change).write.format("delta").mode("append")
        writer.option("userMetadata", change.name).save(plan.table)
        return len(change.ids)
    from lakebed.commands.delete_rows import delete_rows
    from lakebed.commands.merge.merge_rows import merge_rows
    from lakebed.commands.update_rows import update_rows

    target = _target(session, plan, tries)
    if change.kind == "delete":
        return delete_rows(target, change.condition)["numDeletedRows"]
    if change.kind == "merge":
        metrics = merge_rows(target, _merge_request(session, change))
        return metrics["numTargetRowsUpdated"] + metrics["numTargetRowsInserted"]
    values = {"n": "n - 1" if change.kind == "lower" else "n + 1", "last": f"'{change.name}'"}
    return update_rows(target, change.condition, values)["numUpdatedRows"]


def _target(session: Any, plan: Plan, tries: list[int]) -> Any:
    if session is None:
        return _table_target(plan, tries)
    from lakebed.commands.frame_target import FrameTarget
    from lakebed.log.snapshot import Snapshot
    from lakebed.log.table_log import TableLog
    from lakebed.spark.plane_selection import plane_for
    from lakebed.spark.stores.location import open_location

    class Counted(FrameTarget):
        def change(self, attempt: Callable[[Snapshot], dict[str, int]]) -> dict[str, int]:
            def counted(snapshot: Snapshot) -> dict[str, int]:
                tries.append(snapshot.version)
                return attempt(snapshot)

            return super().change(counted)

    store, root = open_location(session, plan.table, {})
    plane = plane_for(session, store, root)
    return Counted(session, TableLog(store), plane, row_level=plan.row_level)


def _table_target(plan: Plan, tries: list[int]) -> Any:
    from lakebed.commands.table_target import TableTarget
    from lakebed.log.snapshot import Snapshot
    from lakebed.log.table_log import TableLog
    from lakebed.storage import open_store

    class Counted(TableTarget):
        def change(self, attempt: Callable[[Snapshot], dict[str, int]]) -> dict[str, int]:
            def counted(snapshot: Snapshot) -> dict[str, int]:
                tries.append(snapshot.version)
                return attempt(snapshot)

            return super().change(counted)

    log = TableLog(open_store(plan.table))
    return Counted(log, log.snapshot(), "t", row_level=plan.row_level)


def _merge_request(session: Any, change: Change) -> Any:
    from lakebed.commands.merge.merge_request import Clause, MergeRequest

    clauses = (
        Clause("matched", "update", None, {"n": "t.n + s.n", "last": "s.last"}),
        Clause("not_matched", "insert_all"),
    )
    condition = f"t.id = s.id AND s.last = '{change.name}'"
    rows = _rows(session, change)
    source = rows if session is None else rows.alias("s")
    return MergeRequest(source, condition, clauses, target_alias="t", source_alias="s")


def _rows(session: Any, change: Change) -> Any:
    if session is None:
        import pyarrow as pa

        count = len(change.ids)
        columns = {"id": change.ids, "n": [1] * count, "last": [change.name] * count}
        return pa.table({name: list(values) for name, values in columns.items()})
    return session.createDataFrame([(each, 1, change.name) for each in change.ids], COLUMNS)


def _die_at_a_commit(when: Death) -> None:
    """The process will end where nobody can clean up: when it tries a commit, or has made one."""
    from lakebed.storage.local import LocalStore

    put = LocalStore.put_if_absent

    def dying(store: LocalStore, path: str, data: bytes) -> None:
        is_commit = path.startswith("_delta_log/") and path.endswith(".json")
        if is_commit and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        put(store, path, data)
        if is_commit:
            os.kill(os.getpid(), signal.SIGKILL)

    LocalStore.put_if_absent = dying  # type: ignore[method-assign, assignment]


# --- starting writers -----------------------------------------------------------------------------


@dataclass
class Writer:
    plan: Plan
    process: subprocess.Popen[str]
    path: Path

    @property
    def complaints(self) -> str:
        return self.path.with_suffix(".err").read_text()

    def reports(self) -> list[Report]:
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def begin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("begin\n")
        self.process.stdin.flush()


@contextmanager
def started(plans: Iterable[Plan], folder: Path) -> Iterator[list[Writer]]:
    """Writers that have begun; whoever still runs in the end is killed."""
    with ExitStack() as stack:
        writers = []
        for plan in plans:
            path = folder / f"{plan.name}.reports"
            process = stack.enter_context(_process(plan, path))
            stack.callback(process.kill)
            writers.append(Writer(plan, process, path))
        for writer in writers:
            assert writer.process.stdout is not None
            assert writer.process.stdout.readline() == "ready\n", writer.complaints
        for writer in writers:
            writer.begin()
        yield writers


def _process(plan: Plan, path: Path) -> subprocess.Popen[str]:
    arguments = [str(Path(__file__).resolve()), json.dumps(asdict(plan)), str(path)]
    with path.with_suffix(".err").open("w") as complaints:
        return subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        )


# --- what they report -----------------------------------------------------------------------------


@dataclass
class Share:
    """Of the changes that ended, those that another commit got in the way of.

    They were planned again, or refused because somebody else had changed the same row.
    """

    ended: int = 0
    again: int = 0
    refused: int = 0
    tries: int = 0

    def count(self, report: Report) -> None:
        self.ended += 1
        self.tries += len(report["tries"])
        self.refused += report["event"] == "refused"
        self.again += report["event"] != "refused" and len(report["tries"]) > 1

    def __str__(self) -> str:
        if not self.ended:
            return "none"
        share, tries = (self.again + self.refused) / self.ended, self.tries / self.ended
        return f"{share:4.0%} of {self.ended:3} ({self.refused:2} refused), {tries:3.1f} tries each"


@dataclass
class Shares:
    """By kind of change. Appends are left out: they read nothing that could conflict."""

    kinds: dict[str, Share] = field(default_factory=dict)
    all: Share = field(default_factory=Share)

    @classmethod
    def of(cls, reports: Iterable[Report]) -> Shares:
        shares = cls()
        for report in reports:
            if report["event"] != "begins" and report["kind"] != "append":
                shares.kinds.setdefault(report["kind"], Share()).count(report)
                shares.all.count(report)
        return shares

    def __str__(self) -> str:
        lines = [f"  {kind:8} {share}" for kind, share in sorted(self.kinds.items())]
        return "\n".join([*lines, f"  {'all':8} {self.all}"])


if __name__ == "__main__":
    work(Plan.parse(sys.argv[1]), sys.argv[2])
