"""What `import delta` finds after `lakebed.install_as_delta()`: the public names of delta-spark.

`delta.connect` is this module too: Lakebed's `DeltaTable` takes sessions of both kinds.
"""

from __future__ import annotations

import sys

import lakebed.exceptions as exceptions
import lakebed.tables as tables
from lakebed.sessions.drop_in import pip_utils, version
from lakebed.sessions.drop_in.pip_utils import configure_spark_with_delta_pip
from lakebed.sessions.drop_in.version import __version__
from lakebed.tables.delta_table import DeltaTable

__all__ = ["DeltaTable", "__version__", "configure_spark_with_delta_pip"]

# Modules below it are found by name. This lets Python say so if there is none.
__path__: list[str] = []

connect = sys.modules[__name__]

MODULES = {
    "connect": connect,
    "exceptions": exceptions,
    "pip_utils": pip_utils,
    "tables": tables,
    "version": version,
    "connect.exceptions": exceptions,
    "connect.tables": tables,
}
