"""A process that decodes small files for another one: what runs in it, and how the two talk.

Requests come on the standard input, answers go to the standard output. Both are a head in JSON
after its length; Arrow streams, whose lengths the head of an answer has, follow it. Whoever asks
and goes away ends the process.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import stat
import struct
from collections.abc import Callable, Sequence
from io import FileIO
from typing import Any

import pyarrow as pa

from lakebed.arrow.small_files.small_files import Decoded, Needs, UnreadableError, decode

HELLO = b"lakebed\n"
"""What a process that is ready says first."""

Head = dict[str, Any]


def main() -> None:
    # Whatever prints must not get between the answers.
    answers = FileIO(os.dup(1), "w")
    os.dup2(2, 1)
    requests = FileIO(0, "r")
    # An interrupt of the terminal reaches all its processes; the one that asks deals with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()
    gc.disable()
    write(answers, HELLO)
    try:
        while _asked(requests, parent):
            request = read_head(requests)
            head, streams = _answer(request)
            send(answers, head, streams)
            # What one answer needs is all that is held, though no one looks for cycles.
            del request, head, streams
    except (EOFError, OSError):
        pass  # no one asks any more
    os._exit(0)


def _asked(requests: FileIO, parent: int) -> bool:
    """Waits. That the end of the pipe is held by somebody else does not keep the process alive."""
    while not select.select([requests], [], [], _LOOK_AROUND)[0]:
        if os.getppid() != parent:
            return False
    return True


def _answer(request: Head) -> tuple[Head, list[pa.Buffer]]:
    try:
        found = decode(map(_bytes, request["paths"]), Needs(**request["needs"]))
    except (UnreadableError, OSError, MemoryError, pa.ArrowException) as error:
        # Whoever asked tries it again, and says what is wrong as if no one had been asked.
        return {"failed": str(error)}, []
    streams = [_stream(each.table) for each in found]
    counts = [each.counts for each in found]
    return {"counts": counts, "sizes": [each.size for each in streams]}, streams


def _bytes(path: str) -> bytes:
    """By plain system calls: a file object costs as much again as opening and reading one."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise FileNotFoundError(path)
        pieces = list(iter(lambda: os.read(file, _PIECE), b""))
    finally:
        os.close(file)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _stream(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


# --- both ends -----------------------------------------------------------------------------------


def send(file: FileIO, head: Head, streams: Sequence[pa.Buffer] = ()) -> None:
    text = json.dumps(head).encode()
    write(file, _LENGTH.pack(len(text)) + text)
    for each in streams:
        write(file, each)


def read_head(file: FileIO) -> Head:
    (length,) = _LENGTH.unpack(_read(file, _LENGTH.size, bytearray))
    head: Head = json.loads(bytes(_read(file, length, bytearray)))
    return head


def read_tables(file: FileIO, head: Head) -> list[Decoded]:
    """What follows the head of an answer."""
    found = []
    for counts, size in zip(head["counts"], head["sizes"], strict=True):
        table = pa.ipc.open_stream(_read(file, size, pa.allocate_buffer)).read_all()
        if table.num_rows != sum(counts):
            raise EOFError(f"{table.num_rows} rows instead of {sum(counts)}")
        found.append(Decoded(table, counts))
    return found


def write(file: FileIO, data: bytes | pa.Buffer) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _read(file: FileIO, length: int, make: Callable[[int], Any]) -> Any:
    found = make(length)
    view = memoryview(found).cast("B")
    while view:
        count = file.readinto(view)
        if not count:
            raise EOFError("the other process is gone")
        view = view[count:]
    return found


_LENGTH = struct.Struct("<Q")
_LOOK_AROUND = 30.0
_PIECE = 1 << 16
