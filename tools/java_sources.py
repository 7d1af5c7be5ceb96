"""Checks Lakebed's Java: its form, and what javac says about it with the jars of each Spark.

`./run check` calls it with the Python of `.venv`. Sessions compile the same sources with Janino;
javac sees more, such as a method that overrides nothing, and knows the generics of Spark's API.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "lakebed" / "spark" / "java"
BODIES = ROOT / "src" / "lakebed" / "spark" / "internals"
"""Java that Spark's executors compile: bodies of classes, as the code is that Spark generates."""
COLUMNS, LINES = 100, 600
SKIPPED = 77
"""The exit status of a check that cannot be made on this machine."""

# Janino, which compiles these sources for users, has no generics: types are raw, and what comes
# out of a collection is cast where javac would not need it. "path" is about Spark's own jars.
_LINT = "-Xlint:all,-rawtypes,-unchecked,-cast,-path"
# What Spark imports into the code that it generates, as far as Lakebed's bodies use it.
_IMPORTS = (
    "import org.apache.spark.sql.catalyst.InternalRow; "
    "import org.apache.spark.unsafe.types.UTF8String;"
)
_JAVAC = (
    "-proc:none",
    "-XDsuppressNotes",
    "--release",
    "17",
    "-Werror",
    "-Xmaxerrs",
    "100",
    "-Xmaxwarns",
    "100",
)


def main(arguments: list[str]) -> int:
    """The arguments are environments to take Sparks from; by default all of the project."""
    faults = [fault for file in _java_files() for fault in faults_of(file)]
    print("\n".join(faults))
    javac = shutil.which("javac")
    if javac is None:
        print(
            "Java is not checked: there is no javac. Install a JDK, such as openjdk-17-jdk-headless"
        )
        return 1 if faults else SKIPPED
    environments = [Path(each) for each in arguments] or sorted(ROOT.glob(".venv*"))
    jars = [
        found for each in environments for found in each.glob("lib/*/site-packages/pyspark/jars")
    ]
    statuses = [compile_with(javac, each) for each in jars]
    return int(bool(faults) or any(statuses) or not statuses)


def faults_of(file: Path) -> Iterator[str]:
    """What is wrong with the form of a file, one line each."""
    lines = file.read_text(encoding="utf-8").splitlines()
    name = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
    if len(lines) > LINES:
        yield f"{name}: has {len(lines)} lines, more than {LINES}"
    for number, line in enumerate(lines, 1):
        for fault in _faults_of_line(line):
            yield f"{name}:{number}: {fault}"


def compile_with(javac: str, jars: Path) -> int:
    """The exit status of javac, for the sources that belong to the Spark of these jars."""
    # Late: without javac nothing has to be installed.
    from lakebed.spark.internals.startup.versions import source_folders

    version = spark_version(jars)
    print(f"javac with Spark {version}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        texts = [str(file) for name in source_folders(version) for file in _below(SOURCES / name)]
        texts += [str(file) for file in _whole_units(Path(folder))]
        command = [javac, _LINT, *_JAVAC, "-cp", f"{jars}/*", "-d", folder, *texts]
        return subprocess.run(command, check=False).returncode


def spark_version(jars: Path) -> str:
    (core,) = jars.glob("spark-core_*.jar")
    return core.stem.partition("-core_")[2].partition("-")[2]


def _whole_units(folder: Path) -> Iterator[Path]:
    """The bodies of classes as files that javac takes, with the same numbers of lines."""
    for body in _below(BODIES):
        unit = folder / f"Generated{body.name}"
        head = f"{_IMPORTS} class {unit.stem} {{"
        unit.write_text(f"{head} {body.read_text(encoding='utf-8')}}}\n", encoding="utf-8")
        yield unit


def _faults_of_line(line: str) -> Iterator[str]:
    if len(line) > COLUMNS:
        yield f"is {len(line)} columns wide, more than {COLUMNS}"
    if "\t" in line:
        yield "has a tab"
    if line != line.rstrip():
        yield "ends with blanks"
    indent = len(line) - len(line.lstrip(" "))
    # The lines of a comment between /** and */ begin one column to the right.
    if (indent - (line.lstrip().startswith("*"))) % 2:
        yield "is indented by an odd number of blanks"


def _java_files() -> list[Path]:
    return [*_below(SOURCES), *_below(BODIES)]


def _below(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.java"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
