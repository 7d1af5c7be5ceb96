"""Servers of object stores for the tests, from the registries of their languages, into `.stores`.

Each is installed once, in bounded time. One that cannot be had is left out: its tests are skipped
and say so. Standard library only, like `./run`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from environment import Environment

FOLDER = ".stores"
TESTS = "tests/stores"
SECONDS = 600
_VERSITYGW = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
_AZURITE = "azurite@3"
_CONNECTORS = ("hadoop-aws", "hadoop-azure")
_DOWNLOAD = """\
import sys, lakebed
lakebed.session("connector", master="local[1]", stores=["s3", "azure"], spark_ui_enabled=False,
                spark_driver_host="127.0.0.1", spark_jars_ivy=sys.argv[1]).stop()
"""


def install_s3(root: Path) -> None:
    """versitygw, by Go."""
    folder = (root / FOLDER / "bin").resolve()
    if not (folder / "versitygw").exists():
        _try("versitygw", ["go", "install", _VERSITYGW], {"GOBIN": str(folder)})


def install_all(environment: Environment) -> None:
    """Also Azurite, by npm, and Hadoop's connectors, by Spark itself."""
    root = environment.root
    install_s3(root)
    folder = (root / FOLDER).resolve()
    if not (folder / "node_modules" / "azurite").exists():
        _try("Azurite", ["npm", "install", "--prefix", str(folder), _AZURITE], {})
    ivy = folder / "ivy"
    jars = [ivy.glob(f"jars/org.apache.hadoop_{name}-*.jar") for name in _CONNECTORS]
    if not all(map(list, jars)):
        command = [str(environment.python), "-c", _DOWNLOAD, str(ivy)]
        _try(f"{' and '.join(_CONNECTORS)} (700 MB)", command, {})


def _try(name: str, command: list[str], variables: Mapping[str, str]) -> None:
    if shutil.which(command[0]) is None:
        _say(f"{name} is left out: there is no {command[0]}")
        return
    _say(f"Installing {name} (once)")
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        _say(f"{name} is left out: {command[0]} took more than {SECONDS} s")
        return
    if done.returncode != 0:
        _say(f"{name} is left out: {command[0]} failed\n{done.stderr[-2000:]}")


def _say(text: str) -> None:
    print(f"==> {text}", file=sys.stderr, flush=True)
