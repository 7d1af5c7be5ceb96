"""`import delta` after `lakebed.install_as_delta()`. No test here starts Spark."""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.errors import (
    AnalysisException,
    IllegalArgumentException,
    PySparkException,
    UnsupportedOperationException,
)
from pyspark.sql import SparkSession

import lakebed
import lakebed.errors as errors
import lakebed.exceptions
import lakebed.tables
from lakebed.errors import ConcurrentAppendError, InvalidArgumentError
from lakebed.sessions.drop_in.install import remove

KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
PACKAGES = "spark.jars.packages"


@pytest.fixture(autouse=True)
def _taken_back() -> Iterator[None]:
    yield
    remove()
    assert not [name for name in sys.modules if name == "delta" or name.startswith("delta.")]


@pytest.fixture
def delta() -> Any:
    lakebed.install_as_delta()
    return importlib.import_module("delta")


def test_a_star_import_gives_what_delta_spark_gives(delta: Any) -> None:
    assert set(delta.__all__) == {"DeltaTable", "configure_spark_with_delta_pip", "__version__"}
    names: dict[str, Any] = {}
    exec("from delta import *", names)
    assert names["DeltaTable"] is lakebed.DeltaTable
    assert callable(names["configure_spark_with_delta_pip"])


@pytest.mark.parametrize("module", ["delta.tables", "delta.connect.tables"])
def test_all_classes_of_delta_tables_are_there(delta: Any, module: str) -> None:  # noqa: ARG001
    names: dict[str, Any] = {}
    exec(f"from {module} import *", names)
    for name in lakebed.tables.__all__:
        assert names[name] is getattr(lakebed.tables, name)
    assert {"DeltaMergeBuilder", "DeltaTableBuilder", "IdentityGenerator"} < set(names)


@pytest.mark.parametrize("module", ["delta.exceptions", "delta.connect.exceptions"])
def test_conflicts_have_delta_sparks_names_and_one_family(delta: Any, module: str) -> None:  # noqa: ARG001
    exceptions = importlib.import_module(module)
    assert exceptions.ConcurrentAppendException is ConcurrentAppendError
    assert issubclass(
        exceptions.ConcurrentAppendException, exceptions.DeltaConcurrentModificationException
    )


def test_importing_the_package_alone_gives_its_modules(delta: Any) -> None:
    assert delta.tables is lakebed.tables
    assert delta.exceptions is lakebed.exceptions
    assert delta.pip_utils.configure_spark_with_delta_pip is delta.configure_spark_with_delta_pip
    assert delta.version.__version__ == delta.__version__
    assert find_spec("delta.tables") is not None


def test_every_module_below_is_an_attribute_of_the_one_above(delta: Any) -> None:  # noqa: ARG001
    names = [name for name in sys.modules if name.startswith("delta.")]
    assert len(names) == 7
    for name in names:
        above, _, last = name.rpartition(".")
        assert getattr(sys.modules[above], last) is sys.modules[name]


def test_a_module_that_delta_spark_does_not_have_is_not_found(delta: Any) -> None:  # noqa: ARG001
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'delta\.nothing'$"):
        importlib.import_module("delta.nothing")


def test_the_version_is_delta_sparks_and_says_whose_it_is(delta: Any) -> None:
    major, minor, patch = delta.__version__.split(".")
    assert (major, minor, patch) == ("4", "4", "0+lakebed")


def test_installing_twice_wraps_pyspark_once(delta: Any) -> None:
    lakebed.install_as_delta()
    assert importlib.import_module("delta") is delta
    assert not hasattr(SparkSession.Builder.getOrCreate.__wrapped__, "__wrapped__")


def test_removing_puts_pyspark_back() -> None:
    before = [SparkSession.Builder.getOrCreate, SparkSession.__init__, SparkContext.__init__]
    lakebed.install_as_delta()
    assert SparkSession.Builder.getOrCreate is not before[0]
    remove()
    after = [SparkSession.Builder.getOrCreate, SparkSession.__init__, SparkContext.__init__]
    assert after == before


def test_a_delta_that_is_imported_already_is_an_error_and_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = ModuleType("delta")
    other.__file__ = "/packages/delta/__init__.py"
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "delta", other)
        with pytest.raises(InvalidArgumentError, match="/packages/delta/__init__") as caught:
            lakebed.install_as_delta()
        assert "before the first import" in str(caught.value.hint)
        assert sys.modules["delta"] is other
        assert not hasattr(SparkSession.Builder.getOrCreate, "__wrapped__")


def test_a_delta_that_is_installed_only_is_not_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "delta").mkdir()
    (tmp_path / "delta" / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    lakebed.install_as_delta()
    assert importlib.import_module("delta").DeltaTable is lakebed.DeltaTable


def test_the_builder_gets_no_package_but_the_extra_ones(delta: Any) -> None:
    builder = SparkSession.builder.appName("shop")
    assert delta.configure_spark_with_delta_pip(builder) is builder
    assert builder._options == {"spark.app.name": "shop"}
    delta.configure_spark_with_delta_pip(builder, extra_packages=[KAFKA, "a:b:1"])
    assert builder._options[PACKAGES] == f"{KAFKA},a:b:1"


def test_what_is_not_a_builder_is_refused(delta: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="not a builder"):
        delta.configure_spark_with_delta_pip(SparkSession)
    with pytest.raises(InvalidArgumentError, match="is a string"):
        delta.configure_spark_with_delta_pip(SparkSession.builder, KAFKA)


@pytest.mark.parametrize(
    ("error", "families"),
    [
        (errors.TableNotFoundError("x"), [AnalysisException]),
        (errors.SchemaMismatchError("x"), [AnalysisException]),
        (errors.InvalidArgumentError("x"), [IllegalArgumentException, TypeError, ValueError]),
        (errors.AppendOnlyError("x"), [UnsupportedOperationException]),
        (errors.ConcurrentAppendError("x"), [PySparkException]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_are_of_the_families_that_programs_catch(
    error: errors.LakebedError, families: list[type[Exception]]
) -> None:
    assert not isinstance(error, PySparkException)
    lakebed.install_as_delta()
    lakebed.install_as_delta()
    for family in families:
        with pytest.raises(family) as caught:
            raise type(error)("what happened", hint="what to do")
        assert str(caught.value) == f"[{error.code}] what happened\n  hint: what to do"
    remove()
    assert not isinstance(error, PySparkException)


def test_every_error_of_lakebed_is_one_of_pyspark(delta: Any) -> None:  # noqa: ARG001
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    below = [kind for kind in kinds if errors.LakebedError in kind.__mro__[1:]]
    assert len(below) > 30
    assert [kind for kind in below if not issubclass(kind, PySparkException)] == []


def test_an_error_of_pysparks_kind_survives_pickling(delta: Any) -> None:  # noqa: ARG001
    error = errors.LogCorruptedError("bad", file="0.json", hint="restore it")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.file, again.getCondition()) == (str(error), "0.json", None)
