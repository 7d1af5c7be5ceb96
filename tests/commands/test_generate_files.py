"""Symlink manifests: their lines are the files of the table, read by DuckDB as plain Parquet."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from urllib.parse import unquote

import duckdb
import pyarrow as pa
import pytest

import lakebed
from lakebed.arrow.table_rows import TableRows
from lakebed.commands.generate_files import generate_files
from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.write.write_rows import write_table
from lakebed.errors import (
    InvalidArgumentError,
    InvalidCommitError,
    TablePropertyError,
    UnsupportedFeatureError,
)
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Metadata
from lakebed.storage import Store, open_store
from testkit.faults import Fault, FaultStore, killed_at_every_call
from testkit.readers.other_readers import read_elsewhere
from testkit.tables.arbitrary_tables import commit
from testkit.tables.numbered_tables import VECTORS, delete, ids, ids_here, make, numbers

MODE = "symlink_format_manifest"
ON = {"delta.compatibility.symlinkFormatManifest.enabled": "true"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


def manifests(path: Path) -> dict[str, list[str]]:
    """The lines by the folder of the manifest."""
    root = path / f"_{MODE}"
    return {
        str(file.parent.relative_to(root)): file.read_text().splitlines()
        for file in sorted(root.rglob("manifest"))
    }


def ids_in(path: Path) -> list[int]:
    """What an engine finds that knows nothing but the manifests."""
    lines = [line.removeprefix("file://") for part in manifests(path).values() for line in part]
    if not lines:
        return []
    found = duckdb.sql(f"SELECT id FROM read_parquet({lines!r}) ORDER BY id").fetchall()
    return [row[0] for row in found]


def test_a_manifest_names_the_files_of_the_table(path: Path) -> None:
    make(path)
    lakebed.write(path, numbers(50, 53), mode="overwrite")
    lakebed.open(path).generate(MODE)
    assert list(manifests(path)) == ["."]
    assert ids_in(path) == ids(path) == [50, 51, 52]


def test_each_partition_has_a_manifest_and_those_of_old_ones_go(path: Path) -> None:
    make(path, partition_by="day")
    lakebed.write(path, pa.table({"id": [70, 71], "day": ["a/b c", None]}))
    lakebed.open(path).generate(MODE.upper())
    assert list(manifests(path)) == [
        "day=__HIVE_DEFAULT_PARTITION__",
        "day=a%2Fb c",
        "day=mon",
        "day=tue",
    ]
    assert ids_in(path) == ids(path)
    lakebed.write(path, numbers(50, 53), mode="overwrite")
    lakebed.open(path).generate(MODE)
    assert list(manifests(path)) == ["day=mon"]
    assert ids_in(path) == [50, 51, 52]


def test_an_empty_table_has_an_empty_manifest(path: Path) -> None:
    lakebed.write(path, numbers(0, 0))
    lakebed.open(path).generate()
    assert ids_in(path) == []
    assert list(manifests(path)) == ["."]


def test_files_of_a_shallow_clone_are_named_where_they_are(path: Path, tmp_path: Path) -> None:
    make(path)
    clone = tmp_path / "a clone"
    lakebed.open(path).clone(clone, shallow=True)
    lakebed.write(clone, numbers(80, 81))
    lakebed.open(clone).generate()
    assert ids_in(clone) == ids(clone)
    assert all(unquote(line) == line for line in manifests(clone)["."])


@pytest.mark.parametrize("partition_by", [None, "day", ["day", "part"]])
def test_the_property_keeps_manifests_up_to_date(path: Path, partition_by: object) -> None:
    def rows(first: int, last: int, day: str) -> pa.Table:
        data = numbers(first, last, day)
        return data.append_column("part", pa.array([i % 2 for i in range(first, last)]))

    options = {"partition_by": partition_by, "properties": ON}
    lakebed.write(path, rows(0, 4, "mon"), **options)  # type: ignore[arg-type]
    assert ids_in(path) == list(range(4))
    lakebed.write(path, rows(4, 8, "tue"))
    assert ids_in(path) == ids(path) == list(range(8))
    lakebed.write(path, rows(20, 22, "tue"), mode="overwrite", replace_where="day = 'tue'")
    assert ids_in(path) == ids(path) == [0, 1, 2, 3, 20, 21]
    lakebed.write(path, rows(30, 31, "wed"), mode="overwrite")
    assert ids_in(path) == ids(path) == [30]
    lakebed.open(path).restore(version=1)
    assert ids_in(path) == ids(path) == list(range(8))


def test_an_append_writes_only_the_manifest_of_its_partition(path: Path) -> None:
    make(path, partition_by="day", properties=ON)
    root = path / f"_{MODE}"
    before = (root / "day=mon" / "manifest").stat().st_mtime_ns
    lakebed.write(path, numbers(20, 22, "tue"))
    assert (root / "day=mon" / "manifest").stat().st_mtime_ns == before
    assert ids_in(path) == list(range(22))


def test_a_table_without_the_property_gets_no_manifests(path: Path) -> None:
    make(path)
    assert not (path / f"_{MODE}").exists()


# --- what is refused ----------------------------------------------------------------------------


def test_deletion_vectors_and_manifests_exclude_each_other(path: Path) -> None:
    with pytest.raises(TablePropertyError, match="symlinkFormatManifest"):
        make(path, properties={**ON, **VECTORS})
    make(path, properties=VECTORS)
    lakebed.open(path).generate()
    delete(path, [0])
    with pytest.raises(UnsupportedFeatureError, match="deletion vectors"):
        lakebed.open(path).generate()
    old = lakebed.open(path).snapshot.metadata
    on = Metadata(old.id, old.schema_string, configuration=ON)
    with pytest.raises(InvalidCommitError, match="deletion vectors"):
        commit(path, on)


def test_mapped_columns_have_no_manifests(path: Path) -> None:
    make(path, properties={"delta.columnMapping.mode": "name"})
    with pytest.raises(UnsupportedFeatureError, match="column"):
        lakebed.open(path).generate()


@pytest.mark.parametrize("mode", ["nonsense", "", 3])
def test_a_mode_that_does_not_exist_is_refused(path: Path, mode: object) -> None:
    make(path)
    with pytest.raises(InvalidArgumentError, match="mode"):
        lakebed.open(path).generate(mode)  # type: ignore[arg-type]


def test_a_commit_stands_when_its_manifest_fails(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make(path, properties=ON)
    store = FaultStore(open_store(str(path)), Fault("put", 2, "before"))
    with caplog.at_level(logging.WARNING, logger="lakebed"):
        write_table(TableLog(store), TableRows(store, numbers(20, 22), None), WriteOptions())
    assert [call.path for call in store.calls if call.method == "put"][1].endswith("manifest")
    assert "manifest" in caplog.text
    assert sorted(read_elsewhere(path)["id"].to_pylist()) == list(range(22))
    assert ids_in(path) == list(range(20))
    lakebed.open(path).generate()
    assert ids_in(path) == list(range(22))


class Slow(FaultStore):
    """Somebody else commits, manifests and all, just before a manifest of ours is written."""

    def __init__(self, inner: Store, act: Callable[[], object]) -> None:
        super().__init__(inner)
        self.act: Callable[[], object] | None = act

    def _record(self, method: str, path: str) -> Fault | None:
        act, is_manifest = self.act, method == "put" and path.endswith("/manifest")
        if act is not None and is_manifest:
            self.act = None
            act()
        return super()._record(method, path)


@pytest.mark.parametrize("partition_by", [None, "day"])
def test_the_slower_of_two_writers_does_not_leave_the_older_manifest(
    path: Path, partition_by: str | None
) -> None:
    make(path, partition_by=partition_by, properties=ON)
    store = Slow(open_store(str(path)), lambda: lakebed.write(path, numbers(40, 42)))
    write_table(TableLog(store), TableRows(store, numbers(30, 32), None), WriteOptions())
    assert ids_in(path) == ids(path) == [*range(20), 30, 31, 40, 41]


def test_generating_beside_a_writer_ends_with_the_newest_version(path: Path) -> None:
    make(path, partition_by="day")
    store = Slow(open_store(str(path)), lambda: lakebed.write(path, numbers(40, 42, "wed")))
    generate_files(TableLog(store), MODE)
    assert ids_in(path) == ids(path) == [*range(20), 40, 41]


def test_killed_at_any_moment_generating_leaves_the_table_and_can_be_finished(
    tmp_path: Path,
) -> None:
    model, tries = tmp_path / "model", count()
    make(model, partition_by="day")
    lakebed.open(model).generate()
    lakebed.write(model, numbers(30, 32, "wed"), mode="overwrite")
    place: list[Path] = []

    def fresh() -> Store:
        place[:] = [tmp_path / f"try{next(tries)}"]
        shutil.copytree(model, place[0])
        return open_store(str(place[0]))

    def check() -> None:
        assert ids_here(place[0]) == [30, 31]
        lakebed.open(place[0]).generate()
        assert ids_in(place[0]) == [30, 31]

    assert killed_at_every_call(lambda s: generate_files(TableLog(s), MODE), fresh, check) > 4
    assert ids(place[0]) == [30, 31]
