"""VACUUM says which streams could not go on after it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from checkpoints import offset, write_checkpoint
from deltalake import DeltaTable

import lakebed
from lakebed.errors import InvalidArgumentError
from testkit.readers.log_json import actions


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """Versions 0 to 3 add a file each; version 4 puts the four together."""
    path = tmp_path / "orders"
    for number in range(4):
        lakebed.write(path, rows(number), mode="append")
    DeltaTable(path).optimize.compact()
    time.sleep(0.1)
    return path


def id_of(path: Path) -> str:
    (metadata,) = [each["metaData"] for each in actions(path, 0) if "metaData" in each]
    return str(metadata["id"])


def forecast(path: Path, *checkpoints: Path, dry_run: bool = True) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        lakebed.open(path)
        .vacuum(0, enforce_retention=False, dry_run=dry_run, streams=checkpoints)
        .broken_streams.to_pylist()
    )
    return found


def test_a_stream_that_has_still_to_read_compacted_files_would_break(
    orders: Path, tmp_path: Path
) -> None:
    behind = write_checkpoint(tmp_path / "behind", {0: [offset(id_of(orders), 2)]}, 0)
    done = write_checkpoint(tmp_path / "done", {0: [offset(id_of(orders), 4)]}, 0)
    (found,) = forecast(orders, behind, done)
    assert found["checkpoint"] == behind.as_uri()
    assert (found["version"], found["files"], found["was_broken"]) == (1, 2, False)
    assert (found["change_files"], found["commits"]) == (0, False)


def test_the_report_shows_them(orders: Path, tmp_path: Path, caplog: Any) -> None:
    behind = write_checkpoint(tmp_path / "behind", {0: [offset(id_of(orders), 2)]}, 0)
    result = lakebed.open(orders).vacuum(0, enforce_retention=False, dry_run=True, streams=[behind])
    assert "would break   1 stream" in repr(result)
    assert f"{behind.as_uri()}  1           2 files" in repr(result)
    assert "2 files" in result._repr_html_()
    assert "would break the stream" in caplog.text
    without = lakebed.open(orders).vacuum(0, enforce_retention=False, dry_run=True)
    assert "break" not in repr(without)
    assert without.broken_streams.num_rows == 0


def test_inside_of_the_initial_snapshot_its_files_are_needed(orders: Path, tmp_path: Path) -> None:
    inside = offset(id_of(orders), 3, 1, is_initial=True)
    (found,) = forecast(orders, write_checkpoint(tmp_path / "c", {0: [inside]}, 0))
    assert (found["version"], found["files"]) == (3, 2)
    # In the newest version every file is live.
    newest = offset(id_of(orders), 4, is_initial=True)
    assert forecast(orders, write_checkpoint(tmp_path / "d", {0: [newest]}, 0)) == []


def test_after_the_deletion_the_stream_is_told_as_broken_before(
    orders: Path, tmp_path: Path
) -> None:
    behind = write_checkpoint(tmp_path / "behind", {0: [offset(id_of(orders), 2)]}, 0)
    (found,) = forecast(orders, behind, dry_run=False)
    assert (found["files"], found["was_broken"]) == (2, False)
    (again,) = forecast(orders, behind)
    assert (again["files"], again["was_broken"]) == (0, True)


def test_files_of_the_change_feed_are_counted_apart(tmp_path: Path) -> None:
    path = tmp_path / "t"
    properties = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "false"}
    lakebed.write(path, rows(1, 2, 3), properties=properties)
    lakebed.write(path, rows(9), mode="append")
    DeltaTable(path).delete("id = 2")
    time.sleep(0.1)
    behind = write_checkpoint(tmp_path / "c", {0: [offset(id_of(path), 2)]}, 0)
    cdc = [each for each in actions(path, 2) if "cdc" in each]
    (found,) = forecast(path, behind)
    assert (found["files"], found["change_files"]) == (0, len(cdc))


def test_the_checkpoint_of_a_stream_from_another_table_is_refused(
    orders: Path, tmp_path: Path
) -> None:
    other = write_checkpoint(tmp_path / "c", {0: [offset("another", 2)]}, 0)
    with pytest.raises(InvalidArgumentError, match="does not read"):
        forecast(orders, other)


def test_a_stream_that_has_not_begun_needs_nothing(orders: Path, tmp_path: Path) -> None:
    young = write_checkpoint(tmp_path / "c", {0: [offset(id_of(orders), 0)]}, None)
    assert forecast(orders, young) == []
