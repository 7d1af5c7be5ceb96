"""VACUUM by the log alone (LITE), and by an inventory."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from lakebed.commands.vacuum.last_vacuum import LAST_VACUUM, last_vacuumed
from lakebed.commands.vacuum.vacuum_selection import from_inventory
from lakebed.errors import InvalidArgumentError
from lakebed.storage import open_store
from testkit.faults import FaultStore
from testkit.tables.aged_tables import DAY, AgedTable, put


@pytest.fixture
def table(tmp_path: Path) -> AgedTable:
    return AgedTable(tmp_path / "table")


# --- lite ---------------------------------------------------------------------------------------


def test_lite_takes_what_commits_removed_and_starts_after_the_last_vacuum(
    table: AgedTable,
) -> None:
    put(table, "orphan.parquet")
    table.append()
    table.overwrite()
    table.tick(80)
    assert table.vacuum(mode="lite").paths == ["part-1.parquet"]
    assert last_vacuumed(table.store) == table.newest - 2
    table.overwrite()
    table.tick(80)
    result = table.vacuum(mode="LITE")
    assert result.paths == ["part-2.parquet"]
    assert result.mode == "lite"
    assert table.vacuum().paths == ["orphan.parquet"]
    assert table.read(table.newest) is not None


def test_lite_does_not_list_the_table(tmp_path: Path) -> None:
    table = AgedTable(tmp_path / "table")
    table.append()
    table.overwrite()
    table.tick(80)
    store = FaultStore(table.store)
    assert table.vacuum(store, mode="lite").num_files == 1
    assert store.counts["list_all"] == 0


def test_lite_needs_a_log_that_goes_back_to_the_last_vacuum(table: AgedTable) -> None:
    for _ in range(6):
        table.overwrite()
        table.tick(48)
    table.checkpoint()
    table.clean()
    assert table.read(0) is None
    disk = table.data_files()
    with pytest.raises(InvalidArgumentError, match="LITE") as error:
        table.vacuum(mode="lite")
    assert error.value.hint == "run a full VACUUM once"
    assert table.data_files() == disk
    assert table.vacuum().num_files > 0
    table.overwrite()
    table.tick(80)
    assert table.vacuum(mode="lite").num_files > 0


def test_a_note_of_the_last_vacuum_that_is_damaged_is_ignored(table: AgedTable) -> None:
    for text in (b"", b"[]", b"{}", b'{"latestCommitVersionOutsideOfRetentionWindow":"x"}'):
        table.store.put(LAST_VACUUM, text)
        assert last_vacuumed(table.store) is None
    table.store.put(LAST_VACUUM, b'{"latestCommitVersionOutsideOfRetentionWindow":7}')
    assert last_vacuumed(table.store) == 7


# --- inventory ----------------------------------------------------------------------------------


def inventory(table: AgedTable, *paths: str, days_old: float = 30) -> pa.Table:
    made = table.now - round(days_old * DAY)
    rows = [{"path": p, "length": 7, "isDir": False, "modificationTime": made} for p in paths]
    return pa.Table.from_pylist(rows)


def test_an_inventory_takes_the_place_of_the_listing(table: AgedTable) -> None:
    table.append()
    put(table, "named.parquet")
    put(table, "a b.parquet")
    put(table, "not-named.parquet")
    put(table, "written-again.parquet", days_old=1)
    root = f"file:{table.folder}"
    given = inventory(
        table,
        f"{root}/named.parquet",
        f"{root}/a b.parquet",
        f"{root}/written-again.parquet",
        f"{root}/part-1.parquet",
        f"{root}/gone.parquet",
        f"{root}/_delta_log/{0:020}.json",
        "file:/elsewhere/x.parquet",
    )
    assert table.vacuum(inventory=given).paths == ["a b.parquet", "named.parquet"]
    assert table.read(1) is not None
    assert table.store.exists("not-named.parquet")


def test_every_spelling_of_the_root_is_understood() -> None:
    store = open_store("s3://bucket/some/table", {"aws_region": "x", "skip_signature": "true"})
    paths = ["s3://bucket/some/table/a", "s3a://bucket/some/table/b", "s3://bucket/other/c"]
    rows = [{"path": p, "length": 1, "isDir": False, "modificationTime": 1} for p in paths]
    assert [found.path for found in from_inventory(store, pa.Table.from_pylist(rows))] == ["a", "b"]


def test_an_inventory_of_another_shape_is_refused(table: AgedTable) -> None:
    with pytest.raises(InvalidArgumentError, match="isDir, modificationTime"):
        table.vacuum(inventory=pa.table({"path": ["x"], "length": [1]}))
    wrong = inventory(table, "x").set_column(1, "length", pa.array(["many"]))
    with pytest.raises(InvalidArgumentError, match="another type"):
        table.vacuum(inventory=wrong)
    with pytest.raises(InvalidArgumentError, match="inventory"):
        table.vacuum(inventory=inventory(table, "x"), mode="lite")
