"""What `import delta` finds after `lakebed.install_as_delta()`: the public names of delta-spark."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import lakebed.tables as tables
from lakebed.sessions.drop_in import captured, exceptions, pip_utils, version
from lakebed.sessions.drop_in.pip_utils import configure_spark_with_delta_pip
from lakebed.sessions.drop_in.version import __version__
from lakebed.spark.errors import conflict_names
from lakebed.tables.delta_table import DeltaTable

__all__ = ["DeltaTable", "__version__", "configure_spark_with_delta_pip"]

# Modules below it are found by name. This lets Python say so if there is none.
__path__: list[str] = []

MODULES: Mapping[str, ModuleType] = {
    "delta": sys.modules[__name__],
    "delta.exceptions": exceptions,
    "delta.exceptions.base": conflict_names,
    "delta.exceptions.captured": captured,
    "delta.pip_utils": pip_utils,
    "delta.tables": tables,
    "delta.version": version,
}
_CONNECT = {
    "delta.connect": "lakebed.sessions.drop_in.connect",
    "delta.connect.exceptions": "lakebed.spark.errors.connect_conflicts",
    "delta.connect.tables": "lakebed.tables",
}
"""Imported when the program does: the client of Spark Connect needs packages of its own."""


def register() -> None:
    sys.modules.update(MODULES)
    for name, module in MODULES.items():
        above, _, last = name.rpartition(".")
        if above:
            setattr(MODULES[above], last, module)
    sys.meta_path.insert(0, _CONNECT_MODULES)


def unregister() -> None:
    if _CONNECT_MODULES in sys.meta_path:
        sys.meta_path.remove(_CONNECT_MODULES)
    for name, module in MODULES.items():
        if sys.modules.get(name) is module:
            del sys.modules[name]
    for name, ours in _CONNECT.items():
        if sys.modules.get(name) is sys.modules.get(ours):
            sys.modules.pop(name, None)


class _ConnectModules(MetaPathFinder, Loader):
    """Finds the modules of Spark Connect."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        return ModuleSpec(name, self) if name in _CONNECT else None

    def exec_module(self, module: ModuleType) -> None:
        # Python takes what is here for what it imported.
        sys.modules[module.__name__] = import_module(_CONNECT[module.__name__])
        if module.__name__ == "delta.connect":
            sys.modules["delta.connect.exceptions"] = import_module(
                _CONNECT["delta.connect.exceptions"]
            )


_CONNECT_MODULES = _ConnectModules()
