"""`lakebed run`: a program written for delta-spark, run as `python` would run it."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import TracebackType

from lakebed.cli.options import RunOptions
from lakebed.sessions.drop_in.install import install_with

_INTERRUPTED = 130


def run(options: RunOptions) -> int:
    """The exit code. A `SystemExit` of the program passes through: Python knows its code."""
    install_with(options.settings)
    sys.argv = [options.program, *options.arguments]
    if not getattr(sys.flags, "safe_path", False):  # as of Python 3.11
        sys.path[0] = str(Path.cwd()) if options.is_module else _folder(options.program)
    try:
        if options.is_module:
            runpy.run_module(options.program, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(options.program, run_name="__main__")
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - shown and turned into the exit code of Python
        trace = _of_program(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _folder(program: str) -> str:
    return str(Path(program).resolve().parent)


def _of_program(trace: TracebackType | None) -> TracebackType | None:
    """Without the frames of this module and of runpy, which are not the program's."""
    while trace is not None and trace.tb_frame.f_globals.get("__name__") in (__name__, "runpy"):
        trace = trace.tb_next
    return trace
