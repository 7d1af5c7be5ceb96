"""A bar where somebody watches, and not a byte where nobody does."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

from lakebed.commands.optimize.optimize_run import Share

CODE = """
from lakebed.commands.optimize.optimize_run import progress
with progress("OPTIMIZE", 2000) as shown:
    shown.done(1000)
    shown.done(1000)
with progress("nothing to do", 0) as shown:
    shown.done(0)
"""


def test_a_terminal_shows_a_bar_which_is_gone_in_the_end() -> None:
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    with subprocess.Popen([sys.executable, "-c", CODE], stderr=theirs, env=environ) as process:
        os.close(theirs)
        shown = _read(ours)
    assert process.returncode == 0
    assert "OPTIMIZE" in shown
    assert "2.0/2.0 kB" in shown
    assert "nothing to do" not in shown
    # The cursor is back, and the line is erased.
    assert shown.rindex("\x1b[?25h") > shown.rindex("OPTIMIZE")
    assert shown.rindex("\x1b[2K") > shown.rindex("OPTIMIZE")


def test_anything_else_gets_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_parts_of_a_batch_never_show_more_than_the_batch() -> None:
    shown: list[int] = []

    class Bar:
        def done(self, num_bytes: int) -> None:
            shown.append(num_bytes)

    share = Share(Bar(), 100)
    for size in (30, 50, 50, 30):
        share.done(size)
    share.finish()
    assert shown == [30, 50, 20, 0, 0]
    Share(Bar(), 7).finish()
    assert shown[-1] == 7


def _read(terminal: int) -> str:
    found = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # Linux: the other end is closed
            piece = b""
        if not piece:
            os.close(terminal)
            return found.decode()
        found += piece
