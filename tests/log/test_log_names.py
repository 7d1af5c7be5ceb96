from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.log.listing.log_names import (
    checksum_path,
    classic_checkpoint_path,
    commit_path,
    compaction_path,
    list_start,
    parse_name,
    part_checkpoint_path,
    unique_checkpoint_path,
)

versions = st.integers(0, 10**20 - 1)


def test_names_are_those_of_the_protocol() -> None:
    assert commit_path(7) == "_delta_log/00000000000000000007.json"
    assert checksum_path(7) == "_delta_log/00000000000000000007.crc"
    assert classic_checkpoint_path(7) == "_delta_log/00000000000000000007.checkpoint.parquet"
    assert (
        part_checkpoint_path(7, 1, 3)
        == "_delta_log/00000000000000000007.checkpoint.0000000001.0000000003.parquet"
    )
    assert (
        compaction_path(4, 6)
        == "_delta_log/00000000000000000004.00000000000000000006.compacted.json"
    )


@given(versions)
def test_every_name_is_understood_again(version: int) -> None:
    kinds = {
        commit_path: "commit",
        checksum_path: "checksum",
        classic_checkpoint_path: "checkpoint",
    }
    for write, kind in kinds.items():
        found = parse_name(write(version), 5, 6)
        assert found is not None
        assert (found.kind, found.version, found.size, found.modified_ms) == (kind, version, 5, 6)


@given(versions, st.sampled_from(["json", "parquet"]))
def test_v2_checkpoints_are_told_by_their_uuid(version: int, suffix: str) -> None:
    found = parse_name(unique_checkpoint_path(version, suffix))  # type: ignore[arg-type]
    assert found is not None
    assert (found.kind, found.version, found.is_json) == ("checkpoint", version, suffix == "json")
    assert found.unique is not None
    assert found.parts is None


@given(versions, st.integers(1, 10**10 - 1), st.integers(1, 10**10 - 1))
def test_parts_and_ends_are_numbers(version: int, part: int, parts: int) -> None:
    found = parse_name(part_checkpoint_path(version, part, parts))
    assert found is not None
    assert (found.part, found.parts, found.unique) == (part, parts, None)
    compacted = parse_name(compaction_path(version, parts))
    assert compacted is not None
    assert (compacted.kind, compacted.version, compacted.end_version) == (
        "compaction",
        version,
        parts,
    )


@pytest.mark.parametrize(
    "name",
    [
        "_last_checkpoint",
        "0.json",
        "00000000000000000001.tmp",
        "00000000000000000001.json.tmp",
        ".00000000000000000001.json.crc",
        "00000000000000000001.checkpoint.json",
        "00000000000000000001.checkpoint.1.2.parquet",
        "00000000000000000001.checkpoint.not-a-uuid.parquet",
        "00000000000000000001.00000000000000000002.json",
        "000000000000000000001.json",
        "0000000000000000000١.json",
        "x/00000000000000000001.json",
        "00000000000000000001.json\n",
    ],
)
def test_other_files_are_not_of_the_log(name: str) -> None:
    assert parse_name(f"_delta_log/{name}") is None


@given(versions, st.integers(0, 10**20 - 2))
def test_a_listing_from_a_version_sees_all_of_it_and_nothing_older(new: int, old: int) -> None:
    writers = [commit_path, checksum_path, classic_checkpoint_path]
    for write in writers:
        assert (write(old) >= list_start(new)) == (old >= new)
    assert compaction_path(new, new + 1 if new < 10**20 - 1 else new) >= list_start(new)
