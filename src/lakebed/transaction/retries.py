"""How long a commit goes on trying."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from lakebed.errors import (
    BucketNotFoundError,
    ObjectNotFoundError,
    StorageError,
    StoreCredentialsError,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Retries:
    """`attempts` and `seconds` bound lost races; None is without end. Delays are in seconds.

    A lost race means that somebody else got on, so delays are short, and random to take the crowd
    apart. A store that fails gets longer pauses: `storage_tries` calls in all.
    """

    attempts: int = 10_000_000
    seconds: float | None = None
    first_delay: float = 0.001
    longest_delay: float = 0.05
    storage_tries: int = 6
    storage_delay: float = 0.05

    def pause_after_race(self, attempt: int) -> None:
        ceiling = min(self.longest_delay, self.first_delay * 2 ** min(attempt, 30))
        time.sleep(random.uniform(0, ceiling))

    def pause_after_failure(self, attempt: int) -> None:
        time.sleep(self.storage_delay * 2**attempt * random.uniform(0.5, 1))

    def exhausted(self, attempts: int, started: float) -> bool:
        if attempts >= self.attempts:
            return True
        return self.seconds is not None and time.monotonic() - started >= self.seconds

    def reading(self, read: Callable[[], T]) -> T:
        """Reading again is always safe; that something is not there is an answer, not a failure,
        and so is a refusal."""
        for attempt in range(self.storage_tries - 1):
            try:
                return read()
            except (ObjectNotFoundError, BucketNotFoundError, StoreCredentialsError):
                raise
            except StorageError:
                self.pause_after_failure(attempt)
        return read()
