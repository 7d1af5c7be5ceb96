"""A small project around the real launcher, on a machine whose PATH holds only what a test puts
there. Nothing here needs a package index: the project builds itself."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PYPROJECT = """\
[build-system]
requires = []
build-backend = "build_itself"
backend-path = ["."]

[project]
name = "lakebed"
version = "0"

[project.optional-dependencies]
demo = []
dev = []
"""

BUILD_ITSELF = """\
import pathlib, zipfile

INFO = "lakebed-0.dist-info"
FILES = {
    "lakebed_here.pth": str(pathlib.Path.cwd() / "src") + "\\n",
    f"{INFO}/METADATA": "Metadata-Version: 2.1\\nName: lakebed\\nVersion: 0\\n"
    "Provides-Extra: demo\\nProvides-Extra: dev\\n",
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    f"{INFO}/RECORD": "",
}

def build_editable(folder, config_settings=None, metadata_directory=None):
    with open("installs.log", "a") as log:
        log.write("installed\\n")
    name = "lakebed-0-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder, name), "w") as wheel:
        for path, text in FILES.items():
            wheel.writestr(path, text)
    return name
"""

DEMO = """\
import pathlib, sys
import lakebed
print("demo in", sys.prefix)
print("called in", pathlib.Path.cwd())
print("with", sys.argv[1:])
"""

# Stands for pytest, coverage, ruff and mypy: says how it was called, and fails if a test wants it.
TOOL = """\
import os, pathlib, sys
from importlib.metadata import PackageNotFoundError, version
try:
    spark = version("pyspark")
except PackageNotFoundError:
    spark = "none"
name = pathlib.Path(__file__).stem
print(name, sys.argv[1:], "Spark", spark, "workers", os.environ["PYSPARK_PYTHON"])
sys.exit(os.environ.get("FAILS", "nothing") in " ".join([name, *sys.argv[1:]]))
"""


@dataclass
class Machine:
    """`root` is a checkout; `bin` is all of the PATH, next to the basic commands of any system."""

    root: Path
    bin: Path
    environ: dict[str, str] = field(default_factory=dict)

    def command(self, name: str, script: str) -> None:
        file = self.bin / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def python(self, name: str = "python3", *, before: str = "") -> None:
        """The Python that runs the tests; `before` is Python that runs ahead of a script in it."""
        real = shlex.quote(sys.executable)
        if not before:
            self.command(name, f'exec {real} "$@"')
            return
        start = "import runpy, sys; sys.argv = sys.argv[1:]; sys.path.insert(0, sys.argv[0][:-7])"
        code = shlex.quote(f"{start}\n{before}\nrunpy.run_path(sys.argv[0], run_name='__main__')")
        self.command(
            name,
            f'if [ "$1" = -c ]; then exec {real} "$@"; fi\n'
            f'while [ "${{1#-}}" != "$1" ]; do shift; done\nexec {real} -c {code} "$@"',
        )

    def old_python(self, name: str, version: str) -> None:
        """Answers like an old Python: it prints its version and fails the test for a newer one."""
        self.command(name, f'case "$2" in *print*) echo {version};; *) exit 1;; esac')

    def java(self, version: str) -> None:
        self.command("java", f"echo 'openjdk version \"{version}\" 2024-01-16' >&2")

    def offer(self, package: str, *versions: str) -> None:
        """Makes pip find these versions of an empty package, and nothing else."""
        folder = self.root / "packages"
        folder.mkdir(exist_ok=True)
        for version in versions:
            info = f"{package}-{version}.dist-info"
            with zipfile.ZipFile(folder / f"{package}-{version}-py3-none-any.whl", "w") as wheel:
                about = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
                wheel.writestr(f"{info}/METADATA", about)
                tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
                wheel.writestr(f"{info}/WHEEL", tags)
                wheel.writestr(f"{info}/RECORD", "")
        self.environ.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=folder.as_uri())

    def run(self, *arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.root / "run"), *arguments],
            cwd=folder or self.root,
            env={"PATH": str(self.bin), "HOME": str(self.root), **self.environ},
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def stamp(self) -> Path:
        return self.root / ".venv" / "lakebed-installed.json"

    @property
    def installs(self) -> int:
        log = self.root / "installs.log"
        return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A checkout in a folder with spaces; neither Python nor Java is installed."""
    return _checkout(tmp_path)


@pytest.fixture
def ready_machine(machine: Machine) -> Machine:
    """With a Python that works and Java 17."""
    return _equip(machine)


@pytest.fixture(scope="session")
def finished_machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Where `./run demo` has set up everything. Made once, for all tests, which do not change it:
    a real virtual environment takes seconds."""
    machine = _equip(_checkout(tmp_path_factory.mktemp("finished")))
    done = machine.run("demo")
    assert done.returncode == 0, done.stderr
    return machine


@pytest.fixture
def used_machine(ready_machine: Machine, finished_machine: Machine) -> Machine:
    """A copy of the finished machine that a test may break."""
    shutil.copytree(finished_machine.root / ".venv", ready_machine.root / ".venv", symlinks=True)
    stamp = ready_machine.stamp.read_text()
    ready_machine.stamp.write_text(
        stamp.replace(str(finished_machine.root), str(ready_machine.root))
    )
    return ready_machine


def _checkout(folder: Path) -> Machine:
    root = folder / "a folder" / "lake bed"
    shutil.copytree(ROOT / "tools", root / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "run", root / "run")
    (root / "pyproject.toml").write_text(PYPROJECT)
    (root / "build_itself.py").write_text(BUILD_ITSELF)
    (root / "src" / "lakebed").mkdir(parents=True)
    (root / "src" / "lakebed" / "__init__.py").touch()
    for tool in ("pytest", "ruff", "mypy", "coverage"):
        (root / "src" / f"{tool}.py").write_text(TOOL)
    (root / "examples").mkdir()
    (root / "examples" / "demo.py").write_text(DEMO)
    return Machine(root, _basic_commands(folder / "bin"))


def _equip(machine: Machine) -> Machine:
    machine.python()
    machine.java("17.0.15")
    return machine


def _basic_commands(folder: Path) -> Path:
    folder.mkdir()
    for name in ("sh", "cat", "dirname"):
        real = shutil.which(name)
        assert real is not None
        (folder / name).symlink_to(real)
    return folder
