"""Answers to calls of clients, which may send a call again.

A call has an id. A client that lost the connection gets the answer of the first time, also if that
is still being worked on. Answers are kept for ten minutes, because they keep the session of the
client.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future

from pyspark.sql import DataFrame


class Answers:
    """The answers to the last calls, by their ids, which no two clients have in common."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._known: dict[str, Future[DataFrame]] = {}
        self._ended: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def once(self, call_id: str, work: Callable[[], DataFrame]) -> DataFrame:
        with self._lock:
            known = self._known.get(call_id)
            mine: Future[DataFrame] = Future()
            if known is None:
                self._known[call_id] = mine
        if known is not None:
            return known.result()
        try:
            mine.set_result(work())
        except BaseException as error:
            # Threads that wait for the same call must not wait forever.
            mine.set_exception(error)
            raise
        finally:
            with self._lock:
                self._ended[call_id] = time.monotonic()
            self.forget()
        return mine.result()

    def forget(self) -> None:
        """The oldest ones that are done."""
        before = time.monotonic() - self._seconds
        with self._lock:
            while self._ended:
                call_id, ended = next(iter(self._ended.items()))
                if ended >= before and len(self._ended) <= self._most:
                    break
                del self._ended[call_id], self._known[call_id]


ANSWERS = Answers(1000, 600)
