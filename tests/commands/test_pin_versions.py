"""Pinned versions stay readable under VACUUM and under the clean-up of the log."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lakebed
from lakebed.commands.pin_versions import pin_version
from lakebed.errors import (
    InvalidArgumentError,
    TablePropertyError,
    VersionNotFoundError,
)
from lakebed.log.table_log import TableLog
from lakebed.spec.pins import pins_of
from testkit.faults import Fault, FaultStore
from testkit.tables.aged_tables import AgedTable


@pytest.fixture
def table(tmp_path: Path) -> AgedTable:
    """Every version but 0 replaces all rows; all of them are two days apart."""
    table = AgedTable(tmp_path / "table")
    for _ in range(4):
        table.overwrite()
        table.tick(48)
    return table


def test_a_pinned_version_stays_and_goes_once_it_is_unpinned(table: AgedTable) -> None:
    rows = table.read(1)
    table.pin("release", 1)
    table.tick(200)
    assert table.vacuum(mode="lite").lost_versions.column("version").to_pylist() == [2, 3]
    assert table.read(1) == rows
    assert table.vacuum().num_files == 0
    table.unpin("release")
    assert table.vacuum(mode="lite").lost_versions.column("version").to_pylist() == [1]
    assert table.read(1) is None


def test_a_pin_keeps_the_vectors_of_its_version(tmp_path: Path) -> None:
    table = AgedTable(tmp_path / "table")
    table.append()
    table.mark(0)
    table.pin("p", 2)
    table.mark(0)
    table.tick(100)
    assert table.vacuum().num_files == 0
    assert table.read(2) == {11, 12}
    assert table.read(4) == {12}


def test_the_log_is_cleaned_up_only_to_the_oldest_pin(table: AgedTable) -> None:
    table.pin("old", 2)
    table.pin("older", 1)
    for _ in range(12):
        table.overwrite()
        table.tick(48)
    table.clean()
    assert table.store.exists(f"_delta_log/{1:020}.json")
    table.unpin("older")
    rows = table.read(2)
    assert rows is not None
    table.checkpoint()
    table.clean()
    assert table.read(2) == rows
    table.unpin("old")
    table.checkpoint()
    table.clean()
    assert table.read(2) is None
    assert table.read(table.newest) is not None


def test_a_checkpoint_before_the_pin_is_where_the_log_then_starts(tmp_path: Path) -> None:
    table = AgedTable(tmp_path / "table", checkpointInterval="100")
    for number in range(10):
        table.overwrite()
        table.tick(48)
        if number in (2, 7):
            table.checkpoint()
    table.pin("p", 5)
    rows = {version: table.read(version) for version in range(3, table.newest + 1)}
    table.tick(500)
    table.clean()
    assert table.read(2) is None
    assert {version: table.read(version) for version in rows} == rows


def test_only_what_can_be_read_can_be_pinned(table: AgedTable) -> None:
    table.tick(200)
    table.vacuum()
    newest = table.newest
    with pytest.raises(VersionNotFoundError, match="gone") as error:
        table.pin("p", 1)
    assert "part-1.parquet" in error.value.message
    with pytest.raises(VersionNotFoundError):
        table.pin("p", 99)
    with pytest.raises(InvalidArgumentError):
        table.pin("p", -1)
    assert table.newest == newest


@pytest.mark.parametrize("name", ["", "two words", "a/b", 3, None])
def test_names_that_are_none_are_refused(table: AgedTable, name: object) -> None:
    with pytest.raises(InvalidArgumentError):
        table.pin(name, 1)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError):
        table.unpin(name)  # type: ignore[arg-type]


def test_a_pin_that_is_not_there_cannot_be_removed(table: AgedTable) -> None:
    with pytest.raises(InvalidArgumentError, match="there is no pin"):
        table.unpin("p")
    table.pin("q", 1)
    with pytest.raises(InvalidArgumentError) as error:
        table.unpin("p")
    assert error.value.hint == "the pins are q"


def test_a_pin_moves_and_the_same_pin_twice_is_one_commit(table: AgedTable) -> None:
    table.pin("p", 1)
    newest = table.newest
    table.pin("p", 1)
    assert table.newest == newest
    table.pin("p", 2)
    assert pins_of(table.snapshot().metadata.configuration) == {"p": 2}


def test_a_pin_with_a_value_that_is_no_version_stops_vacuum(table: AgedTable) -> None:
    from dataclasses import replace

    before = table.snapshot().metadata
    wrong = replace(before, configuration={**before.configuration, "lakebed.pin.p": "latest"})
    table.commit("SET TBLPROPERTIES", [wrong])
    table.tick(200)
    disk = table.data_files()
    with pytest.raises(TablePropertyError, match=r"lakebed\.pin\.p"):
        table.vacuum()
    with pytest.raises(TablePropertyError):
        table.clean()
    assert table.data_files() == disk


def test_a_pin_whose_log_another_engine_has_cleaned_up_stops_vacuum(table: AgedTable) -> None:
    table.pin("p", 1)
    table.checkpoint()
    for version in range(table.newest):
        (table.folder / "_delta_log" / f"{version:020}.json").unlink()
        table.store.delete(f"_delta_log/{version:020}.checkpoint.parquet")
    table.tick(300)
    disk = table.data_files()
    with pytest.raises(VersionNotFoundError, match="pinned as 'p'"):
        table.vacuum()
    assert table.data_files() == disk
    table.unpin("p")
    assert table.vacuum().num_files > 0


def test_a_version_that_loses_files_while_it_is_pinned_is_not_left_pinned(
    table: AgedTable,
) -> None:
    class Racing(FaultStore):
        def put_if_absent(self, path: str, data: bytes | bytearray | memoryview) -> None:
            self.inner.delete("part-1.parquet")
            super().put_if_absent(path, data)

    with pytest.raises(VersionNotFoundError):
        pin_version(TableLog(Racing(table.store)), "p", 1)
    assert pins_of(table.log.snapshot().metadata.configuration) == {}


def test_a_commit_that_fails_pins_nothing(table: AgedTable) -> None:
    class Gone(BaseException):
        pass

    store = FaultStore(table.store, Fault("put_if_absent", 1, "before", Gone()))
    with pytest.raises(Gone):
        pin_version(TableLog(store), "p", 1)
    assert pins_of(table.log.snapshot().metadata.configuration) == {}


def test_tables_pin_their_own_version(tmp_path: Path) -> None:
    first = lakebed.write(tmp_path / "t", pa.table({"id": [1]}))
    newest = first.write(pa.table({"id": [2]}), mode="overwrite")
    first.pin("start")
    newest.pin("now", 1)
    assert newest.pins() == {"start": 0, "now": 1}
    operations = [row["operation"] for row in newest.history().to_pylist()]
    assert operations[:2] == ["SET TBLPROPERTIES", "SET TBLPROPERTIES"]
    newest.unpin("now")
    parameters = dict(newest.history(1).to_pylist()[0]["operationParameters"])
    assert parameters == {"properties": '["lakebed.pin.now"]', "ifExists": "false"}
    newest.vacuum(0, enforce_retention=False)
    assert lakebed.open(tmp_path / "t", version=0).to_arrow().to_pydict() == {"id": [1]}
