"""A history from a seed: the table, the clients, what they do, what goes wrong, and the verdict.

python tests/simulation/history.py 1234           # one seed, and what happened in it
python tests/simulation/history.py --for 60       # as many as fit in a minute, from a random one
python tests/simulation/history.py --from 0 --count 5000
"""

from __future__ import annotations

import argparse
import logging
import random
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow as pa
from client_commands import IDS, PARTITIONS, Command, Facts
from simulated_store import Objects, Odds, SimulatedStore
from substitutes import simulated
from turns import Client, Turns
from verdict import Run, Verdict

from lakebed.errors import CommitUnknownError, LakebedError, LogCorruptedError, StorageError
from lakebed.log import post_commit
from lakebed.storage import Store

HOUR = 3_600_000.0
DAY = 24 * HOUR
START_MS = 1_790_000_000_000.0
RETENTION_DAYS, LOG_RETENTION_DAYS = 2, 3
WEIGHTS = {
    "append": 14,
    "append to open": 6,
    "append once": 6,
    "overwrite": 3,
    "replace where": 8,
    "replace partition": 4,
    "delete": 9,
    "update": 9,
    "merge": 7,
    "put together": 6,
    "set property": 4,
    "add constraint": 3,
    "add column": 2,
    "restore": 4,
    "pin": 2,
    "checkpoint": 3,
    "compact log": 3,
    "clean up log": 2,
    "vacuum": 5,
    "read": 8,
    "read old": 4,
    "refresh": 4,
}


class HistoryError(AssertionError):
    """A history that went wrong, with its lines and the command that repeats it."""


@dataclass
class History:
    seed: int
    odds: Odds | None = None
    """Instead of those from the seed."""
    only: tuple[str, ...] = ()
    """The commands that clients choose from, instead of those from the seed."""
    runs: list[Run] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        chance = self._random
        stickiness = chance.choice((0.1, 0.4, 0.7, 0.9))
        self.turns = Turns(random.Random(chance.random()), START_MS, stickiness)
        odds = self.odds or _odds(chance)
        self.objects = Objects(self.turns, odds, cheap_probes=chance.random() < 0.5)
        self.serializable = chance.random() < 0.5
        self.vectors = chance.random() < 0.7
        self.skew_ms = chance.choice((0.0, 0.0, 1000.0, HOUR, 30 * HOUR))
        self.properties = self._properties()
        # A few kinds of commands meet each other more often than all of them would.
        kinds = chance.sample(list(WEIGHTS), chance.choice((2, 3, 5, 8, len(WEIGHTS))))
        self._weights = {name: WEIGHTS[name] for name in self.only or kinds}
        self.outcomes: Counter[str] = Counter()
        self._by_client: dict[str, Run] = {}
        self._unexplained: list[str] = []

    def run(self) -> History:
        try:
            with (
                simulated(self.turns, random.Random(self.seed), self._drawn, self._opened),
                mock.patch.object(post_commit, "_LOG", _Log(self._warned)),
            ):
                self._go()
        except Exception as error:
            raise HistoryError(f"{error}\n\n{self}\n\nagain: {self.command}") from error
        return self

    @property
    def command(self) -> str:
        """What repeats it, unless faults were put in on purpose."""
        only = f" --only '{','.join(self.only)}'" if self.only else ""
        return f"PYTHONPATH=src python tests/simulation/history.py {self.seed}{only}"

    def __str__(self) -> str:
        table = {k: v for k, v in self.properties.items() if "etention" not in k}
        store = "a disk" if self.objects.cheap_probes else "an object store"
        head = f"seed {self.seed}, {store}, {self.objects.odds}, clocks {self.skew_ms / HOUR} h off"
        return "\n".join([head, str(table), *self.objects.events])

    # --- the course of it ---------------------------------------------------------------------

    def _go(self) -> None:
        chance = self._random
        count = chance.choice((2, 2, 2, 3, 4))
        names = iter(f"c{number}" for number in range(1, 100))
        clients = [self._client(next(names)) for _ in range(count)]
        programs: dict[str, list[Command]] = {}
        for phase in range(chance.choice((1, 1, 1, 2, 2, 3))):
            if phase:
                self._night()
            for place, client in enumerate(clients):
                if client.is_dead:
                    clients[place] = self._client(next(names))
                creates = phase == 0 and (place == 0 or chance.random() < 0.25)
                programs[clients[place].name] = self._program(creates=creates)
            jobs = [(each, self._job(each, programs[each.name])) for each in clients]
            self.turns.run(jobs)
            self.objects.settle(everything=True)
        self._end()

    def _end(self) -> None:
        """Somebody without faults goes on; then all is looked at."""
        self.objects.odds = Odds()
        last = self._client("end")
        last.skew_ms = 0.0
        is_there = bool(_commits(self.objects))
        program = [Command("append to open" if is_there else "create"), Command("read")]
        self.turns.run([(last, self._job(last, program))])
        assert not self._unexplained, self._unexplained[0]
        verdict = Verdict(self.objects, self.runs, serializable=self.serializable)
        verdict.give(
            skew_ms=self.skew_ms,
            retention_ms=RETENTION_DAYS * DAY,
            log_retention_ms=LOG_RETENTION_DAYS * DAY,
        )
        self.verdict = verdict

    def _job(self, client: Client, program: list[Command]):
        def work() -> None:
            for _ in range(10):
                if _commits(self.objects) or program[0].name == "create":
                    break
                self.turns.sleep(0.3)
            for command in program:
                self._one(client, command)

        return work

    def _one(self, client: Client, command: Command) -> None:
        newest = max((number for number in _commits(self.objects)), default=-1)
        facts = Facts(
            len(self.runs),
            lambda: self.turns.now_ms + client.skew_ms,
            self.properties,
            self.vectors,
            lambda: bool(_commits(self.objects)),
            self._oldest_wanted,
        )
        run = Run(client.name, command, facts, newest, self.turns.now_ms)
        self.runs.append(run)
        self._by_client[client.name] = run
        client.doing = command.name
        if self._random_jump():
            client.skew_ms = self.turns.random.uniform(-self.skew_ms, self.skew_ms)
        self.objects.note(f"#{facts.number} {command}")
        try:
            command.run(facts)
        except LakebedError as error:
            self._refused(run, error)
        else:
            run.outcome, run.is_acknowledged = "acknowledged", True
            verdict = Verdict(self.objects, self.runs, serializable=self.serializable)
            if _commits(self.objects):
                verdict.acknowledged(run)
        self.objects.note(f"#{facts.number} {run.outcome}")
        self.outcomes[f"{command.name}: {run.outcome.partition(':')[0]}"] += 1

    def _refused(self, run: Run, error: LakebedError) -> None:
        run.outcome = f"{type(error).__name__}: {error.message.splitlines()[0]}"
        run.is_unknown = isinstance(error, CommitUnknownError)
        is_whole = not self.objects.fates and not self.objects.deleted
        if isinstance(error, LogCorruptedError) or (is_whole and isinstance(error, StorageError)):
            raise HistoryError(f"{run}") from error

    def _warned(self, text: str) -> None:
        """What is due after a commit failed. It fails no commit, but must have had a reason."""
        self.objects.note(f"  warning: {text}")
        if not self.objects.fates and not self.objects.deleted:
            self._unexplained.append(text)

    # --- chance -------------------------------------------------------------------------------

    def _client(self, name: str) -> Client:
        return Client(name, skew_ms=self._random.uniform(-self.skew_ms, self.skew_ms))

    def _random_jump(self) -> bool:
        return self.skew_ms > 0 and self.turns.random.random() < 0.1

    def _night(self) -> None:
        self.turns.now_ms += self._random.uniform(0.2, 4) * DAY
        self.objects.note("time passes")

    def _program(self, *, creates: bool) -> list[Command]:
        chance = self._random
        count = chance.choice((1, 1, 1, 2, 2, 4))
        names = chance.choices(list(self._weights), list(self._weights.values()), k=count)
        program = [_command(chance, name) for name in names]
        if creates:
            mode = chance.choice(("ignore", "error", "ignore"))
            program.insert(0, _command(chance, "create", mode))
        return program

    def _properties(self) -> dict[str, str]:
        chance = self._random
        found = {
            "delta.parquet.compression.codec": chance.choice(("uncompressed", "snappy", "zstd")),
            "delta.isolationLevel": "Serializable" if self.serializable else "WriteSerializable",
            "delta.checkpointInterval": str(chance.choice((2, 3, 5, 10))),
            "delta.deletedFileRetentionDuration": f"interval {RETENTION_DAYS} days",
            "delta.logRetentionDuration": f"interval {LOG_RETENTION_DAYS} days",
        }
        if self.vectors:
            found["delta.enableDeletionVectors"] = "true"
        if chance.random() < 0.3:
            found["delta.enableInCommitTimestamps"] = "true"
        if chance.random() < 0.3:
            found["delta.checkpointPolicy"] = "v2"
        return found

    def _oldest_wanted(self) -> int:
        """The oldest version that VACUUM keeps for half a day more, whatever clocks say."""
        since = self.turns.now_ms - RETENTION_DAYS * DAY + 0.5 * DAY + self.skew_ms
        times = sorted(_commits(self.objects).items())
        return max((version for version, ms in times if ms <= since), default=0)

    # --- what Lakebed asks for ----------------------------------------------------------------

    def _drawn(self, identifier: str) -> None:
        client = self.turns.current
        if client is not None:
            self._by_client[client.name].ids.add(identifier)

    def _opened(self, _url: str) -> Store:
        assert self.turns.current is not None
        return SimulatedStore(self.objects, self.turns.current)


class _Log:
    def __init__(self, warned: Callable[[str], None]) -> None:
        self._warned = warned

    def warning(self, text: str, *values: object) -> None:
        self._warned(text % values)


def _odds(chance: random.Random) -> Odds:
    bad = chance.choice((0.0, 0.0, 0.01, 0.05, 0.15))
    return Odds(
        refused=bad * chance.random(),
        lost=bad * chance.random(),
        late=bad * chance.random(),
        repeated=bad * chance.random(),
        killed=chance.choice((0.0, 0.005, 0.02)),
        slow=chance.choice((0.0, 0.02, 0.1)),
    )


def _command(chance: random.Random, name: str, option: str = "") -> Command:
    low = (
        chance.randint(0, 5)
        if name in ("restore", "read old", "compact log")
        else chance.randrange(IDS)
    )
    high = low + (IDS if name == "create" else chance.choice((0, 0, 1, 3)))
    if name == "append once":
        option = str(chance.randint(1, 3))
    elif name == "vacuum":
        option = chance.choice(("full", "full", "lite"))
    elif name == "replace where":
        option = chance.choice(("", "partition"))
    elif name == "add constraint":
        high = chance.choice((IDS + 3, IDS + 3, IDS // 2))
    return Command(name, chance.randrange(PARTITIONS), low, high, option)


def _commits(objects: Objects) -> dict[int, int]:
    """When each version was made, by the store's clock: also of those that were cleaned up."""
    return {
        int(path[11:31]): blobs[-1].modified_ms
        for path, blobs in objects.written.items()
        if len(path) == 36 and path.endswith(".json")
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Histories from seeds.")
    parser.add_argument("seed", type=int, nargs="?")
    parser.add_argument("--from", dest="first", type=int)
    parser.add_argument("--count", type=int)
    parser.add_argument("--for", dest="seconds", type=float)
    parser.add_argument("--only", default="", help="commands, such as 'delete,update'")
    given = parser.parse_args()
    only = tuple(filter(None, given.only.split(",")))
    pa.set_cpu_count(1)  # threads only cost here: files have a row or two
    if given.seed is not None:
        print(History(given.seed, only=only).run())
        return 0
    first = secrets.randbits(32) if given.first is None else given.first
    print(f"from seed {first}")
    logging.getLogger("lakebed").setLevel(logging.CRITICAL)
    started, failed, outcomes, number = time.monotonic(), 0, Counter[str](), 0
    fates: Counter[str] = Counter()
    for number in _numbers(given.count, given.seconds):
        history = History(first + number, only=only)
        try:
            history.run()
        except HistoryError as error:
            failed += 1
            print(f"seed {first + number}: {str(error).splitlines()[0]}")
        outcomes += history.outcomes
        fates.update(history.objects.fates)
    seconds, busy = time.monotonic() - started, time.process_time()
    for key, count in sorted(outcomes.items()):
        print(f"{count:8} {key}")
    print(dict(fates))
    print(f"{number + 1} histories in {seconds:.1f} s ({busy:.1f} s of one core), {failed} failed")
    return 1 if failed else 0


def _numbers(count: int | None, seconds: float | None) -> Iterator[int]:
    started, number = time.monotonic(), 0
    while (count is None or number < count) and (
        seconds is None or time.monotonic() - started < seconds
    ):
        yield number
        number += 1


if __name__ == "__main__":
    sys.exit(main())
