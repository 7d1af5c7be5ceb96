"""`lakebed run`: complete programs for delta-spark in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

PROGRAMS = Path(__file__).parent / "delta_programs"
_MAIN = "import sys; from lakebed.cli.main import main; sys.exit(main())"
_LOCAL = ["--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.ui.enabled=false"]

READINGS = """\
created [0, 1, 2, 3, 4]
overwritten [5, 6, 7, 8, 9]
updated [5, 7, 9, 106, 108]
deleted [5, 7, 9]
merged [0, 1, 2, 3, 4, 6, 9, 1005, 1007]
version 0 [0, 1, 2, 3, 4]
0 WRITE
1 WRITE
2 UPDATE
3 DELETE
4 MERGE
last MERGE delta
checkpoints ['00000000000000000010.checkpoint.parquet']
hint True
manifest True
vacuumed True [0, 1, 2]
converted True False
people [Row(name='Ada', year=1815)]
2 1
missing TableNotFoundError
enforced True
no such column
conflict ConcurrentAppendException
done
"""

STOCK = """\
['--shelf', '-m'] 7 stock
[('nail', 14), ('screw', 10)]
3 7
second true
"""

# Delta's settings as clusters have them.
DEFAULTS = """\
spark.sql.extensions io.delta.sql.DeltaSparkSessionExtension
spark.sql.catalog.spark_catalog org.apache.spark.sql.delta.catalog.DeltaCatalog
"""
SUBMIT = "--packages io.delta:delta-spark_2.13:4.0.0 --master local[2] pyspark-shell"


def run(
    *arguments: str, cwd: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    given = {**os.environ, **(environment or {})}
    return subprocess.run(
        [sys.executable, "-c", _MAIN, "run", *arguments],
        cwd=cwd,
        env=given,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


def test_a_textbook_program_for_delta_spark_runs_unchanged(java: None, tmp_path: Path) -> None:  # noqa: ARG001
    done = run(*_LOCAL, str(PROGRAMS / "readings.py"), str(tmp_path), cwd=tmp_path)
    assert done.stdout == READINGS, done.stderr
    assert done.returncode == 0


def test_settings_for_delta_spark_from_outside_the_program_do_no_harm(
    java: None,  # noqa: ARG001
    tmp_path: Path,
) -> None:
    """Of spark-defaults.conf and PYSPARK_SUBMIT_ARGS; with `-m`, an exit code, a second start."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(DEFAULTS)
    environment = {
        "SPARK_CONF_DIR": str(tmp_path / "conf"),
        "PYSPARK_SUBMIT_ARGS": SUBMIT,
        "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(PROGRAMS)]),
    }
    settings = ["--conf", "spark.stock.shelf=7", *_LOCAL]
    done = run(*settings, "-m", "stock", "--shelf", "-m", cwd=tmp_path, environment=environment)
    assert done.stdout == STOCK, done.stderr
    assert done.returncode == 3


# --- without Spark -----------------------------------------------------------------------------


def write(folder: Path, text: str) -> str:
    (folder / "program.py").write_text(text)
    return "program.py"


def test_a_program_sees_what_python_shows_it(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("NAME = 'neighbour'")
    text = (
        "import atexit, sys, delta, neighbour, __main__\n"
        "print(__name__, __file__, sys.argv, neighbour.NAME, delta.__version__)\n"
        "print(__main__.neighbour is neighbour, sys.path[0])\n"
        "atexit.register(lambda: print('end', sys.modules['__main__'].neighbour.NAME))\n"
    )
    done = run(write(tmp_path, text), "--conf", "a b", "--help", cwd=tmp_path)
    assert done.stdout.splitlines() == [
        f"__main__ {tmp_path / 'program.py'} ['program.py', '--conf', 'a b', '--help'] "
        "neighbour 4.4.0",
        f"True {tmp_path.resolve()}",
        "end neighbour",
    ]
    assert (done.returncode, done.stderr) == (0, "")


def test_an_error_of_the_program_is_shown_as_python_shows_it(tmp_path: Path) -> None:
    program = write(tmp_path, "def divide():\n    return 1 / 0\n\n\ndivide()\n")
    plain = subprocess.run(
        [sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    done = run(program, cwd=tmp_path)
    assert done.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert done.stderr == plain.stderr
    assert done.returncode == plain.returncode == 1


def test_a_folder_with_a_main_module_is_a_program(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__main__.py").write_text("import sys\nprint(__name__, sys.argv)\n")
    done = run("shop", "x", cwd=tmp_path)
    assert done.stdout == "__main__ ['shop', 'x']\n", done.stderr


def test_a_program_that_python_cannot_compile_ends_with_1(tmp_path: Path) -> None:
    done = run(write(tmp_path, "x = (\n"), cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("SyntaxError")
    assert "runpy" not in done.stderr
    assert "Traceback" not in done.stderr


def test_exit_messages_go_to_the_error_stream(tmp_path: Path) -> None:
    done = run(write(tmp_path, "import sys\nsys.exit('no stock')\n"), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "no stock\n")


def test_a_program_that_is_not_there_is_a_wrong_argument(tmp_path: Path) -> None:
    done = run("absent.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "can't open file 'absent.py'" in done.stderr


def test_a_setting_without_a_value_is_a_wrong_argument(tmp_path: Path) -> None:
    done = run("--conf", "spark.ui.enabled", write(tmp_path, ""), cwd=tmp_path)
    assert done.returncode == 2
    assert "KEY=VALUE" in done.stderr


def test_a_module_that_is_not_there_ends_with_1(tmp_path: Path) -> None:
    done = run("-m", "no_such_module", cwd=tmp_path)
    assert done.returncode == 1
    assert "No module named no_such_module" in done.stderr
