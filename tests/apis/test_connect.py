"""Clients of Spark Connect at `lakebed server`, in an environment that has no Lakebed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from server_process import Server

# Tests of Lakebed install it beside PySpark: the client gets a folder with links to the rest.
_OURS = ("lakebed", "__editable__")


def without_lakebed(folder: Path) -> Path:
    """Where packages are found first, they are taken: an older Spark has a folder of its own."""
    folder.mkdir()
    found = [Path(each) for each in sys.path if Path(each).name == "site-packages"]
    for package in [package for packages in found for package in packages.iterdir()]:
        link = folder / package.name
        if package.name.startswith(_OURS) or package.suffix == ".pth" or link.is_symlink():
            continue
        link.symlink_to(package)
    return folder


def test_plain_clients_read_write_and_stream(server: Server, tmp_path: Path) -> None:
    client = Path(__file__).parent / "connect_client.py"
    packages = without_lakebed(tmp_path / "packages")
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    # -S: no site-packages, so that PYTHONPATH is all there is.
    ran = subprocess.run(
        [sys.executable, "-S", str(client), server.address, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "all right" in ran.stdout, ran.stderr[-3000:]
    ids = [row[0] for row in server.rows("t")]
    assert sorted(ids) == sorted([1, 2, 3, 9, 10, *range(8)])
    assert len(server.rows("copied")) == 5
