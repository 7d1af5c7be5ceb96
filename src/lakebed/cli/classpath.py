"""`lakebed classpath`: what `--driver-class-path` of Spark's own commands needs."""

from __future__ import annotations

import os
import sys

from lakebed.cli.command_options import ClasspathOptions
from lakebed.spark.internals.session.installed_classes import class_path


def run(options: ClasspathOptions) -> int:
    """Prints the entries. They are compiled first if no cache has them."""
    entries = class_path(options.spark_home)
    sys.stdout.write(os.pathsep.join(str(each) for each in entries) + "\n")
    return 0
