"""Errors as PySpark's exceptions. No test here starts Spark."""

from __future__ import annotations

import ast
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import (
    AnalysisException,
    IllegalArgumentException,
    ParseException,
    PySparkException,
    UnsupportedOperationException,
)

import lakebed
from lakebed import errors
from lakebed.errors import LakebedError
from lakebed.spark.errors import conflict_names
from lakebed.spark.errors.conditions import Family, condition_of, family_of
from lakebed.spark.errors.encoded_errors import encode_error, find_encoded
from lakebed.spark.errors.pyspark_kinds import raise_as_pyspark

SOURCE = Path(lakebed.__file__).parent


raise_as_pyspark()


def _kinds() -> list[type[LakebedError]]:
    named = [each for each in vars(errors).values() if isinstance(each, type)]
    return [each for each in named if issubclass(each, LakebedError)]


def test_every_error_is_a_pyspark_exception_and_of_its_own_class() -> None:
    assert len(_kinds()) > 40
    for kind in _kinds():
        given = {"version": 1} if kind is errors.SourceChangedError else {}
        error = kind("what happened", hint="what to do", **given)
        assert isinstance(error, kind)
        assert isinstance(error, PySparkException)
        assert type(error).__name__ == kind.__name__
        assert str(error).startswith(f"[{kind.code}] what happened\n  hint: what to do")


@pytest.mark.parametrize(
    ("error", "family", "condition", "state"),
    [
        (errors.TableExistsError("x"), AnalysisException, "DELTA_TABLE_ALREADY_EXISTS", "42P07"),
        (
            errors.TablePropertyError("x", condition="DELTA_UNKNOWN_CONFIGURATION"),
            AnalysisException,
            "DELTA_UNKNOWN_CONFIGURATION",
            "F0000",
        ),
        (errors.SqlError("x"), ParseException, "PARSE_SYNTAX_ERROR", "42601"),
        (
            errors.InvalidArgumentError("x", condition="DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT"),
            IllegalArgumentException,
            "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT",
            "22003",
        ),
        (
            errors.AppendOnlyError("x"),
            UnsupportedOperationException,
            "DELTA_CANNOT_MODIFY_APPEND_ONLY",
            "42809",
        ),
        (
            errors.ConcurrentAppendError("x"),
            conflict_names.ConcurrentAppendException,
            "DELTA_CONCURRENT_APPEND.WITHOUT_HINT",
            "2D521",
        ),
        (
            errors.RowConflictError("x"),
            conflict_names.ConcurrentDeleteDeleteException,
            "DELTA_CONCURRENT_DELETE_DELETE.WITHOUT_HINT",
            "2D521",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_error_has_delta_sparks_class_condition_and_state(
    error: LakebedError, family: type[Exception], condition: str, state: str
) -> None:
    assert isinstance(error, family)
    assert isinstance(error, PySparkException)
    assert (error.getCondition(), error.getSqlState()) == (condition, state)
    assert str(error).endswith(f"condition: {condition}") or not condition.startswith("DELTA_")


def test_what_python_would_refuse_is_a_type_or_value_error_and_no_analysis() -> None:
    for kind, base in (
        (errors.ArgumentTypeError, TypeError),
        (errors.ArgumentValueError, ValueError),
    ):
        error = kind("x")
        assert isinstance(error, base)
        assert isinstance(error, errors.InvalidArgumentError)
        assert not isinstance(error, AnalysisException)
    assert not isinstance(errors.InvalidArgumentError("x"), (TypeError, ValueError))


def test_parameters_are_those_of_delta_spark_and_without_secrets() -> None:
    error = errors.InvalidArgumentError(
        "x", condition="DELTA_TIMESTAMP_INVALID", parameters={"expr": "s3://u:secret@b/?sig=a"}
    )
    assert isinstance(error, PySparkException)
    assert error.getMessageParameters() == {"expr": "s3://***@b/?sig=***"}
    plain = errors.TableExistsError("x")
    assert isinstance(plain, PySparkException)
    assert plain.getMessageParameters() == {}


def test_all_conflicts_are_of_the_class_that_delta_spark_documents_above_them() -> None:
    error = errors.MetadataChangedError("x", version=3)
    assert isinstance(error, conflict_names.MetadataChangedException)
    assert isinstance(error, conflict_names.DeltaConcurrentModificationException)
    assert error.version == 3


@pytest.mark.parametrize(
    "error",
    [
        errors.LogCorruptedError("bad", file="0.json", hint="restore it"),
        errors.SchemaError("bad", condition="DELTA_DUPLICATE_COLUMNS_FOUND", parameters={"a": "b"}),
        errors.RowConflictError("bad", version=4, files=["f"], rows={"f": [1]}),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_survives_pickling_and_being_sent_as_data(error: LakebedError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), find_encoded(encode_error(error))):
        assert again is not None
        assert str(again) == str(type(error)(error.message, hint=error.hint)) or error.condition
        assert isinstance(again, type(error).__mro__[1])
        assert {**vars(again)} == {**vars(error)}
        assert condition_of(again) == condition_of(error)
        assert family_of(type(again), again.condition) == family_of(type(error), error.condition)


def test_a_class_that_was_made_for_pyspark_raises_again_as_itself() -> None:
    error = errors.TableNotFoundError("x")
    assert type(type(error)("y")) is type(error)


def test_every_condition_in_the_source_has_a_state_and_a_family() -> None:
    found = set(_conditions())
    assert len(found) > 60
    for name in found:
        assert condition_of(errors.SchemaError("x", condition=name)).sql_state != "KD000", name


def test_a_condition_of_a_newer_server_is_kept() -> None:
    error = errors.SchemaError("x", condition="DELTA_OF_TOMORROW")
    assert isinstance(error, PySparkException)
    assert error.getCondition() == "DELTA_OF_TOMORROW"
    assert family_of(errors.SchemaError, "DELTA_OF_TOMORROW") is Family.OTHER


def test_without_spark_errors_are_as_plain_as_before() -> None:
    program = (
        "import sys, lakebed\n"
        "try:\n"
        "    lakebed.open('/no/such/table')\n"
        "except lakebed.LakebedError as error:\n"
        "    print(type(error) is lakebed.errors.TableNotFoundError, 'condition' in str(error))\n"
        "print('pyspark' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False", "False"]


def _conditions() -> Iterator[str]:
    """All names like those of delta-spark's conditions, wherever they are raised."""
    for file in SOURCE.rglob("*.py"):
        if file.name == "conditions.py":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and re.fullmatch(r"DELTA_[A-Z_.]+", str(node.value)):
                yield str(node.value)
