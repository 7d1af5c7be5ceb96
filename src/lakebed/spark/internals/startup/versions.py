"""What Lakebed needs: the Sparks that it knows, what differs between them, Java and packages.

Nothing here imports PySpark: the errors are also for where it is missing or too old.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path

from lakebed.errors import UnsupportedSparkError

KNOWN = ((4, 0), (4, 1), (4, 2), (4, 3))
"""Versions whose internals were looked at, and that the tests run on."""
JAVA = 17
"""The oldest Java that these Sparks run on."""

_COMMON = "all_versions"
_SINCE = {(4, 0): "spark_4_0", (4, 1): "spark_4_1"}
"""Folders of Java sources by the first version that they are for."""

_INSTALL = "pip install 'lakebed[spark]', which brings a PySpark that Lakebed knows"
_INSTALL_JAVA = (
    "install Java 17 or newer and let JAVA_HOME name its folder: "
    "apt install openjdk-17-jre-headless, or brew install --cask temurin"
)


def parsed(version: str) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None:
        raise UnsupportedSparkError(f"{version!r} is not a version of Spark", hint=_INSTALL)
    return int(found[1]), int(found[2])


def source_folders(version: str) -> tuple[str, str]:
    """The folders of Java sources for a version of Spark. A newer one gets those of the newest."""
    given = parsed(version)
    if given < KNOWN[0]:
        raise _too_old(version)
    newest = max(each for each in _SINCE if each <= given)
    return _COMMON, _SINCE[newest]


def does_not_fit(version: str, missing: str) -> UnsupportedSparkError:
    """The error for a Spark without something that Lakebed's Java classes use."""
    known = f"Lakebed knows Spark {_shown(KNOWN[0])} to {_shown(KNOWN[-1])}"
    why = f"{known}, and this Spark is newer" if parsed(version) > KNOWN[-1] else known
    return UnsupportedSparkError(
        f"Lakebed does not fit Spark {version}: {missing}. {why}", hint=_INSTALL
    )


def refuse_import(name: str, error: ImportError) -> None:
    """Raises what to install if `name` cannot be imported because of PySpark or a package of it."""
    found = _pyspark_version()
    is_missing = (error.name or "").partition(".")[0] == "pyspark"
    if found is None:
        if is_missing:
            raise UnsupportedSparkError(
                f"{name} needs PySpark: there is no module {error.name}", hint=_INSTALL
            ) from error
    elif parsed(found) < KNOWN[0]:
        raise _too_old(found) from error
    elif is_missing:
        missing = f"{name} cannot be imported: {error}"
        raise does_not_fit(found, missing) from error
    else:
        _refuse_package(error)


@contextmanager
def explained_start() -> Iterator[None]:
    """Where Spark does not start: what is missing on this machine, instead of a trace."""
    try:
        yield
    except ImportError as error:
        _refuse_package(error)
        raise
    except RuntimeError as error:
        if "JAVA_GATEWAY_EXITED" not in str(error):
            raise
        fault = java_fault()
        if fault is None:
            raise
        raise UnsupportedSparkError(
            f"Spark needs Java {JAVA} or newer, and {fault}", hint=_INSTALL_JAVA
        ) from error


def java_fault() -> str | None:
    """What is wrong with the Java that Spark starts; None if nothing is."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        return "there is no java on the PATH, and JAVA_HOME is not set"
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return f"{java} (from JAVA_HOME) cannot be started"
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    if found is None:
        return f"{java} does not say its version"
    return f"{java} is version {found[1]}" if int(found[1]) < JAVA else None


def _refuse_package(error: ImportError) -> None:
    """PySpark raises such errors for packages that are missing or too old, with a condition."""
    if "PACKAGE" not in str(getattr(error, "getCondition", str)() or ""):
        return
    found = re.search(r"(\w+) >= ([\d.]+)", str(error))
    package = f"'{found[1].lower()}>={found[2]}'" if found else "'lakebed[connect]'"
    if found and found[1].lower() == "pandas":
        package = f"'pandas>={found[2]},<3'"
    raise UnsupportedSparkError(
        f"PySpark cannot use a package: {error}", hint=f"pip install {package}"
    ) from error


def _too_old(version: str) -> UnsupportedSparkError:
    return UnsupportedSparkError(
        f"Lakebed needs Spark {_shown(KNOWN[0])} or newer, and this is Spark {version}",
        hint=f"pip install 'pyspark>={_shown(KNOWN[0])},<{KNOWN[-1][0]}.{KNOWN[-1][1] + 1}'",
    )


def _pyspark_version() -> str | None:
    try:
        import pyspark
    except ImportError:
        return None
    try:
        return str(getattr(pyspark, "__version__", None) or installed_version("pyspark"))
    except PackageNotFoundError:
        return None


def _shown(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
