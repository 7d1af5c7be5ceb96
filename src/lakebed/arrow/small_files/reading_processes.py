"""Processes that decode small files for this one: a processor for each, where threads would wait
for each other's Python.

They live on for the next run, until no one has asked for a while. This process decodes too, until
the first of them is ready, so no one waits for one to start; where none can be started it does all.
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from io import FileIO
from threading import Condition, Lock, Thread, Timer
from typing import cast

from lakebed.arrow.small_files.reading_process import HELLO, read_head, read_tables, send
from lakebed.arrow.small_files.small_files import Decoded, Needs
from lakebed.errors import JobFailedError
from lakebed.settings.setting_table import OPTIMIZE_LOCAL_BYTES

_log = logging.getLogger(__name__)

MIN_FILES = 2_000
"""For fewer it is not worth starting processes."""
_MOST = 4
_IDLE_SECONDS = 60.0
_END_SECONDS = 5.0
_READER = "lakebed.arrow.small_files.reading_process"
_START = f"import sys; sys.path[:] = sys.argv[1:]; from {_READER} import main; main()"


class Readers:
    """The processes of this one, for one run at a time."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self._changed = Condition()
        self._idle: list[_Process] = []
        self._all: list[_Process] = []
        self._num_starting = 0
        self._decodes_here = False

    def decoded(
        self, paths: Sequence[str], needs: Needs, here: Callable[[], list[Decoded]]
    ) -> list[Decoded]:
        """What `here` would give, by whoever has time first."""
        process = self._taken()
        if process is None:
            try:
                return here()
            finally:
                self._change(decodes_here=False)
        try:
            found = process.decoded(paths, needs)
        except (OSError, EOFError) as error:
            self._drop(process)
            raise JobFailedError(
                f"a process that read files {process.end()}; nothing was committed",
                hint=f"if memory is short, lower {OPTIMIZE_LOCAL_BYTES.name}; then try again",
            ) from error
        except BaseException:
            self._drop(process)
            raise
        self._change(idle=process)
        return here() if found is None else found

    def fill(self) -> None:
        """Starts those that are missing, without waiting for them."""
        for dead in [each for each in self._idle if not each.is_alive()]:
            self._idle.remove(dead)
            self._drop(dead)
        for _ in range(self.wanted - len(self._all)):
            process = _started()
            if process is None:
                return
            self._all.append(process)
            self._num_starting += 1
            Thread(target=self._await, args=[process], daemon=True, name="lakebed-start").start()

    def close(self) -> None:
        with self._changed:
            processes, self._all, self._idle = self._all, [], []
        for process in processes:
            process.close()

    def forget(self) -> None:
        """After a fork: they are the parent's. They must end with it, and not with this one."""
        for process in self._all:
            process.forget()

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._all]

    def await_all(self, seconds: float) -> bool:
        """Whether none of them is still starting by then."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._num_starting, seconds)

    def _taken(self) -> _Process | None:
        """None says that the caller shall decode; one thread does at a time."""
        with self._changed:
            while True:
                if self._idle:
                    return self._idle.pop()
                is_enough = self._all and not self._num_starting
                if not is_enough and not self._decodes_here:
                    self._decodes_here = True
                    return None
                self._changed.wait()

    def _await(self, process: _Process) -> None:
        if process.says_hello():
            self._change(idle=process, starting=-1)
        else:
            self._drop(process)
            _log.info("a process to read files %s at its start", process.end())
            self._change(starting=-1)

    def _drop(self, process: _Process) -> None:
        process.close()
        with self._changed:
            if process in self._all:
                self._all.remove(process)
            self._changed.notify_all()

    def _change(
        self, *, idle: _Process | None = None, starting: int = 0, decodes_here: bool | None = None
    ) -> None:
        with self._changed:
            if idle is not None and idle in self._all:
                self._idle.append(idle)
            self._num_starting += starting
            if decodes_here is not None:
                self._decodes_here = decodes_here
            self._changed.notify_all()


class _Process:
    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self._popen = popen
        # Without buffers, so nothing of one request is left for the next.
        self._requests = cast(FileIO, popen.stdin)
        self._answers = cast(FileIO, popen.stdout)

    @property
    def pid(self) -> int:
        return self._popen.pid

    def is_alive(self) -> bool:
        return self._popen.poll() is None

    def says_hello(self) -> bool:
        said = b""
        with suppress(OSError, ValueError):
            while len(said) < len(HELLO):
                piece = self._answers.read(len(HELLO) - len(said))
                if not piece:
                    break
                said += piece
        return said == HELLO

    def decoded(self, paths: Sequence[str], needs: Needs) -> list[Decoded] | None:
        """None if it could not."""
        send(self._requests, {"paths": list(paths), "needs": asdict(needs)})
        head = read_head(self._answers)
        if "failed" in head:
            _log.info("a process could not read files: %s", head["failed"])
            return None
        return read_tables(self._answers, head)

    def end(self) -> str:
        """How it ended, for people."""
        code = self._popen.returncode
        if code is None:
            return "does not answer"
        return f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"

    def close(self) -> None:
        """It ends when no one can ask it any more."""
        self.let_go()
        try:
            self._popen.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()

    def forget(self) -> None:
        self.let_go()
        # No one shall wait for it, or warn that no one did: it is no child of this process.
        self._popen.returncode = 0

    def let_go(self) -> None:
        with suppress(OSError):
            self._requests.close()
            self._answers.close()


def _started() -> _Process | None:
    """None where this Python cannot be started once more."""
    if os.name != "posix" or not sys.executable or getattr(sys, "frozen", False):
        return None
    # Decoding allocates and frees thousands of small pieces; glibc may keep more of them at hand,
    # which takes a tenth of the time. Nothing is computed, so numpy needs no threads.
    known = os.environ.get("GLIBC_TUNABLES")
    tunables = ":".join(filter(None, [known, "glibc.malloc.tcache_count=2000"]))
    env = {**os.environ, "GLIBC_TUNABLES": tunables, "OPENBLAS_NUM_THREADS": "1"}
    paths = [path or os.getcwd() for path in sys.path]  # noqa: PTH109
    try:
        popen = subprocess.Popen(
            [sys.executable, "-c", _START, *paths],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
        )
    except OSError as error:
        _log.info("no process to read files can be started: %s", error)
        return None
    return _Process(popen)


# --- those of this process -----------------------------------------------------------------------

_lock = Lock()
_readers: Readers | None = None
_timer: Timer | None = None


@contextmanager
def lent() -> Iterator[Readers | None]:
    """The processes, if there can be some and no one else has them; they start when needed."""
    global _readers, _timer
    wanted = min(_MOST, _num_processors())
    if wanted < 2 or not _lock.acquire(blocking=False):
        yield None
        return
    try:
        if _timer is not None:
            _timer.cancel()
        readers = _readers = _readers or Readers(wanted)
        readers.fill()
        yield readers
    finally:
        _timer = Timer(_IDLE_SECONDS, end_all)
        _timer.daemon = True
        _timer.start()
        _lock.release()


def end_all() -> None:
    """Ends them, unless somebody has them; they start again when needed."""
    if _lock.acquire(blocking=False):
        try:
            if _readers is not None:
                _readers.close()
        finally:
            _lock.release()


def _num_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _after_fork() -> None:
    global _lock, _readers, _timer
    if _readers is not None:
        _readers.forget()
    _lock, _readers, _timer = Lock(), None, None


atexit.register(end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
