"""`lakebed run`: a program written for delta-spark, run as `python` would run it."""

from __future__ import annotations

import builtins
import runpy
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType
from zipfile import is_zipfile

from lakebed.cli.command_options import RunOptions
from lakebed.sessions.drop_in.install import install_with

_INTERRUPTED = 130


def run(options: RunOptions) -> int:
    """The exit code. A `SystemExit` of the program passes through: Python knows its code."""
    install_with(options.settings)
    sys.argv = [options.program, *options.arguments]
    if not getattr(sys.flags, "safe_path", False):  # as of Python 3.11
        folder = Path.cwd() if options.is_module else Path(options.program).resolve().parent
        sys.path[0] = str(folder)
    try:
        if options.is_module:
            runpy.run_module(options.program, run_name="__main__", alter_sys=True)
        elif Path(options.program).is_dir() or is_zipfile(options.program):
            runpy.run_path(options.program, run_name="__main__")
        else:
            _run_file(Path(options.program).absolute())
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - shown and turned into the exit code of Python
        trace = _of_program(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _run_file(path: Path) -> None:
    """Not by runpy, which takes `__main__` away at the end: threads and atexit may need it."""
    module = ModuleType("__main__")
    module.__file__ = str(path)
    module.__loader__ = SourceFileLoader("__main__", str(path))
    module.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = module
    exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)


def _of_program(trace: TracebackType | None) -> TracebackType | None:
    """Without the frames of this module and of runpy, which are not the program's."""
    while trace is not None and trace.tb_frame.f_globals.get("__name__") in (__name__, "runpy"):
        trace = trace.tb_next
    return trace
