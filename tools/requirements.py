"""What a machine must have before Lakebed can be set up, and what to install if it does not."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

MINIMUM_JAVA = 17


class RequirementError(Exception):
    """Something is missing; the text says what, and how to install it. Shown as it is."""


def require_venv() -> None:
    """Debian and Ubuntu ship Python without `ensurepip`, which `venv` needs."""
    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if missing:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise RequirementError(
            f"{sys.executable} cannot create virtual environments: "
            f"it has no module {' and no module '.join(missing)}.\n"
            "Install it and run the same command again:\n"
            f"  Debian, Ubuntu   sudo apt install python{version}-venv\n"
            "  macOS            brew install python\n"
            "  conda            conda create -n lakebed python=3.12 && conda activate lakebed\n"
            "To choose another Python: LAKEBED_PYTHON=/path/to/python ./run"
        )


def require_java(environ: Mapping[str, str]) -> int:
    """The major version of the Java that Spark would start: JAVA_HOME first, then the PATH."""
    java = _java_command(environ)
    if java is None:
        raise RequirementError(_java_advice("there is no java on the PATH"))
    major = _java_major(java)
    if major is None:
        raise RequirementError(_java_advice(f"{java} does not start"))
    if major < MINIMUM_JAVA:
        raise RequirementError(_java_advice(f"{java} is version {major}"))
    return major


def parse_java_major(banner: str) -> int | None:
    """The major version in what `java -version` prints; "1.8.0_392" is Java 8."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', banner)
    if match is None:
        return None
    first, second = match.groups()
    return int(second) if first == "1" and second else int(first)


def _java_command(environ: Mapping[str, str]) -> str | None:
    if home := environ.get("JAVA_HOME"):
        return str(Path(home) / "bin" / "java")
    return shutil.which("java", path=environ.get("PATH", os.defpath))


def _java_major(java: str) -> int | None:
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    # Without a JDK macOS has a stub at /usr/bin/java that explains itself and fails.
    return parse_java_major(done.stderr + done.stdout) if done.returncode == 0 else None


def _java_advice(found: str) -> str:
    return (
        f"Spark needs Java {MINIMUM_JAVA} or newer, and {found}.\n"
        "Install it (or point JAVA_HOME at it) and run the same command again:\n"
        "  Debian, Ubuntu   sudo apt install openjdk-17-jre-headless\n"
        "  macOS            brew install --cask temurin\n"
        "  conda            conda install -c conda-forge openjdk=17"
    )
