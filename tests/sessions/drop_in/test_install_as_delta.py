"""`import delta` after `lakebed.install_as_delta()`. No test here starts Spark."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.errors import AnalysisException, PySparkException
from pyspark.errors.exceptions import captured
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


@pytest.mark.parametrize("module", ["delta.exceptions", "delta.exceptions.base"])
def test_conflicts_that_lakebed_raises_have_delta_sparks_classes(delta: Any, module: str) -> None:  # noqa: ARG001
    exceptions = importlib.import_module(module)
    error = ConcurrentAppendError("x")
    assert isinstance(error, exceptions.ConcurrentAppendException)
    assert isinstance(error, exceptions.DeltaConcurrentModificationException)
    assert not isinstance(error, exceptions.ConcurrentWriteException)


def test_the_conversion_of_java_exceptions_is_in_place_and_named_as_there(delta: Any) -> None:
    assert delta.exceptions.captured._delta_exception_patched
    assert captured.convert_exception.__module__ == "delta.exceptions.captured"


def test_importing_the_package_alone_gives_its_modules(delta: Any) -> None:
    assert delta.tables is lakebed.tables
    assert delta.exceptions.ConcurrentAppendException.__mro__[1] is PySparkException
    assert delta.pip_utils.configure_spark_with_delta_pip is delta.configure_spark_with_delta_pip
    assert delta.version.__version__ == delta.__version__
    assert find_spec("delta.tables") is not None


def test_every_module_below_is_an_attribute_of_the_one_above(delta: Any) -> None:  # noqa: ARG001
    importlib.import_module("delta.connect")
    importlib.import_module("delta.connect.tables")
    names = [name for name in sys.modules if name.startswith("delta.")]
    assert len(names) == 9
    for name in names:
        above, _, last = name.rpartition(".")
        assert getattr(sys.modules[above], last) is sys.modules[name]


def test_a_module_that_delta_spark_does_not_have_is_not_found(delta: Any) -> None:  # noqa: ARG001
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'delta\.nothing'$"):
        importlib.import_module("delta.nothing")


def test_spark_connect_is_imported_only_when_the_program_does(delta: Any) -> None:  # noqa: ARG001
    assert "delta.connect" not in sys.modules
    connect = importlib.import_module("delta.connect")
    assert connect.DeltaTable is lakebed.DeltaTable
    assert "delta.connect.exceptions" in sys.modules


def test_the_version_is_that_of_the_delta_spark_whose_names_these_are(delta: Any) -> None:
    assert delta.__version__ == "4.4.0"


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


def test_errors_are_pysparks_before_and_after_it() -> None:
    before = errors.TableNotFoundError("x")
    lakebed.install_as_delta()
    remove()
    assert isinstance(errors.TableNotFoundError("x"), AnalysisException)
    assert isinstance(before, AnalysisException)


def test_conflicts_of_a_server_become_those_of_delta_connect(delta: Any) -> None:  # noqa: ARG001
    from google.rpc.error_details_pb2 import ErrorInfo
    from pyspark.sql.connect.client import core

    connect = importlib.import_module("delta.connect.exceptions")
    exceptions = importlib.import_module("delta.exceptions")
    classes = ["io.delta.exceptions.ConcurrentAppendException", "java.lang.RuntimeException"]
    told = ErrorInfo(reason=classes[0])
    told.metadata["classes"] = json.dumps(classes)
    told.metadata["errorClass"] = "DELTA_CONCURRENT_APPEND"
    error = core.convert_exception(told, "files were added", None)
    assert isinstance(error, connect.ConcurrentAppendException)
    assert isinstance(error, exceptions.ConcurrentAppendException)
    assert error.getCondition() == "DELTA_CONCURRENT_APPEND"


def test_a_conflict_that_a_served_call_raises_is_of_all_three_families(delta: Any) -> None:  # noqa: ARG001
    connect = importlib.import_module("delta.connect.exceptions")
    found = connect.as_client_error(ConcurrentAppendError("x", version=3))
    assert isinstance(found, connect.ConcurrentAppendException)
    assert isinstance(found, lakebed.exceptions.ConcurrentAppendException)
    assert (found.version, found.getCondition()) == (3, "DELTA_CONCURRENT_APPEND.WITHOUT_HINT")
    other = errors.TableNotFoundError("x")
    assert connect.as_client_error(other) is other
