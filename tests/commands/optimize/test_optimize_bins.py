"""Which files go together, by their sizes and vectors alone."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from lakebed.commands.optimize.file_selection import (
    batches,
    changes_something,
    cube_of,
    deleted_share,
    in_cube,
    live_bytes,
    packed,
    to_cluster,
    with_deleted_rows,
    worth_compacting,
)
from lakebed.commands.optimize.optimize_request import Sizes
from lakebed.spec.actions import Add, DeletionVector

COLUMNS = ["a", "b"]


def add(path: str, size: int, *, part: str | None = None, rows: int = 100, deleted: int = 0) -> Add:
    vector = DeletionVector("u", "x" * 20, 10, deleted, 1) if deleted else None
    return Add(
        path,
        {} if part is None else {"part": part},
        size,
        0,
        True,
        stats=json.dumps({"numRecords": rows}) if rows else None,
        deletion_vector=vector,
    )


def test_small_files_and_those_with_many_deleted_rows_are_worth_it() -> None:
    sizes = Sizes(min_file=100, max_file=100, max_deleted=0.05)
    small, large = add("small", 99), add("large", 100)
    dead, hardly = add("dead", 500, deleted=6), add("hardly", 500, deleted=5)
    unknown = add("unknown", 500, rows=0, deleted=1)
    chosen = worth_compacting([small, large, dead, hardly, unknown], sizes)
    assert [each.path for each in chosen] == ["small", "dead", "unknown"]
    assert with_deleted_rows([small, dead, hardly, unknown]) == [dead, hardly, unknown]
    assert (deleted_share(dead), deleted_share(unknown)) == (0.06, 1.0)
    assert live_bytes(dead) == 470


def test_bins_have_one_partition_and_hold_their_limit() -> None:
    adds = [add(f"{part}{size}", size, part=part) for part in "xy" for size in (70, 20, 30, 60)]
    bins = packed(adds, 100)
    assert [[each.path for each in one.adds] for one in bins] == [
        ["x20", "x30"],
        ["x60"],
        ["x70"],
        ["y20", "y30"],
        ["y60"],
        ["y70"],
    ]
    sizes = Sizes(100, 100)
    assert [changes_something(one, sizes) for one in bins[:3]] == [True, False, False]
    assert changes_something(packed([add("d", 60, deleted=50)], 100)[0], sizes)


@given(
    st.lists(st.tuples(st.integers(1, 300), st.sampled_from("abc")), max_size=40),
    st.integers(1, 200),
)
def test_every_file_is_in_one_bin(files: list[tuple[int, str]], most: int) -> None:
    adds = [add(str(number), size, part=part) for number, (size, part) in enumerate(files)]
    bins = packed(adds, most)
    assert sorted(each.path for one in bins for each in one.adds) == sorted(a.path for a in adds)
    for one in bins:
        assert len(one.adds) == 1 or one.size <= most
        assert len({each.partition_values["part"] for each in one.adds}) == 1
    joined = batches(bins, 2 * most)
    assert [one for batch in joined for one in batch] == bins
    assert all(batch for batch in joined)


def test_only_what_is_in_no_cube_is_clustered() -> None:
    old = in_cube([add("big", 1000)], COLUMNS)
    new = [add("new1", 10), add("new2", 20)]
    assert to_cluster([*old, *new], COLUMNS, 100) == new
    assert to_cluster(old, COLUMNS, 100) == []
    assert cube_of(old[0], COLUMNS) is not None
    assert cube_of(old[0], ["a"]) is None


def test_four_cubes_of_about_a_size_are_taken_along() -> None:
    sizes = [16, 30, 40, 63]
    cubes = [each for size in sizes for each in in_cube([add(f"c{size}", size)], COLUMNS)]
    other = in_cube([add("other", 64)], COLUMNS)
    new = [add("new", 1)]
    chosen = to_cluster([*cubes, *other, *new], COLUMNS, 100)
    assert [each.path for each in chosen] == ["new", "c16", "c30", "c40", "c63"]
    assert to_cluster([*cubes[:3], *other, *new], COLUMNS, 100) == new
    assert to_cluster([*cubes, *other, *new], COLUMNS, 10) == new


def test_files_of_other_columns_wait_for_a_full_run() -> None:
    other = in_cube([add("other", 10)], ["a"])
    own = in_cube([add("own", 1000)], COLUMNS)
    assert to_cluster([*other, *own], COLUMNS, 100) == []
    assert {a.path for a in to_cluster([*other, *own], COLUMNS, 9, full=True)} == {"other", "own"}
    assert to_cluster(own, COLUMNS, 100, full=True) == []


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=60), st.integers(1, 1000))
def test_rewritten_bytes_stay_in_proportion(appended: list[int], max_file: int) -> None:
    """A run rewrites what came, and at most as much again or four files."""
    files: list[Add] = []
    for number, size in enumerate(appended):
        files, rewritten = clustered(files, add(f"n{number}", size), max_file)
        assert rewritten <= size + max(size, 4 * max_file)
    assert sum(each.size for each in files) == sum(appended)


def test_equal_appends_make_few_cubes_and_little_work() -> None:
    files: list[Add] = []
    work = 0
    for number in range(256):
        files, rewritten = clustered(files, add(f"n{number}", 100), 1 << 20)
        work += rewritten
    assert len(files) <= 3 * 5
    assert work <= 5 * 256 * 100


def clustered(files: list[Add], new: Add, max_file: int) -> tuple[list[Add], int]:
    """The files after a run, and the bytes that it rewrote."""
    chosen = to_cluster([*files, new], COLUMNS, max_file)
    size = sum(each.size for each in chosen)
    paths = {each.path for each in chosen}
    left = [each for each in files if each.path not in paths]
    return [*left, *in_cube([add(f"m{new.path}", size)], COLUMNS)], size
