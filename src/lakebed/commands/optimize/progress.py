"""What a long command shows on a terminal; nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


class _Silent:
    def done(self, num_bytes: int) -> None:
        pass


class _Shown:
    def __init__(self, bar: object, task: object) -> None:
        self._bar = bar
        self._task = task

    def done(self, num_bytes: int) -> None:
        self._bar.advance(self._task, num_bytes)  # type: ignore[attr-defined]
