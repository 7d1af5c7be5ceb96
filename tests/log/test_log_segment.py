from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import LogCorruptedError, TableNotFoundError, VersionNotFoundError
from lakebed.log.listing.log_names import (
    LogFile,
    checksum_path,
    classic_checkpoint_path,
    commit_path,
    compaction_path,
    parse_name,
    part_checkpoint_path,
)
from lakebed.log.listing.segment import LogSegment, build_segment


def parsed(*paths: str) -> list[LogFile]:
    found = [parse_name(path) for path in paths]
    assert None not in found
    return [file for file in found if file is not None]


def commits(*versions: int) -> list[LogFile]:
    return parsed(*map(commit_path, versions))


def checkpoint(version: int) -> list[LogFile]:
    return parsed(classic_checkpoint_path(version))


def parts(version: int, of: int, *present: int) -> list[LogFile]:
    return parsed(*(part_checkpoint_path(version, part, of) for part in present))


def unique(version: int, modified_ms: int = 0, number: int = 1) -> LogFile:
    path = f"_delta_log/{version:020d}.checkpoint.{uuid.UUID(int=number)}.parquet"
    found = parse_name(path, 1, modified_ms)
    assert found is not None
    return found


def shape(segment: LogSegment) -> tuple[int, int | None, list[int]]:
    at = None if segment.checkpoint is None else segment.checkpoint.version
    return segment.version, at, [file.version for file in segment.commits]


def test_without_checkpoints_all_commits_make_up_the_newest_version() -> None:
    assert shape(build_segment(commits(0, 1, 2))) == (2, None, [0, 1, 2])


def test_the_newest_checkpoint_saves_the_commits_up_to_it() -> None:
    files = [*commits(*range(8)), *checkpoint(2), *checkpoint(5)]
    assert shape(build_segment(files)) == (7, 5, [6, 7])


def test_time_travel_takes_no_checkpoint_that_is_newer() -> None:
    files = [*commits(*range(8)), *checkpoint(2), *checkpoint(5)]
    assert shape(build_segment(files, 4)) == (4, 2, [3, 4])
    assert shape(build_segment(files, 5)) == (5, 5, [])
    assert shape(build_segment(files, 1)) == (1, None, [0, 1])


def test_an_incomplete_checkpoint_in_parts_is_ignored() -> None:
    files = [*commits(*range(6)), *parts(2, 2, 1, 2), *parts(4, 3, 1, 3)]
    assert shape(build_segment(files)) == (5, 2, [3, 4, 5])


def test_parts_of_two_attempts_do_not_mix() -> None:
    files = [*commits(*range(4)), *parts(2, 2, 1), *parts(2, 3, 2, 3)]
    assert shape(build_segment(files)) == (3, None, [0, 1, 2, 3])
    complete = build_segment([*files, *parts(2, 3, 1)])
    assert complete.checkpoint is not None
    assert [file.part for file in complete.checkpoint.files] == [1, 2, 3]


def test_a_version_may_have_several_checkpoints() -> None:
    both = [*commits(0, 1), unique(1), *checkpoint(1), *parts(1, 2, 1, 2)]
    segment = build_segment(both)
    assert segment.checkpoint is not None
    assert len(segment.checkpoint.files) in (1, 2)


def test_of_two_v2_checkpoints_the_later_one_is_taken() -> None:
    older, newer = unique(1, 10, 2), unique(1, 20, 1)
    segment = build_segment([*commits(0, 1), newer, older])
    assert segment.checkpoint is not None
    assert segment.checkpoint.files == (newer,)


def test_a_checkpoint_alone_is_a_version() -> None:
    assert shape(build_segment(checkpoint(5))) == (5, 5, [])


def test_the_checksum_is_that_of_the_version() -> None:
    files = [*commits(0, 1, 2), *parsed(checksum_path(1), checksum_path(2))]
    found = build_segment(files, 1).checksum
    assert found is not None
    assert found.version == 1
    assert build_segment(files, 0).checksum is None


# --- what is missing ----------------------------------------------------------------------------


@pytest.mark.parametrize("files", [[], parsed(checksum_path(0)), parts(3, 2, 1)])
def test_a_log_without_commits_and_complete_checkpoints_is_no_table(files: list[LogFile]) -> None:
    with pytest.raises(TableNotFoundError):
        build_segment(files)


def test_a_version_that_is_yet_to_come_is_not_there() -> None:
    with pytest.raises(VersionNotFoundError, match="the newest is 2"):
        build_segment(commits(0, 1, 2), 3)


def test_a_hole_in_the_log_is_an_error_that_names_the_commits() -> None:
    with pytest.raises(LogCorruptedError, match=r"\[1, 2\]"):
        build_segment(commits(0, 3))
    with pytest.raises(LogCorruptedError, match=r"\[0\]"):
        build_segment(commits(1, 2))


def test_a_hole_before_the_checkpoint_does_not_matter() -> None:
    assert shape(build_segment([*commits(0, 4, 5), *checkpoint(3)])) == (5, 3, [4, 5])


def test_a_hole_after_the_wanted_version_does_not_matter() -> None:
    assert shape(build_segment(commits(0, 1, 3), 1)) == (1, None, [0, 1])


def test_a_hole_after_the_checkpoint_is_an_error() -> None:
    with pytest.raises(LogCorruptedError, match=r"\[4\]"):
        build_segment([*commits(0, 1, 2, 3, 5), *checkpoint(3)])


def test_versions_that_were_cleaned_up_say_so() -> None:
    files = [*commits(4, 5, 6, 7), *checkpoint(5)]
    for version in (0, 3, 4):
        with pytest.raises(VersionNotFoundError, match="the log starts at 5"):
            build_segment(files, version)


# --- compactions --------------------------------------------------------------------------------


def planned(segment: LogSegment) -> list[tuple[int, int]]:
    return [(file.version, file.end_version or file.version) for file in segment.plan()]


def test_compactions_stand_in_for_their_commits() -> None:
    files = [*commits(*range(8)), *parsed(compaction_path(1, 3), compaction_path(5, 6))]
    assert planned(build_segment(files)) == [(0, 0), (1, 3), (4, 4), (5, 6), (7, 7)]


def test_of_compactions_with_one_start_the_longest_is_taken() -> None:
    files = [*commits(*range(6)), *parsed(compaction_path(1, 2), compaction_path(1, 4))]
    assert planned(build_segment(files)) == [(0, 0), (1, 4), (5, 5)]


def test_compactions_that_reach_over_an_end_are_not_used() -> None:
    compactions = parsed(compaction_path(1, 4), compaction_path(2, 3), compaction_path(4, 7))
    files = [*commits(*range(8)), *checkpoint(1), *compactions]
    assert planned(build_segment(files, 5)) == [(2, 3), (4, 4), (5, 5)]


def test_a_compaction_does_not_replace_commits_that_are_missing() -> None:
    with pytest.raises(LogCorruptedError):
        build_segment([*commits(0, 3), *parsed(compaction_path(1, 2))])


@given(
    st.integers(0, 12),
    st.none() | st.integers(0, 12),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=6),
)
def test_a_plan_covers_every_version_after_the_checkpoint_exactly_once(
    newest: int, at: int | None, ranges: list[tuple[int, int]]
) -> None:
    files = commits(*range(newest + 1))
    files += checkpoint(at) if at is not None and at <= newest else []
    files += parsed(*(compaction_path(start, end) for start, end in ranges if start < end))
    segment = build_segment(files)
    start = 0 if segment.checkpoint is None else segment.checkpoint.version + 1
    covered = [v for first, last in planned(segment) for v in range(first, last + 1)]
    assert covered == list(range(start, newest + 1))
