"""The project's virtual environments: made when missing, remade when broken, and installed into
only when `pyproject.toml` changed since the last time.

`.venv` has the newest Spark. There may be one more for each other Spark, which holds PySpark alone
and takes all other packages from `.venv`: seconds and a quarter of the disk of a whole environment.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from requirements import RequirementError, require_venv

# `dev` contains `demo`, so an environment made for the tests runs the demo as it is.
DEMO, DEV = "demo", "dev"

# These would send pip, the Python in the environment, or its Spark, somewhere else.
_LEAKS = (
    *("PYTHONHOME", "PYTHONPATH", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "__PYVENV_LAUNCHER__"),
    *("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS"),
)
_PROBE = "import sys, pip; sys.exit(sys.version_info < (3, 10))"

# Added behind the packages of the environment that has this file: its own PySpark comes first.
_SHARED = "lakebed_shared_packages.pth"

_PIP_ADVICE = """\
The packages could not be installed: pip failed, see above.
pip needs to reach a package index. Behind a proxy set HTTPS_PROXY, for an index of your own
PIP_INDEX_URL; then run the same command again."""


class Environment:
    """`.venv` under `root`; with `spark`, an environment beside it.

    `spark` is 4.1 for the newest release of 4.1, or an exact version such as 4.2.0.dev5.
    """

    def __init__(self, root: Path, spark: str | None = None) -> None:
        self.root = root
        self.spark = spark
        self.folder = root / (f".venv-spark-{spark}" if spark else ".venv")
        self.python = self.folder / "bin" / "python"
        self._stamp = self.folder / "lakebed-installed.json"
        self._unfinished = self.folder / "lakebed-installing"

    def ensure(self, extra: str) -> None:
        """Afterwards the package and its `extra` dependencies are installed."""
        if self.spark is not None:
            Environment(self.root).ensure(extra)
        with _locked(self.root / "pyproject.toml"):
            if self._is_current(extra):
                return
            if not self._is_sound():
                self._make()
            if self._read_stamp().get("extra") == DEV:
                extra = DEV
            self._stamp.unlink(missing_ok=True)
            if self.spark is None:
                self._install(extra)
            else:
                self._install_spark(self.spark)
            self._stamp.write_text(json.dumps(self._stamp_for(extra)), encoding="utf-8")

    def run(
        self, arguments: list[str], folder: Path | None = None, output: IO[bytes] | None = None
    ) -> int:
        """The exit status of this environment's Python, by default called in the root.

        All that it prints goes to `output`, if there is one.
        """
        command = [str(self.python), *arguments]
        # Spark starts its workers with the first python3 of the PATH, unless it is told otherwise.
        environ = {**_clean_environ(), "PYSPARK_PYTHON": str(self.python)}
        errors = None if output is None else subprocess.STDOUT
        cwd = folder or self.root
        return subprocess.run(
            command, cwd=cwd, env=environ, stdout=output, stderr=errors, check=False
        ).returncode

    def _is_current(self, extra: str) -> bool:
        stamp = self._read_stamp()
        wanted = self._stamp_for(extra)
        return stamp in (wanted, {**wanted, "extra": DEV}) and self._is_sound()

    def _is_sound(self) -> bool:
        """Whether Python and pip start and know their way: not after an interrupted set-up, a
        move of the project, or an upgrade of the Python that the environment was made from."""
        moved = self._read_stamp().get("root", str(self.root)) != str(self.root)
        if moved or self._unfinished.exists() or not (self.folder / "pyvenv.cfg").is_file():
            return False
        try:
            probe = [str(self.python), "-c", _PROBE]
            done = subprocess.run(probe, capture_output=True, env=_clean_environ(), check=False)
        except OSError:
            return False
        return done.returncode == 0

    def _make(self) -> None:
        require_venv()
        again = self.folder.exists() or self.folder.is_symlink()
        verb = "Remaking the broken" if again else "Creating"
        _say(f"{verb} {self.folder.name} with {sys.executable}")
        _remove(self.folder)
        command = [sys.executable, "-m", "venv", str(self.folder)]
        if subprocess.run(command, env=_clean_environ(), check=False).returncode != 0:
            raise RequirementError(f"{' '.join(command)} failed, see above.")

    def _install(self, extra: str) -> None:
        _say(f"Installing lakebed[{extra}] into {self.folder.name} (once, a minute or two)")
        # Editable installs need pip 21.3; the first Pythons 3.10 came with an older one.
        self._pip_install(["pip>=21.3"])
        self._pip_install(["--editable", f".[{extra}]"])

    def _install_spark(self, spark: str) -> None:
        """PySpark and what it requires; everything else is found in `.venv`."""
        packages = self._packages()
        # pip must not take the PySpark of `.venv` for one that it can replace.
        (packages / _SHARED).unlink(missing_ok=True)
        exact = spark.count(".") > 1
        wanted = f"pyspark=={spark}" if exact else f"pyspark~={spark}.0"
        _say(f"Installing {wanted} into {self.folder.name} (once)")
        self._pip_install([wanted])
        shared = Environment(self.root)._packages()
        line = f"import site; site.addsitedir({str(shared)!r})\n"
        (packages / _SHARED).write_text(line, encoding="utf-8")

    def _packages(self) -> Path:
        script = "import sysconfig; print(sysconfig.get_path('purelib'))"
        command = [str(self.python), "-c", script]
        environ = _clean_environ()
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
        return Path(done.stdout.strip())

    def _pip_install(self, target: list[str]) -> None:
        # A pip that was killed leaves packages that no later pip can mend; one that fails does not.
        self._unfinished.touch()
        status = self.run(
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", *target]
        )
        if status >= 0:
            self._unfinished.unlink()
        if status != 0:
            raise RequirementError(_PIP_ADVICE)

    def _stamp_for(self, extra: str) -> dict[str, str]:
        digest = hashlib.sha256((self.root / "pyproject.toml").read_bytes()).hexdigest()
        stamp = {"root": str(self.root), "pyproject": digest, "extra": extra}
        return {**stamp, "spark": self.spark} if self.spark else stamp

    def _read_stamp(self) -> dict[str, str]:
        """Empty if there is none that can be read: then everything is installed again."""
        try:
            stamp = json.loads(self._stamp.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return stamp if isinstance(stamp, dict) else {}


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    """One set-up at a time, also when two are started in two terminals."""
    with file.open("rb") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _clean_environ() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _LEAKS}


def _say(text: str) -> None:
    print(f"==> {text}", file=sys.stderr, flush=True)
