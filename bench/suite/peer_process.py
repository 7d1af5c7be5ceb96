"""The parent's end of a peer: starts its process, asks it for jobs, and outlives its death."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import subprocess
import threading
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent.parent
START_SECONDS = 180
"""The first start of delta-spark fetches its JAR."""


class PeerProcess:
    def __init__(self, name: str, python: Path, settings: Mapping[str, str], folder: Path) -> None:
        self.name = name
        self.folder = folder / name
        self.folder.mkdir()
        self.about: dict[str, Any] = {}
        self._python = python
        self._settings = dict(settings)
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()

    def start(self) -> str | None:
        """Why it did not start, or none if it did."""
        self.about = {}
        command = [str(self._python), "-m", "suite.peers", self.name, json.dumps(self._settings)]
        environ = {
            **os.environ,
            "PYTHONPATH": str(BENCH),
            # Spark starts its workers with the first python3 of the PATH, unless told otherwise.
            "PYSPARK_PYTHON": str(self._python),
        }
        with (self.folder / "errors").open("ab") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environ,
                text=True,
            )
        self._answers = queue.Queue()
        threading.Thread(target=_pass_on, args=(self._process, self._answers), daemon=True).start()
        answer = self._answer(START_SECONDS)
        if "error" in answer:
            return str(answer["error"])
        self.about = answer
        return None

    @property
    def life(self) -> int | None:
        """The process as it is now; none if it has ended and will be started again."""
        return None if self._process is None else self._process.pid

    def ask(self, job: str, timeout: float = 300, **arguments: Any) -> dict[str, Any]:
        """What the peer answers: seconds and facts, or an error, also when it died of the job."""
        if self._process is None and (why := self.start()):
            return {"error": f"did not start again: {why}"}
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # then there is no answer, which is told below
            self._process.stdin.write(json.dumps({"do": job, **arguments}) + "\n")
            self._process.stdin.flush()
        return self._answer(timeout)

    @contextlib.contextmanager
    def copy_of(self, table: Path) -> Iterator[Path]:
        """The table as it was made: the same files, and a log of its own, at a path of its own,
        because delta-spark remembers tables by their path."""
        path = self.folder / f"copy-{uuid.uuid4()}"
        shutil.copytree(table, path, copy_function=_link)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def peaks(self) -> dict[str, int]:
        """The most memory of each of its processes, in bytes, where the system tells."""
        found = {}
        for name, pid in self.about.get("pids", {}).items():
            status = Path(f"/proc/{pid}/status")
            lines = status.read_text().splitlines() if status.exists() else []
            for line in lines:
                if line.startswith("VmHWM:"):
                    found[name] = int(line.split()[1]) * 1024
        return found

    def forget_peaks(self) -> None:
        """What was done so far does not count."""
        for pid in self.about.get("pids", {}).values():
            with contextlib.suppress(OSError):  # another system, or a process that is gone
                Path(f"/proc/{pid}/clear_refs").write_text("5")

    def close(self) -> None:
        if self._process is None:
            return
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._kill()
        self._process = None

    def _answer(self, timeout: float) -> dict[str, Any]:
        try:
            line = self._answers.get(timeout=max(timeout, 1))
        except queue.Empty:
            self._kill()
            return {"error": f"took more than {timeout:.0f} s and was ended"}
        if not line:
            self._kill()
            return {"error": f"the process ended: {self._last_words()}"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _kill(self) -> None:
        """Its JVM too, which is a child of its own."""
        assert self._process is not None
        for pid in [self._process.pid, *self.about.get("pids", {}).values()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # what nobody has read
            self._process.stdin.close()
        self._process.wait()
        self._process = None

    def _last_words(self) -> str:
        said = (self.folder / "errors").read_text(errors="replace").strip().splitlines()
        telling = [line for line in said if "Error" in line or "Exception" in line]
        return (telling or said or ["it said nothing"])[-1].strip()[:300]


def _pass_on(process: subprocess.Popen[str], answers: queue.Queue[str]) -> None:
    """Lines of the process, and an empty one when there will be no more."""
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            answers.put(line)
    answers.put("")


def _link(source: str, target: str) -> None:
    if "_delta_log" in source:
        shutil.copy(source, target)
    else:
        Path(target).hardlink_to(source)
