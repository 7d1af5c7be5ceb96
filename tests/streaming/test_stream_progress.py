"""How far streams have read their tables, from checkpoints alone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from checkpoints import NOTHING, QUERY, offset, write_checkpoint
from deltalake import DeltaTable

import lakebed
from lakebed.errors import InvalidArgumentError, StreamOffsetError
from testkit.readers.log_json import actions


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """Versions 0 to 3 add a file each, and version 4 puts them together."""
    path = tmp_path / "orders"
    for number in range(4):
        lakebed.write(path, rows(number), mode="append")
    DeltaTable(path).optimize.compact()
    return path


def id_of(path: Path) -> str:
    (metadata,) = [each["metaData"] for each in actions(path, 0) if "metaData" in each]
    return str(metadata["id"])


def sizes(path: Path, *versions: int) -> int:
    adds = [each["add"] for v in versions for each in actions(path, v) if "add" in each]
    return sum(add["size"] for add in adds if add["dataChange"])


def progress(folder: Path, *tables: Path) -> dict[str, Any]:
    (row,) = lakebed.stream_progress(folder, tables).to_pylist()
    found: dict[str, Any] = row
    return found


def test_the_end_of_a_version_is_told_as_that_version(orders: Path, tmp_path: Path) -> None:
    at = offset(id_of(orders), 2)
    folder = write_checkpoint(tmp_path / "c", {6: [at], 7: [at]}, 7)
    assert progress(folder, orders) == {
        "query": QUERY,
        "batch": 7,
        "source": "0",
        "table_id": id_of(orders),
        "table": orders.as_uri(),
        "version": 1,
        "file": None,
        "is_initial": False,
        "newest_version": 4,
        "versions_behind": 3,
        "files_behind": 2,
        "bytes_behind": sizes(orders, 2, 3),
    }


def test_a_stream_that_has_read_everything_is_not_behind(orders: Path, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "c", {0: [offset(id_of(orders), 5)]}, 0)
    row = progress(folder, orders)
    assert (row["version"], row["file"]) == (4, None)
    assert (row["versions_behind"], row["files_behind"], row["bytes_behind"]) == (0, 0, 0)


def test_inside_of_a_version_the_files_behind_it_are_left(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lakebed.write(path, rows(1))
    lakebed.write(path, rows(1, 2, 3), mode="append", max_rows_per_file=1)
    folder = write_checkpoint(tmp_path / "c", {0: [offset(id_of(path), 1, 0)]}, 0)
    row = progress(folder, path)
    assert (row["version"], row["file"], row["versions_behind"]) == (1, 0, 1)
    adds = [each["add"]["size"] for each in actions(path, 1) if "add" in each]
    assert (row["files_behind"], row["bytes_behind"]) == (2, sum(adds[1:]))


def test_inside_of_the_initial_snapshot_its_other_files_and_all_later_ones_are_left(
    orders: Path, tmp_path: Path
) -> None:
    inside = offset(id_of(orders), 2, 0, is_initial=True)
    row = progress(write_checkpoint(tmp_path / "c", {0: [inside]}, 0), orders)
    assert (row["version"], row["file"], row["is_initial"]) == (2, 0, True)
    # Two of the three files of version 2, and the one of version 3.
    assert (row["versions_behind"], row["files_behind"]) == (3, 3)
    before = offset(id_of(orders), 2, is_initial=True)
    row = progress(write_checkpoint(tmp_path / "d", {0: [before]}, 0), orders)
    assert (row["version"], row["file"], row["files_behind"]) == (2, -1, 4)


@pytest.mark.parametrize("index", [-20, -19])
def test_at_a_change_of_the_schema_nothing_of_its_version_is_read(
    orders: Path, tmp_path: Path, index: int
) -> None:
    at = offset(id_of(orders), 2, index)
    row = progress(write_checkpoint(tmp_path / "c", {0: [at]}, 0), orders)
    assert (row["version"], row["file"], row["files_behind"]) == (1, None, 2)


def test_a_batch_that_the_sink_may_not_have_does_not_count(orders: Path, tmp_path: Path) -> None:
    one, two = offset(id_of(orders), 1), offset(id_of(orders), 3)
    folder = write_checkpoint(tmp_path / "c", {9: [one], 10: [two]}, 9)
    row = progress(folder, orders)
    assert (row["batch"], row["version"]) == (9, 0)


def test_before_the_first_batch_there_is_nothing_to_tell(orders: Path, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "c", {0: [offset(id_of(orders), 1)]}, None)
    found = lakebed.stream_progress(folder, orders)
    assert found.num_rows == 0
    assert found.schema.field("versions_behind").type == pa.int64()


def test_only_delta_sources_are_rows_and_keep_their_places(orders: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    lakebed.write(other, rows(1))
    lines = ['{"logOffset":3}', offset(id_of(orders), 5), NOTHING, offset(id_of(other), 1), "17"]
    folder = write_checkpoint(tmp_path / "c", {0: lines}, 0)
    found = lakebed.stream_progress(folder, [other, orders]).to_pylist()
    assert [(row["source"], row["table"]) for row in found] == [
        ("1", orders.as_uri()),
        ("3", other.as_uri()),
    ]


def test_named_sources_of_newer_checkpoints_are_named(orders: Path, tmp_path: Path) -> None:
    lines = [f"orders:{offset(id_of(orders), 5)}", "other:-", 'files:{"logOffset":3}']
    folder = write_checkpoint(tmp_path / "c", {0: lines}, 0, form="v2")
    assert progress(folder, orders)["source"] == "orders"


def test_without_the_table_only_what_the_checkpoint_has_is_told(
    orders: Path, tmp_path: Path
) -> None:
    folder = write_checkpoint(tmp_path / "c", {0: [offset(id_of(orders), 2)]}, 0)
    row = progress(folder)
    assert (row["version"], row["table_id"]) == (1, id_of(orders))
    assert row["table"] is row["newest_version"] is row["files_behind"] is None


def test_a_table_that_the_query_does_not_read_is_refused(orders: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    lakebed.write(other, rows(1))
    folder = write_checkpoint(tmp_path / "c", {0: [offset(id_of(orders), 2)]}, 0)
    with pytest.raises(InvalidArgumentError, match="does not read") as refused:
        lakebed.stream_progress(folder, other)
    assert id_of(orders) in str(refused.value.hint)


def test_files_that_the_log_no_longer_tells_of_are_not_counted(
    orders: Path, tmp_path: Path
) -> None:
    folder = write_checkpoint(tmp_path / "c", {0: [offset(id_of(orders), 1)]}, 0)
    DeltaTable(orders).create_checkpoint()
    (orders / "_delta_log" / f"{1:020}.json").unlink()
    row = progress(folder, orders)
    assert (row["version"], row["versions_behind"]) == (0, 4)
    assert row["files_behind"] is row["bytes_behind"] is None


def test_a_query_tells_its_tables_itself(orders: Path) -> None:
    source = {
        "description": f"DeltaSource[{orders}]",
        "endOffset": {
            "sourceVersion": 1,
            "reservoirId": id_of(orders),
            "reservoirVersion": 3,
            "index": -1,
            "isStartingVersion": False,
        },
    }
    others = [
        {"description": "RateStream", "endOffset": 7},
        {"description": "x", "endOffset": None},
    ]
    query = SimpleNamespace(id=QUERY, lastProgress={"batchId": 4, "sources": [source, *others]})
    (row,) = lakebed.stream_progress(query).to_pylist()
    assert (row["batch"], row["version"], row["table"]) == (4, 2, orders.as_uri())
    assert row["files_behind"] == 1
    young = SimpleNamespace(id=QUERY, lastProgress=None)
    assert lakebed.stream_progress(young).num_rows == 0


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="not the checkpoint of a query"):
        lakebed.stream_progress(tmp_path)
    with pytest.raises(InvalidArgumentError, match="neither the checkpoint location"):
        lakebed.stream_progress(7)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("metadata", "{", "metadata is not JSON"),
        ("metadata", "{}", "metadata has no id"),
        ("offsets/0", "v9\n{}\n-", "begins with 'v9'"),
        ("offsets/0", "", "begins with ''"),
        ("offsets/0", "v1\n{}\n" + offset("x", 1).replace(":1,", ":2,", 1), "format 2"),
    ],
)
def test_a_damaged_checkpoint_is_an_error_that_names_the_file(
    orders: Path, tmp_path: Path, name: str, text: str, message: str
) -> None:
    folder = write_checkpoint(tmp_path / "c", {0: [offset(id_of(orders), 2)]}, 0)
    (folder / name).write_text(text)
    with pytest.raises(StreamOffsetError, match=message):
        lakebed.stream_progress(folder, orders)


def test_a_missing_offset_is_an_error(orders: Path, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "c", {0: [offset(id_of(orders), 2)]}, 0)
    (folder / "offsets" / "0").unlink()
    with pytest.raises(StreamOffsetError, match="offsets/0 is missing"):
        lakebed.stream_progress(folder)
