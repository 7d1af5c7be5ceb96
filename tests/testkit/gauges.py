"""What work costs in numbers that no load of the machine changes: bytecode, requests, bytes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from lakebed.storage import ObjectMeta, Store
from testkit.faults import FaultStore


def instructions(work: Callable[[], Any]) -> int:
    """How many instructions of Python bytecode it takes, in this thread and in those it starts.

    A loop over files that somebody adds shows here, however fast it is; what pyarrow does inside
    of one call does not.
    """
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            count += 1
        return trace

    before, threads = sys.gettrace(), threading.gettrace()
    threading.settrace(trace)
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        threading.settrace(threads)  # type: ignore[arg-type]
    return count


class CountingStore(FaultStore):
    """Counts what is asked of a store, and how much comes back."""

    def __init__(self, inner: Store, *, cheap_probes: bool = True) -> None:
        super().__init__(inner)
        self.cheap_probes = cheap_probes
        self.listed = 0
        self.bytes_read = 0

    @property
    def requests(self) -> int:
        return len(self.calls)

    def list_from(self, start: str) -> list[ObjectMeta]:
        found = super().list_from(start)
        self.listed += len(found)
        return found

    def get(self, path: str) -> bytes:
        return self._counted(super().get(path))

    def get_many(self, paths: Sequence[str]) -> list[bytes]:
        return [self._counted(data) for data in super().get_many(paths)]

    def get_range(self, path: str, start: int, length: int) -> bytes:
        return self._counted(super().get_range(path, start, length))

    def open_input(self, path: str) -> Any:
        """All of it counts, though a reader may take less."""
        self.bytes_read += self.inner.head(path).size
        return super().open_input(path)

    def _counted(self, data: bytes) -> bytes:
        self.bytes_read += len(data)
        return data


@contextmanager
def gateway_commands(client: Any) -> Iterator[list[str]]:
    """The commands that Python sends to the JVM meanwhile, by all threads; except those that let
    objects go, which come whenever Python collects its garbage."""
    sent: list[str] = []
    send = client.send_command

    def counted(command: str, *arguments: Any, **more: Any) -> Any:
        if not command.startswith("m\nd"):
            sent.append(command)
        return send(command, *arguments, **more)

    client.send_command = counted
    try:
        yield sent
    finally:
        del client.send_command
