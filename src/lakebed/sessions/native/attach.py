"""The Python process of a JVM that Python did not start, such as that of `spark-shell`.

`PythonProcess.java` runs this module with the port and the secret of a py4j server in the
environment, where PySpark looks for them. The process ends when its input does.
"""

from __future__ import annotations

import os
import signal
import sys

import pyspark

from lakebed.errors import LakebedError, UnsupportedSparkError
from lakebed.sessions.native.python_side import answer_for
from lakebed.settings.setting_table import SPARK_VERSION
from lakebed.spark.internals.startup.bridge import attached_session
from lakebed.spark.internals.startup.versions import parsed


def main() -> int:
    # Ctrl-C in a shell reaches all its processes. The JVM decides what it stops.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _check_version(os.environ[SPARK_VERSION.name])
        answer_for(attached_session())
    except LakebedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdin.buffer.read()
    return 0


def _check_version(spark: str) -> None:
    installed = str(pyspark.__version__)
    if parsed(installed) != parsed(spark):
        raise UnsupportedSparkError(
            f"this is Spark {spark}, and {sys.executable} has PySpark {installed}",
            hint=f"{sys.executable} -m pip install 'pyspark=={spark}'",
        )


if __name__ == "__main__":
    # PySpark would stop the SparkContext at exit, which is not its own.
    code = main()
    sys.stderr.flush()
    os._exit(code)
