"""A history from a seed: the table, the clients, what they do, what goes wrong, and the verdict.

python tests/simulation/history.py 1234           # one seed, and what happened in it
python tests/simulation/history.py --for 60       # as many as fit in a minute, from a random one
python tests/simulation/history.py --from 0 --count 5000
python tests/simulation/history.py --spark 7      # the same with clients on Spark
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from client_commands import RUNS, SUBSTITUTES, patches
from converted_folder import put_folder
from history_choices import (
    DAY,
    HOUR,
    LOG_RETENTION_DAYS,
    OPTIONS,
    RETENTION_DAYS,
    Kind,
    command_by,
    odds_by,
    with_needed,
)
from model import Command, Facts, Row
from simulated_store import CLONE, URL, Course, Objects, Odds, SimulatedBucket, SimulatedStore
from substitutes import Patch, simulated
from turns import Client, Turns
from verdict import Run, Verdict
from verdict_of_clones import check_clones
from verdict_of_iceberg import check_iceberg

from lakebed.errors import CommitUnknownError, LakebedError, LogCorruptedError, StorageError
from lakebed.log import post_commit
from lakebed.storage import Store

START_MS = 1_790_000_000_000.0
WEIGHTS = {
    "append": 14,
    "append to open": 6,
    "append once": 6,
    "overwrite": 3,
    "replace where": 8,
    "replace partition": 4,
    "delete": 9,
    "update": 9,
    "merge": 9,
    "optimize": 8,
    "set property": 4,
    "add constraint": 3,
    "add column": 2,
    "restore": 4,
    "pin": 2,
    "checkpoint": 3,
    "compact log": 3,
    "clean up log": 2,
    "vacuum": 5,
    "publish": 1,
    "read": 8,
    "read old": 4,
    "read changes": 4,
    "refresh": 4,
    "stream": 3,
    "clone": 4,
    "append to clone": 2,
    "read clone": 3,
    "vacuum clone": 2,
}
"""How often clients choose a command, if it is among those of the history."""


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
    commands: ClassVar[Mapping[str, Callable[[Command, Facts], None]]] = RUNS
    weights: ClassVar[Mapping[str, int]] = WEIGHTS
    options: ClassVar[Mapping[str, Sequence[str]]] = OPTIONS
    counts: ClassVar[Sequence[int]] = (2, 2, 2, 3, 4)
    """How many clients there are, as often as it stands here; so are the next two."""
    lengths: ClassVar[Sequence[int]] = (1, 1, 1, 2, 2, 4)
    phases: ClassVar[Sequence[int]] = (1, 1, 1, 2, 2, 3)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        chance = self._random
        self.turns = self._turns(chance.choice((0.1, 0.4, 0.7, 0.9)))
        odds = self.odds or odds_by(chance)
        self.course = self._course(odds)
        self.objects = self._objects(URL)
        self.clones = self._objects(CLONE)
        # A few kinds of commands meet each other more often than all of them would.
        chosen = chance.sample(list(self.weights), chance.choice((2, 3, 5, 8, len(self.weights))))
        names = with_needed(self.only or chosen)
        self._weights = {name: self.weights[name] for name in names}
        self.kind = self._kind(chance)
        self.skew_ms = chance.choice((0.0, 0.0, 1000.0, HOUR, 30 * HOUR))
        self.properties = self.kind.properties(chance)
        self.outcomes: Counter[str] = Counter()
        self._folder: Counter[Row] = Counter()
        self._by_client: dict[str, Run] = {}
        self._unexplained: list[str] = []

    # --- what another kind of history does in another way -------------------------------------

    def _turns(self, stickiness: float) -> Turns:
        return Turns(random.Random(self._random.random()), START_MS, stickiness)

    def _course(self, odds: Odds) -> Course:
        return Course(self.turns, odds, cheap_probes=self._random.random() < 0.5)

    def _objects(self, url: str) -> Objects:
        return Objects(self.course, url)

    def _kind(self, chance: random.Random) -> Kind:
        return Kind.by(chance, self._weights)

    def _substitutes(self) -> tuple[Mapping[str, tuple[Any, Any]], list[Patch]]:
        return SUBSTITUTES, patches(self._opened)

    @property
    def command(self) -> str:
        """What repeats it, unless faults were put in on purpose."""
        only = f" --only '{','.join(self.only)}'" if self.only else ""
        return f"PYTHONPATH=src python tests/simulation/history.py {self.seed}{only}"

    def run(self) -> History:
        more, also = self._substitutes()
        chance = random.Random(self.seed)
        try:
            with (
                simulated(self.turns, chance, self._drawn, self._opened, more, also),
                mock.patch.object(post_commit, "_LOG", _Log(self._warned)),
            ):
                self._go()
        except Exception as error:
            raise HistoryError(f"{error}\n\n{self}\n\nagain: {self.command}") from error
        return self

    def __str__(self) -> str:
        table = {k: v for k, v in self.properties.items() if "etention" not in k}
        course = self.course
        store = "a disk" if course.cheap_probes else "an object store"
        head = f"seed {self.seed}, {store}, {course.odds}, clocks {self.skew_ms / HOUR} h off"
        return "\n".join([head, str(table), *course.events])

    # --- the course of it ---------------------------------------------------------------------

    def _go(self) -> None:
        chance = self._random
        if self.kind.converted:
            self._folder = put_folder(self.objects, chance)
        count = chance.choice(self.counts)
        names = iter(f"c{number}" for number in range(1, 100))
        clients = [self._client(next(names)) for _ in range(count)]
        programs: dict[str, list[Command]] = {}
        for phase in range(chance.choice(self.phases)):
            if phase:
                self._night()
            for place, client in enumerate(clients):
                if client.is_dead:
                    clients[place] = self._client(next(names))
                creates = phase == 0 and (place == 0 or chance.random() < 0.25)
                programs[clients[place].name] = self._program(creates=creates)
            jobs = [(each, self._job(each, programs[each.name])) for each in clients]
            self.turns.run(jobs)
            self.course.settle(everything=True)
        self._end()

    def _end(self) -> None:
        """Somebody without faults goes on; then all is looked at."""
        self.course.odds = Odds()
        last = self._client("end")
        last.skew_ms = 0.0
        is_there = bool(_commits(self.objects))
        first = Command("append" if is_there else self._creating)
        self.turns.run([(last, self._job(last, [first, Command("read")]))])
        assert not self._unexplained, self._unexplained[0]
        verdict = Verdict(self.objects, self.runs, serializable=self.kind.serializable)
        verdict.give(
            skew_ms=self.skew_ms,
            retention_ms=RETENTION_DAYS * DAY,
            log_retention_ms=LOG_RETENTION_DAYS * DAY,
        )
        check_clones(verdict, self.clones)
        if self.kind.iceberg:
            check_iceberg(verdict, self.objects)
        self.verdict = verdict

    @property
    def _creating(self) -> str:
        return "convert" if self.kind.converted else "create"

    def _job(self, client: Client, program: list[Command]) -> Callable[[], None]:
        def work() -> None:
            for _ in range(10):
                if _commits(self.objects) or program[0].name in ("create", "convert"):
                    break
                self.turns.sleep(0.3)
            for command in program:
                self._one(client, command)

        return work

    def _one(self, client: Client, command: Command) -> None:
        facts = Facts(
            len(self.runs),
            lambda: self.turns.now_ms + client.skew_ms,
            self.properties,
            self._folder,
            lambda: bool(_commits(self.objects)),
            self._oldest_wanted,
            self._newest,
            self._place(),
        )
        run = Run(client.name, command, facts, self._newest(), self.turns.now_ms)
        self.runs.append(run)
        self._by_client[client.name] = run
        client.doing = command.name
        if self._random_jump():
            client.skew_ms = self.turns.random.uniform(-self.skew_ms, self.skew_ms)
        self.course.note(f"#{facts.number} {command}")
        try:
            self._run(command, facts)
        except LakebedError as error:
            self._refused(run, error)
        else:
            run.outcome, run.is_acknowledged = "acknowledged", True
            verdict = Verdict(self.objects, self.runs, serializable=self.kind.serializable)
            if _commits(self.objects):
                verdict.acknowledged(run)
        finally:
            run.newest_at_end = self._newest()
        self.course.note(f"#{facts.number} {run.outcome}")
        self.outcomes[f"{command.name}: {run.outcome.partition(':')[0]}"] += 1

    def _run(self, command: Command, facts: Facts) -> None:
        self.commands[command.name](command, facts)

    def _place(self) -> Any:
        return self._opened

    def _newest(self) -> int:
        return max(_commits(self.objects), default=-1)

    def _refused(self, run: Run, error: LakebedError) -> None:
        run.outcome = f"{type(error).__name__}: {error.message.splitlines()[0]}"
        run.is_unknown = isinstance(error, CommitUnknownError)
        gone = self.objects.deleted or self.clones.deleted
        is_whole = not self.course.fates and not gone
        if isinstance(error, LogCorruptedError) or (is_whole and isinstance(error, StorageError)):
            raise HistoryError(f"{run}") from error

    def _warned(self, text: str) -> None:
        """What is due after a commit failed. It fails no commit, but must have had a reason."""
        self.course.note(f"  warning: {text}")
        if not self.course.fates and not self.objects.deleted:
            self._unexplained.append(text)

    # --- chance -------------------------------------------------------------------------------

    def _client(self, name: str) -> Client:
        return Client(name, skew_ms=self._random.uniform(-self.skew_ms, self.skew_ms))

    def _random_jump(self) -> bool:
        return self.skew_ms > 0 and self.turns.random.random() < 0.1

    def _night(self) -> None:
        self.turns.now_ms += self._random.uniform(0.2, 4) * DAY
        self.course.note("time passes")

    def _program(self, *, creates: bool) -> list[Command]:
        chance = self._random
        count = chance.choice(self.lengths)
        names = chance.choices(list(self._weights), list(self._weights.values()), k=count)
        program = [command_by(chance, name, self.options) for name in names]
        if creates:
            mode = chance.choice(("ignore", "error", "ignore"))
            program.insert(0, command_by(chance, self._creating, {self._creating: (mode,)}))
        return program

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

    def _opened(self, url: str) -> Store:
        objects = {URL: self.objects, CLONE: self.clones}[url]
        return SimulatedStore(objects, lambda _: SimulatedBucket(self._opened))


class _Log:
    def __init__(self, warned: Callable[[str], None]) -> None:
        self._warned = warned

    def warning(self, text: str, *values: object) -> None:
        self._warned(text % values)


def _commits(objects: Objects) -> dict[int, int]:
    """When each version was made, by the store's clock: also of those that were cleaned up."""
    return {
        int(path[11:31]): blobs[-1].modified_ms
        for path, blobs in objects.written.items()
        if len(path) == 36 and path.endswith(".json")
    }


if __name__ == "__main__":
    from run_histories import main

    sys.exit(main())
