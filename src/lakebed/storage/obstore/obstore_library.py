"""The obstore library of this process, also after a fork.

obstore runs its requests on threads of its own. A forked child inherits their state but not the
threads: every request there waits for ever, also through a newly made client. The state belongs
to the loaded library, so a forked child loads a private copy of the library file, which starts
afresh (about 0.1 s, once, and only for remote stores).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from lakebed.errors import StorageError


class Library(NamedTuple):
    """obstore's functions, store classes and exceptions, all of one loaded library."""

    functions: Any
    stores: Any
    errors: Any


def library() -> Library:
    """The library to use now. It is a different object after a fork."""
    global _library
    if _library is None:
        _library = _private_copy() if _inherited else installed_library()
    return _library


def installed_library() -> Library:
    """obstore as it is installed: always right for stores that need no requests."""
    import obstore  # here, because a table on local disk needs none of its 16 ms
    import obstore.exceptions
    import obstore.store

    return Library(obstore, obstore.store, obstore.exceptions)


_library: Library | None = None
_inherited = False
_NATIVE = "obstore._obstore"


def _after_fork() -> None:
    global _library, _inherited
    _library = None
    _inherited = _NATIVE in sys.modules


os.register_at_fork(after_in_child=_after_fork)


def _private_copy() -> Library:
    try:
        with tempfile.TemporaryDirectory(prefix="lakebed-") as folder:
            original = sys.modules[_NATIVE].__file__ or ""
            copy = shutil.copy(original, Path(folder) / Path(original).name)
            native = _load(str(copy))
    except (OSError, ImportError) as error:
        raise StorageError(
            f"a forked process cannot open remote stores here: {error}",
            hint="Start processes with multiprocessing's 'spawn' method instead of 'fork'.",
        ) from error
    return Library(native, native._store, native.exceptions)


def _load(file: str) -> ModuleType:
    # The last part of the name must be the original's: it names the library's entry point.
    name = f"lakebed_fork_{os.getpid()}._obstore"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a loadable library")
    # Loading registers submodules under obstore's names; the program's own imports keep theirs.
    before = {key: module for key, module in sys.modules.items() if key.startswith("obstore")}
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.modules.update(before)
    return module
