"""Clients that take turns: threads of which exactly one runs at a time, in an order from a seed.

A client gives up its turn only where it asks the store or sleeps. So a history depends on nothing
but its seed: not on the machine, its load, or Python's own switching of threads.
"""

from __future__ import annotations

import random
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

LONGEST_SECONDS = 20


class Killed(BaseException):
    """The process of a client is gone: nothing that it does from here on reaches the store."""


@dataclass
class Client:
    name: str
    skew_ms: float = 0.0
    """How far its clock is ahead of the store's."""
    is_dead: bool = False
    doing: str = ""
    wakes_ms: float = 0.0
    thread: int = 0
    """The identifier of the thread that it is."""
    holds: int = 0
    """Above 0 while others could not go on, because it has a lock that they need."""
    baton: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))


class Turns:
    """Whose turn it is, and what time it is."""

    def __init__(
        self,
        random: random.Random,
        start_ms: float,
        stickiness: float,
        *,
        longest: float = LONGEST_SECONDS,
    ) -> None:
        self.random = random
        self.start_ms = start_ms
        self.now_ms = start_ms
        self.current: Client | None = None
        self.switches = 0
        self._stickiness = stickiness
        self._longest = longest
        self._active: list[Client] = []
        self._all_done = threading.Semaphore(0)
        self._failure: BaseException | None = None

    def run(self, jobs: list[tuple[Client, Callable[[], None]]]) -> None:
        """Until every job is done or its client is dead; raises what a job raises."""
        self._active = [client for client, _ in jobs]
        threads = [
            threading.Thread(target=self._work, args=job, name=job[0].name, daemon=True)
            for job in jobs
        ]
        for thread in threads:
            thread.start()
        self._pass_on()
        if not self._all_done.acquire(timeout=self._longest):
            raise AssertionError(f"the clients do not come to an end:\n{self._stacks()}")
        for thread in threads:
            thread.join()
        self.current = None
        if self._failure is not None:
            raise self._failure

    def _stacks(self) -> str:
        """Where everybody is; the one whose turn it is waits for somebody who waits for a turn."""
        frames = {thread.name: sys._current_frames()[thread.ident or 0] for thread in _threads()}
        turn = "nobody" if self.current is None else self.current.name
        parts = [f"it is the turn of {turn}"]
        for name, frame in frames.items():
            parts.append(f"{name}:\n{''.join(traceback.format_stack(frame)[-12:])}")
        return "\n".join(parts)

    def pause(self) -> None:
        """The turn of the current client may end here."""
        client = self.acting
        if client is None:
            return
        self.now_ms += self.random.expovariate(1 / 20)
        if client.holds:
            self.now_ms = max(self.now_ms, client.wakes_ms)
            return
        chosen = self._choose(client)
        if chosen is not client:
            self.switches += 1
            self.current = chosen
            chosen.baton.release()
            client.baton.acquire()

    @property
    def acting(self) -> Client | None:
        """The current client, if it is the one who asks: Spark also asks in threads of its own,
        which nobody may stop, because its client is waiting for them."""
        client = self.current
        is_own = client is not None and client.thread == threading.get_ident()
        return client if is_own else None

    def sleep(self, seconds: float) -> None:
        assert self.current is not None
        self.current.wakes_ms = self.now_ms + seconds * 1000
        self.pause()

    def death(self) -> BaseException:
        """What the current client is to raise when it is dead."""
        return Killed()

    def stall(self) -> None:
        """The current client is slow: others may do much before its next step."""
        self.sleep(self.random.uniform(0.05, 3.0))

    def _work(self, client: Client, job: Callable[[], None]) -> None:
        client.thread = threading.get_ident()
        client.baton.acquire()
        try:
            job()
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by `run`
            self._failure = self._failure or error
        self._active.remove(client)
        self._pass_on()

    def _pass_on(self) -> None:
        if not self._active:
            self._all_done.release()
            return
        self.current = self._choose(None)
        self.current.baton.release()

    def _choose(self, current: Client | None) -> Client:
        ready = [each for each in self._active if each.wakes_ms <= self.now_ms]
        if not ready:
            first = min(self._active, key=lambda each: each.wakes_ms)
            self.now_ms = first.wakes_ms
            return first
        if current in ready and self.random.random() < self._stickiness:
            assert current is not None
            return current
        return ready[int(self.random.random() * len(ready))]


def _threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.ident in sys._current_frames()]
