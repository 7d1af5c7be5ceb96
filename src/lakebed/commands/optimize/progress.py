"""What a long command shows on a terminal; nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Protocol


class Progress(Protocol):
    def done(self, num_bytes: int) -> None: ...


@contextmanager
def progress(what: str, total_bytes: int) -> Iterator[Progress]:
    """A bar over the bytes to do, on the standard error if somebody is watching."""
    if not total_bytes or not sys.stderr.isatty():
        yield _Silent()
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Shown(bar, bar.add_task(what, total=total_bytes))


class Share:
    """One batch's share of a bar. Its parts report when they are done, in whatever thread.

    Never more than the share is shown, though a batch that is done again reports twice.
    """

    def __init__(self, shown: Progress, num_bytes: int) -> None:
        self._shown = shown
        self._left = num_bytes
        self._lock = Lock()

    def done(self, num_bytes: int) -> None:
        with self._lock:
            part = min(num_bytes, self._left)
            self._left -= part
            self._shown.done(part)

    def finish(self) -> None:
        self.done(self._left)


class _Silent:
    def done(self, num_bytes: int) -> None:
        pass


class _Shown:
    def __init__(self, bar: object, task: object) -> None:
        self._bar = bar
        self._task = task

    def done(self, num_bytes: int) -> None:
        self._bar.advance(self._task, num_bytes)  # type: ignore[attr-defined]
