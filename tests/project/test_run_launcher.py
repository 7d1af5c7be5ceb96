"""`./run` on machines that lack something, and on one that has everything."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Machine

import checks
from environment import Environment

ROOT = Path(__file__).resolve().parents[2]
THIS_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def test_without_a_command_lists_every_command_and_sets_up_nothing(ready_machine: Machine) -> None:
    done = ready_machine.run()
    assert done.returncode == 0
    listed = re.findall(r"^  \./run (\w+)", done.stdout, re.MULTILINE)
    assert list(dict.fromkeys(listed)) == ["demo", "test", "check", "tidy", "bench", "doctor"]
    assert not (ready_machine.root / ".venv").exists()


def test_an_unknown_command_fails_and_lists_the_known_ones(ready_machine: Machine) -> None:
    done = ready_machine.run("deom")
    assert done.returncode == 2
    assert "'deom'" in done.stderr
    assert "./run demo" in done.stderr


# --- Python ------------------------------------------------------------------------------------


def test_without_python_says_what_to_install(machine: Machine) -> None:
    done = machine.run("demo")
    assert done.returncode == 1
    assert "needs Python 3.10 or newer" in done.stderr
    assert "no Python found" in done.stderr
    for hint in ("sudo apt install python3 python3-venv", "brew install python", "conda create"):
        assert hint in done.stderr


def test_with_only_old_pythons_names_them_and_says_what_to_install(machine: Machine) -> None:
    machine.old_python("python3", "3.9")
    machine.old_python("python", "2.7")
    done = machine.run("demo")
    assert done.returncode == 1
    assert "python3 is 3.9, python is 2.7" in done.stderr
    assert "sudo apt install python3" in done.stderr


def test_passes_over_old_and_broken_pythons_to_a_newer_one(machine: Machine) -> None:
    machine.old_python("python3", "3.9")
    machine.command("python3.13", "echo 'command not found' >&2; exit 127")
    machine.python("python3.12")
    assert machine.run().returncode == 0


def test_a_python_chosen_by_hand_is_the_only_one_tried(ready_machine: Machine) -> None:
    ready_machine.old_python("mine", "3.8")
    ready_machine.environ["LAKEBED_PYTHON"] = str(ready_machine.bin / "mine")
    done = ready_machine.run()
    assert done.returncode == 1
    assert "mine is 3.8" in done.stderr


@pytest.mark.parametrize("module", ["ensurepip", "venv"])
def test_a_python_without_venv_says_which_package_has_it(machine: Machine, module: str) -> None:
    machine.java("17.0.15")
    machine.python(before=f"sys.modules[{module!r}] = None")
    done = machine.run("demo")
    assert done.returncode == 1
    assert f"it has no module {module}" in done.stderr
    assert f"sudo apt install python{THIS_PYTHON}-venv" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (machine.root / ".venv").exists()


# --- Java --------------------------------------------------------------------------------------


def test_doctor_accepts_a_machine_with_everything(ready_machine: Machine) -> None:
    done = ready_machine.run("doctor")
    assert done.returncode == 0, done.stderr
    assert "Java 17" in done.stdout


@pytest.mark.parametrize(
    ("version", "major"), [("1.8.0_392", 8), ("11.0.21", 11), ("16", 16)], ids=str
)
def test_doctor_refuses_an_old_java_and_says_what_to_install(
    machine: Machine, version: str, major: int
) -> None:
    machine.python()
    machine.java(version)
    done = machine.run("doctor")
    assert done.returncode == 1
    assert f"is version {major}" in done.stderr
    for hint in ("openjdk-17-jre-headless", "brew install --cask temurin", "openjdk=17"):
        assert hint in done.stderr
    assert "Traceback" not in done.stderr


def test_doctor_without_java_says_what_to_install(machine: Machine) -> None:
    machine.python()
    done = machine.run("doctor")
    assert done.returncode == 1
    assert "there is no java on the PATH" in done.stderr
    assert "openjdk-17-jre-headless" in done.stderr


def test_doctor_refuses_a_java_that_is_only_a_stub(machine: Machine) -> None:
    machine.python()
    machine.command("java", "echo 'Unable to locate a Java Runtime.' >&2; exit 1")
    done = machine.run("doctor")
    assert done.returncode == 1
    assert "does not start" in done.stderr


def test_java_home_comes_before_the_path(ready_machine: Machine, tmp_path: Path) -> None:
    ready_machine.environ["JAVA_HOME"] = str(tmp_path / "no such jdk")
    done = ready_machine.run("doctor")
    assert done.returncode == 1
    assert "no such jdk/bin/java does not start" in done.stderr


# --- the environment ---------------------------------------------------------------------------


def test_first_demo_makes_the_environment_and_installs_once(finished_machine: Machine) -> None:
    assert finished_machine.installs == 1
    again = finished_machine.run("demo")
    assert f"demo in {finished_machine.root}/.venv" in again.stdout
    assert again.stderr == ""
    assert finished_machine.installs == 1


def test_runs_where_it_is_called_with_the_arguments_given(
    used_machine: Machine, tmp_path: Path
) -> None:
    done = used_machine.run("demo", "an argument", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"called in {tmp_path}" in done.stdout
    assert "with ['an argument']" in done.stdout


def test_installs_again_when_pyproject_changed(used_machine: Machine) -> None:
    with (used_machine.root / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    for _ in range(2):
        assert used_machine.run("demo").returncode == 0
    assert used_machine.installs == 1


def test_without_java_the_demo_says_what_to_install_and_what_runs_without(
    machine: Machine,
) -> None:
    machine.python()
    done = machine.run("demo")
    assert done.returncode == 1
    assert "Spark needs Java 17" in done.stderr
    assert "./run demo --no-spark" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_java_the_demo_without_spark_runs(used_machine: Machine) -> None:
    (used_machine.bin / "java").unlink()
    done = used_machine.run("demo", "--no-spark")
    assert done.returncode == 0, done.stderr
    assert "with ['--no-spark']" in done.stdout


def test_a_broken_environment_is_remade(used_machine: Machine) -> None:
    python = used_machine.root / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/no/such/python")
    done = used_machine.run("demo")
    assert done.returncode == 0, done.stderr
    assert "Remaking the broken .venv" in done.stderr
    assert "demo in" in done.stdout


def test_an_environment_without_pip_is_remade(used_machine: Machine) -> None:
    (pip,) = (used_machine.root / ".venv").glob("lib/python*/site-packages/pip")
    shutil.rmtree(pip)
    assert _remakes_the_environment(used_machine)


def test_an_environment_whose_install_was_killed_is_remade(used_machine: Machine) -> None:
    (used_machine.root / ".venv" / "lakebed-installing").touch()
    used_machine.stamp.unlink()
    assert _remakes_the_environment(used_machine)


def test_the_environment_of_a_project_that_was_moved_is_remade(
    used_machine: Machine, tmp_path: Path
) -> None:
    used_machine.root = Path(shutil.move(used_machine.root, tmp_path / "moved"))
    assert _remakes_the_environment(used_machine)


def test_an_unreadable_stamp_only_installs_again(used_machine: Machine) -> None:
    used_machine.stamp.write_text("{")
    done = used_machine.run("demo")
    assert done.returncode == 0, done.stderr
    assert used_machine.installs == 1


def test_when_pip_fails_it_says_what_pip_needs_and_keeps_the_environment(
    used_machine: Machine,
) -> None:
    pyproject = used_machine.root / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace("requires = []", 'requires = ["absent"]'))
    used_machine.environ["PIP_NO_INDEX"] = "1"
    done = used_machine.run("demo")
    assert done.returncode == 1
    assert "absent" in done.stderr
    assert "PIP_INDEX_URL" in done.stderr
    assert "run.py" not in done.stderr
    assert (used_machine.root / ".venv" / "bin" / "python").exists()


# --- tests -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [(), ("--spark", "4.1"), ("--peers",)],
    ids=["all", "another Spark", "peers"],
)
def test_without_java_the_tests_fail_with_advice_instead_of_being_skipped(
    machine: Machine, arguments: tuple[str, ...]
) -> None:
    machine.python()
    done = machine.run("test", *arguments)
    assert done.returncode == 1
    assert "openjdk-17-jre-headless" in done.stderr
    assert not list(machine.root.glob(".venv*"))


@pytest.mark.parametrize("version", ["3.5", "4", "4.x", "newest", ""])
def test_a_spark_that_is_not_supported_is_refused_with_those_that_are(
    ready_machine: Machine, version: str
) -> None:
    done = ready_machine.run("test", "--spark", version)
    assert done.returncode == 1
    assert "--spark {4.0,4.1,4.2,4.3,all}" in done.stderr
    assert not list(ready_machine.root.glob(".venv*"))


def test_another_spark_has_an_environment_of_its_own_with_the_newest_patch(
    ready_machine: Machine,
) -> None:
    ready_machine.offer("pyspark", "4.0.9", "4.1.0", "4.1.2", "4.2.0")
    runs = [
        ready_machine.run("test", "--spark", "4.1"),
        ready_machine.run("test", "--spark=4.1", "tests/a b", "-k", "c"),
    ]
    assert [done.returncode for done in runs] == [0, 0], runs[0].stderr
    python = ready_machine.root / ".venv-spark-4.1" / "bin" / "python"
    suites = list(checks.ON_ANOTHER_SPARK)
    assert f"pytest {suites} Spark 4.1.2 workers {python}" in runs[0].stdout
    assert "pytest ['tests/a b', '-k', 'c'] Spark 4.1.2" in runs[1].stdout
    assert ready_machine.installs == 1


@pytest.mark.parametrize("version", ["4.4", "4.1.1"])
def test_a_spark_that_is_not_known_is_tried_with_java_and_what_must_hold(
    ready_machine: Machine, version: str
) -> None:
    ready_machine.offer("pyspark", "4.1.1", "4.3.0", "4.4.0")
    ready_machine.environ["FAILS"] = "test_plane_contract"
    done = ready_machine.run("test", "--spark", version)
    assert done.returncode == 1
    found = "4.4.0" if version == "4.4" else version
    assert re.search(rf"test_plane_contract.py.* Spark {found} ", done.stdout)
    assert re.findall(r"^ FAILED  (.+?) {2,}", done.stdout, re.MULTILINE) == [f"Spark {version}"]
    # This machine has no javac.
    assert re.search(rf"^skipped  Java {version} ", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("arguments", [(), ("--spark", "all")], ids=["CI", "by hand"])
def test_every_older_spark_must_pass_its_contract_where_changes_land(
    used_machine: Machine, arguments: tuple[str, ...]
) -> None:
    (used_machine.root / ".venv" / "bin" / "lint-imports").write_text("print('lint-imports')")
    used_machine.stamp.write_text(used_machine.stamp.read_text().replace('"demo"', '"dev"'))
    used_machine.offer("pyspark", "4.0.9", "4.1.2", "4.2.1")
    used_machine.environ["FAILS"] = ".pytest_cache/spark-4.1"
    if not arguments:
        used_machine.environ["CI"] = "true"
    done = used_machine.run("test", *arguments)
    assert done.returncode == 1, done.stderr
    assert re.findall(r"^ FAILED  (.+?) {2,}", done.stdout, re.MULTILINE) == ["Spark 4.1"]
    assert re.findall(r"^     ok  (Spark .+?) {2,}", done.stdout, re.MULTILINE) == [
        "Spark 4.0",
        "Spark 4.2",
    ]
    for version in ("4.0.9", "4.1.2", "4.2.1"):
        assert re.search(rf"test_plane_contract.py.* Spark {version} ", done.stdout)
    assert re.findall(r"'-m', 'short', 'tests/peers'\] Spark (\S+)", done.stdout) == ["4.2.1"]
    assert re.findall(r"^     ok  (peers .+?) {2,}", done.stdout, re.MULTILINE) == ["peers on 4.2"]


def test_the_files_of_the_contract_are_there() -> None:
    named = [
        each for each in checks.contract(Environment(ROOT, "4.0")).arguments if "/test_" in each
    ]
    assert named
    assert all((ROOT / each).is_file() for each in named)
    assert all((ROOT / each).is_dir() for each in (*checks.ON_ANOTHER_SPARK, checks.PEERS))


def test_named_tests_run_on_every_spark(used_machine: Machine) -> None:
    used_machine.stamp.write_text(used_machine.stamp.read_text().replace('"demo"', '"dev"'))
    used_machine.offer("pyspark", "4.0.9", "4.1.2", "4.2.1")
    done = used_machine.run("test", "--spark", "all", "tests/a")
    assert done.returncode == 0, done.stderr
    found = re.findall(r"'tests/a'\] Spark (\S+)", done.stdout)
    assert found == ["4.0.9", "4.1.2", "4.2.1", "none"]


def test_the_peers_are_tested_on_the_spark_that_delta_spark_is_for(
    ready_machine: Machine,
) -> None:
    ready_machine.offer("pyspark", "4.1.2", "4.2.0", "4.2.1", "4.3.0")
    (ready_machine.root / "tests" / "peers").mkdir(parents=True)
    runs = [
        ready_machine.run("test", "--peers"),
        ready_machine.run("test", "--peers", "-k", "merge"),
        ready_machine.run("test", "--peers", "tests/peers::one"),
    ]
    assert [done.returncode for done in runs] == [0, 0, 0], runs[0].stderr
    assert "pytest ['tests/peers'] Spark 4.2.1" in runs[0].stdout
    assert "pytest ['tests/peers', '-k', 'merge'] Spark 4.2.1" in runs[1].stdout
    assert "pytest ['tests/peers::one'] Spark 4.2.1" in runs[2].stdout
    assert ready_machine.installs == 1


@pytest.mark.parametrize(
    ("arguments", "culprit", "failed"),
    [
        ((), "nothing", []),
        ((), "coverage report", ["coverage"]),
        ((), "pytest -o", ["tests on Spark"]),
        (("tests/a",), "nothing", []),
    ],
)
def test_coverage_is_measured_in_both_halves_and_has_a_floor(
    used_machine: Machine, arguments: tuple[str, ...], culprit: str, failed: list[str]
) -> None:
    used_machine.stamp.write_text(used_machine.stamp.read_text().replace('"demo"', '"dev"'))
    used_machine.environ["FAILS"] = culprit
    (used_machine.root / ".coverage.old").touch()
    done = used_machine.run("test", "--coverage", *arguments)
    assert done.returncode == bool(failed), done.stderr
    assert re.findall(r"^ FAILED  (.+?) {2,}", done.stdout, re.MULTILINE) == failed
    calls = re.findall(r"^coverage \['(\w+)'", done.stdout, re.MULTILINE)
    assert sorted(calls) == ["combine", "report", *["run"] * (1 if arguments else 2)]
    assert ("'--fail-under=0'" in done.stdout) == bool(arguments)
    assert not (used_machine.root / ".coverage.old").exists()


@pytest.mark.parametrize(
    ("culprit", "failed"),
    [
        ("nothing", []),
        ("ruff format", ["format"]),
        ("--ignore=tests/spark", ["tests"]),
        ("pytest -o", ["tests on Spark"]),
    ],
)
def test_every_check_and_both_halves_of_the_tests_run_and_can_fail(
    used_machine: Machine, culprit: str, failed: list[str]
) -> None:
    (used_machine.root / ".venv" / "bin" / "lint-imports").write_text("print('lint-imports')")
    used_machine.stamp.write_text(used_machine.stamp.read_text().replace('"demo"', '"dev"'))
    used_machine.environ["FAILS"] = culprit
    done = used_machine.run("test")
    assert done.returncode == bool(failed), done.stderr
    assert re.findall(r"^ FAILED  (.+?) {2,}", done.stdout, re.MULTILINE) == failed
    passed = re.findall(r"^     ok  (.+?) {2,}", done.stdout, re.MULTILINE)
    everything = [check.name for check in (*checks.STATIC, *checks.SUITES)]
    assert passed == [name for name in everything if name not in (*failed, "Java")]
    assert re.findall(r"^skipped  (.+?) {2,}", done.stdout, re.MULTILINE) == ["Java"]
    assert "there is no javac. Install a JDK" in done.stdout
    assert len(re.findall("^pytest ", done.stdout, re.MULTILINE)) == 2


def test_every_folder_of_tests_is_in_one_half_of_the_tests() -> None:
    first, second = checks.SUITES
    left_out = {argument.partition("=")[2] for argument in first.arguments if "=" in argument}
    second_half = {argument for argument in second.arguments if (ROOT / argument).is_dir()}
    assert left_out == {*second_half, checks.PEERS}


def test_the_continuous_integration_calls_the_same_command() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "set "))]
    assert len(commands) == 1
    assert commands[0].endswith('/../run" test')


def _remakes_the_environment(machine: Machine) -> bool:
    """Told by what it says on a machine that cannot make one: making one takes seconds."""
    machine.python(before="sys.modules['ensurepip'] = None")
    return "cannot create virtual environments" in machine.run("demo").stderr
