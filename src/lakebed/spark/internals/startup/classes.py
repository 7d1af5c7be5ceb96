"""Lakebed's Java classes: compiled by Spark's compiler into a folder that Spark loads them from.

Spark finds sources, catalogs and extensions by the names of their classes. The folder is a cache
for one version of Spark and one text of the sources. `class_path` is for a Spark that is not
running yet. Tests are in `test_java_classes` and `test_spark_commands`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaClass
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway

from lakebed.errors import UnsupportedSparkError
from lakebed.settings.setting_table import CACHE
from lakebed.spark.internals.startup.versions import does_not_fit, explained_start, source_folders

if TYPE_CHECKING:
    from importlib.abc import Traversable

SOURCE = "org.apache.spark.sql.sources.DataSourceRegister"
PACKAGE = "lakebed"


def load_classes(gateway: Any, spark_version: str) -> None:
    """Makes the classes known to the JVM, once. They are compiled if no cache has them."""
    if not vars(gateway).get(_LOADED):
        jvm = gateway.jvm
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        present = loader.getResource(f"{PACKAGE}/bridge/Bridge.class")
        if present is None:
            folder = class_folder(gateway, spark_version)
            loader.addURL(jvm.java.io.File(str(folder)).toURI().toURL())
        else:
            _check_same(Path(str(present.getPath())).parents[2], spark_version)
        vars(gateway)[_LOADED] = True


def class_path(spark_home: str | None = None) -> list[Path]:
    """The folders with the classes for a Spark, and with the path of Lakebed's Python."""
    home = Path(spark_home or _find_spark_home())
    version = _version(home)
    with_connect = any((home / "jars").glob("spark-connect_*.jar"))
    folder, is_ready = cached_folder(version, with_connect=with_connect)
    if not is_ready:
        with _jvm(home) as gateway:
            folder = class_folder(gateway, version)
    return [folder, interpreter_folder()]


_LOADED = "_lakebed_classes"


def _check_same(present: Path, spark_version: str) -> None:
    """The class path of the JVM may have classes, as `lakebed classpath` prints them."""
    if present.name not in {_folder_name(spark_version, with_connect=e) for e in (True, False)}:
        raise UnsupportedSparkError(
            f"the class path has Lakebed's classes for another Lakebed or Spark: {present}",
            hint="start Spark again with --driver-class-path $(lakebed classpath)",
        )


def _folder_name(spark_version: str, *, with_connect: bool) -> str:
    return f"{spark_version}-{_digest(list(_sources(spark_version, with_connect)))}"


def new_instance(gateway: Any, name: str) -> Any:
    """One object of a class of Lakebed's, kept for the JVM."""
    known = vars(gateway).setdefault("_lakebed_instances", {})
    if name not in known:
        known[name] = JavaClass(name, gateway._gateway_client)()
    return known[name]


def class_folder(gateway: Any, spark_version: str) -> Path:
    """The folder with the classes for this Spark."""
    with_connect = has_connect(gateway)
    folder, is_ready = cached_folder(spark_version, with_connect=with_connect)
    if is_ready:
        return folder
    sources = list(_sources(spark_version, with_connect))
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    try:
        _compile(gateway, sources, new, spark_version)
        services = new / "META-INF" / "services"
        services.mkdir(parents=True)
        (services / SOURCE).write_text(f"{PACKAGE}.DeltaSource\n", encoding="utf-8")
        new.rename(folder)
    except OSError:
        # Another process was faster, and has compiled the same.
        if not (folder / "META-INF").is_dir():
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return folder


def has_connect(gateway: Any) -> bool:
    """Whether the class path has Spark Connect's server; builds of Spark may leave it out."""
    loader = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return loader.getResource(_CONNECT_PLUGIN) is not None


_CONNECT_PLUGIN = "org/apache/spark/sql/connect/plugin/RelationPlugin.class"
_NEED_CONNECT = frozenset({f"{PACKAGE}/TableCalls.java"})
"""Sources that compile only where the server of Spark Connect is on the class path."""


def cached_folder(spark_version: str, *, with_connect: bool) -> tuple[Path, bool]:
    """Where the classes for a Spark belong, and whether they are there."""
    folder = _cache() / _folder_name(spark_version, with_connect=with_connect)
    return folder, (folder / "META-INF").is_dir()


def interpreter_folder() -> Path:
    """A folder for the class path that says which Python has Lakebed (see `PythonProcess`)."""
    name = hashlib.sha256(sys.executable.encode()).hexdigest()[:16]
    folder = _cache().parent / "python" / name
    (folder / PACKAGE).mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder / PACKAGE / "python").write_text(sys.executable, encoding="utf-8")
    return folder


def _sources(spark_version: str, with_connect: bool) -> Iterator[tuple[str, str]]:
    """The path of each file below its folder, and its text."""
    root = files("lakebed.spark") / "java"
    for folder in source_folders(spark_version):
        for name, text in _java_files(root / folder, ""):
            if with_connect or name not in _NEED_CONNECT:
                yield name, text


def _java_files(folder: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    for each in sorted(folder.iterdir(), key=lambda path: path.name):
        if each.is_dir():
            yield from _java_files(each, f"{prefix}{each.name}/")
        elif each.name.endswith(".java"):
            yield f"{prefix}{each.name}", each.read_text("utf-8")


def _digest(sources: list[tuple[str, str]]) -> str:
    digest = hashlib.sha256()
    for name, text in sources:
        digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()[:16]


def _cache() -> Path:
    given = CACHE.read(os.environ)
    if given:
        return Path(given) / "classes"
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(base) / "lakebed" / "classes"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        # A home that cannot be written to, as containers have.
        return Path(tempfile.gettempdir()) / f"lakebed-{os.getuid()}" / "classes"
    return folder


def _compile(gateway: Any, sources: list[tuple[str, str]], into: Path, version: str) -> None:
    jvm = gateway.jvm
    folder = Path(tempfile.mkdtemp(prefix="lakebed-java-"))
    try:
        array = gateway.new_array(jvm.java.io.File, len(sources))
        for place, (name, text) in enumerate(sources):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
            array[place] = jvm.java.io.File(str(folder / name))
        compiler = jvm.org.codehaus.janino.Compiler()
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(loader))
        compiler.setDestinationDirectory(jvm.java.io.File(str(into)), False)
        # Older versions have no static methods in interfaces, which Scala's traits have.
        compiler.setTargetVersion(8)
        compiler.setSourceVersion(8)
        compiler.compile(array)
    except Exception as error:
        raise does_not_fit(version, _missing(error, folder)) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _missing(error: Exception, folder: Path) -> str:
    """What the compiler says, without Java's trace and without the folder of this compilation."""
    cause = getattr(error, "java_exception", None)
    message = str(error if cause is None else cause.getMessage())
    return f"{PACKAGE}: {message.splitlines()[0].replace(f'{folder}/', '')}".rstrip(".")


def _version(home: Path) -> str:
    names = sorted(each.name for each in (home / "jars").glob("spark-core_*.jar"))
    found = [match[1] for match in map(_CORE.fullmatch, names) if match]
    if len(found) != 1:
        raise UnsupportedSparkError(
            f"there is no Spark in {home}",
            hint="--spark-home is the folder with bin and jars of a Spark",
        )
    return found[0]


@contextmanager
def _jvm(home: Path) -> Iterator[Any]:
    """A JVM with Spark's JARs, without a SparkContext."""
    before = os.environ.get("SPARK_HOME")
    os.environ["SPARK_HOME"] = str(home)
    try:
        # What Java writes is not part of the command's output.
        with explained_start():
            gateway = launch_gateway(popen_kwargs={"stdout": sys.stderr})
    finally:
        if before is None:
            del os.environ["SPARK_HOME"]
        else:
            os.environ["SPARK_HOME"] = before
    process: subprocess.Popen[bytes] = gateway.proc
    try:
        yield gateway
    finally:
        gateway.shutdown()
        if process.stdin is not None:
            process.stdin.close()
        process.wait()


_CORE = re.compile(r"spark-core_[\d.]+-(\d.*)\.jar")
