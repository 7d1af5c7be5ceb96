"""CHECK constraints: what is there is checked, and nothing slips in while it is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import lakebed
from lakebed.commands.alter.constraints import add_constraint
from lakebed.errors import (
    ConcurrentAppendError,
    ConcurrentDeleteReadError,
    ConflictError,
    ConstraintViolationError,
    InvalidArgumentError,
    LakebedError,
    PredicateError,
)
from lakebed.spec.features import is_supported
from testkit.other_writers import interrupted
from testkit.readers.log_json import last_commit, operations
from testkit.readers.other_readers import by_deltalake

ROWS = pa.table({"id": [1, 2, 3], "v": ["a", "b", None]})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    lakebed.write(tmp_path / "t", ROWS)
    return tmp_path / "t"


def test_a_constraint_holds_for_all_writers(path: Path) -> None:
    table = lakebed.open(path).add_constraint("Positive", "id > 0")
    assert table.properties == {"delta.constraints.positive": "id > 0"}
    assert is_supported(table.protocol, "checkConstraints")
    info = last_commit(path)["commitInfo"]
    assert info["operation"] == "ADD CONSTRAINT"
    assert info["operationParameters"] == {"name": "Positive", "expr": "id > 0"}
    with pytest.raises(ConstraintViolationError):
        table.write(pa.table({"id": [-1], "v": ["x"]}))
    with pytest.raises(Exception, match="failed validation"):
        write_deltalake(DeltaTable(str(path)), pa.table({"id": [-1], "v": ["x"]}), mode="append")
    write_deltalake(DeltaTable(str(path)), pa.table({"id": [4], "v": ["x"]}), mode="append")
    assert len(by_deltalake(path)) == 4


@pytest.mark.parametrize("sql", ["id > 1", "v is not null", "v = 'a' or id = 2", "false"])
def test_rows_that_break_it_refuse_it(path: Path, sql: str) -> None:
    with pytest.raises(ConstraintViolationError, match="row"):
        lakebed.open(path).add_constraint("c", sql)
    assert operations(path) == ["WRITE"]


def test_null_is_not_true(path: Path) -> None:
    with pytest.raises(ConstraintViolationError, match="1 row"):
        lakebed.open(path).add_constraint("c", "v < 'z'")


def test_deleted_rows_do_not_count(path: Path) -> None:
    DeltaTable(str(path)).delete("id = 3")
    assert lakebed.open(path).add_constraint("c", "v is not null").version == 2


@pytest.mark.parametrize(
    ("name", "sql", "error"),
    [
        ("c", "nope > 1", PredicateError),
        ("c", "id +", PredicateError),
        ("c", "id + 1", PredicateError),
        ("c", " ", InvalidArgumentError),
        ("", "id > 0", InvalidArgumentError),
        ("__CHAR_VARCHAR_LENGTH_CHECK__", "id > 0", InvalidArgumentError),
    ],
)
def test_what_is_no_constraint_is_refused(
    path: Path, name: str, sql: str, error: type[LakebedError]
) -> None:
    with pytest.raises(error):
        lakebed.open(path).add_constraint(name, sql)
    assert operations(path) == ["WRITE"]


def test_a_constraint_goes_and_names_match_in_any_case(path: Path) -> None:
    table = lakebed.open(path).add_constraint("c", "id > 0")
    with pytest.raises(InvalidArgumentError, match="already"):
        table.add_constraint("C", "id > 1")
    table = table.drop_constraint("C")
    assert table.properties == {}
    parameters = last_commit(path)["commitInfo"]["operationParameters"]
    assert parameters == {"name": "C", "expr": "id > 0", "existed": "true"}
    with pytest.raises(InvalidArgumentError, match="no constraint"):
        table.drop_constraint("c")
    table.drop_constraint("c", if_exists=True)
    assert last_commit(path)["commitInfo"]["operationParameters"]["existed"] == "false"
    assert table.write(pa.table({"id": [-1], "v": ["x"]})).to_arrow().num_rows == 4


@pytest.mark.parametrize("level", ["Serializable", "WriteSerializable"])
def test_rows_that_come_while_the_others_are_checked_are_a_conflict(path: Path, level: str) -> None:
    lakebed.open(path).set_properties({"delta.isolationLevel": level})
    bad = pa.table({"id": [-1], "v": ["bad"]})
    with pytest.raises(ConcurrentAppendError):
        add_constraint(interrupted(path, lambda: lakebed.write(path, bad)), "c", "id > 0")
    assert operations(path)[-1] == "WRITE"
    assert -1 in [row["id"] for row in by_deltalake(path)]
    with pytest.raises(ConstraintViolationError):
        lakebed.open(path).add_constraint("c", "id > 0")


def test_rows_that_change_meanwhile_are_a_conflict(path: Path) -> None:
    def delete() -> None:
        DeltaTable(str(path)).delete("id = 3")

    with pytest.raises((ConcurrentDeleteReadError, ConcurrentAppendError)) as conflict:
        add_constraint(interrupted(path, delete), "c", "id > 0")
    assert isinstance(conflict.value, ConflictError)
    assert len(by_deltalake(path)) == 2
