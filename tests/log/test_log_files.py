from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from strategies import Model, histories, key_of

from lakebed.errors import LogCorruptedError
from lakebed.formats import commit_file as commit
from lakebed.formats.file_actions import adds_from_table, adds_to_table, removes_to_table
from lakebed.log.file_state import FileState, MemoryFiles, empty_tail, tail_of
from lakebed.log.replay import Replay, TableHead, head_of
from lakebed.spec.actions import (
    Action,
    Add,
    CommitInfo,
    DeletionVector,
    DomainMetadata,
    Metadata,
    Protocol,
    Remove,
    Txn,
)
from testkit.tables.log_tables import file

VECTOR = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 40, 6)


def state(adds: Sequence[Add] = (), removes: Sequence[Remove] = ()) -> FileState:
    base = MemoryFiles(adds_to_table(adds), removes_to_table(removes))
    return FileState(base, empty_tail())


def live(files: FileState) -> list[str]:
    return sorted(files.live(["path"]).column("path").to_pylist())


def gone(files: FileState) -> list[str]:
    return sorted(files.tombstones(["path"]).column("path").to_pylist())


# --- the state of the files ---------------------------------------------------------------------


def test_a_removed_file_is_a_tombstone_and_an_added_one_is_none() -> None:
    files = state([file("a"), file("b")]).apply([file("c")], [Remove("a", True)])
    assert (live(files), gone(files)) == (["b", "c"], ["a"])
    back = files.apply([file("a")], [])
    assert (live(back), gone(back)) == (["a", "b", "c"], [])


def test_a_file_added_again_is_there_once_with_the_newest_words() -> None:
    files = state([file("a", size=1)]).apply([file("a", size=2)], [])
    assert files.live(["path", "size"]).to_pylist() == [{"path": "a", "size": 2}]


def test_a_new_vector_replaces_the_old_state_of_its_file() -> None:
    marked = file("a", deletion_vector=VECTOR)
    files = state([file("a"), file("b")]).apply([marked], [Remove("a", True)])
    assert adds_from_table(files.live()) == [
        Add(**{**vars(file("b"))}),
        Add(**{**vars(marked)}),
    ]
    assert gone(files) == ["a"]


def test_another_spelling_of_a_path_removes_the_file() -> None:
    files = state([file("/x/a"), file("file:/x/b")])
    after = files.apply([], [Remove("file:///x/a", True), Remove("/x/b", True)])
    assert live(after) == []


def test_the_state_before_stays_as_it_was() -> None:
    before = state([file("a")])
    before.live()
    after = before.apply([], [Remove("a", True)])
    assert (live(before), live(after)) == (["a"], [])


def test_parsed_statistics_of_a_base_are_null_for_what_came_later() -> None:
    adds = adds_to_table([file("a")])
    parsed = pa.array([{"numRecords": 4}])
    base = MemoryFiles(adds.append_column("stats_parsed", parsed), removes_to_table([]))
    files = FileState(base, empty_tail()).apply([file("b")], [])
    assert files.has_parsed_stats()
    found = files.live(["path", "stats_parsed"]).to_pylist()
    assert found == [
        {"path": "a", "stats_parsed": {"numRecords": 4}},
        {"path": "b", "stats_parsed": None},
    ]


def test_many_versions_on_end_stay_right_however_much_was_loaded() -> None:
    """Loaded columns serve the next versions up to some depth, and are left behind after it."""
    files = state([file("a0")])
    for number in range(1, 60):
        if number % 3:
            files.live(["path"])
        removes = [Remove(f"a{number // 2}", True)] if number % 2 else []
        files = files.apply([file(f"a{number}")], removes)
    expected = {f"a{n}" for n in range(60)} - {f"a{n // 2}" for n in range(1, 60, 2)}
    assert live(files) == sorted(expected)
    assert live(files.collapsed()) == sorted(expected)
    assert gone(files.collapsed()) == gone(files)


@settings(max_examples=30, deadline=None)
@given(histories())
def test_any_history_over_a_base_equals_the_model(history: list[list[Action]]) -> None:
    model = Model()
    model.commit(history[0])
    files = state([*model.live.values()], [*model.tombstones.values()])
    for actions in history[1:]:
        model.commit(actions)
        adds = [action for action in actions if isinstance(action, Add)]
        files = files.apply(adds, [action for action in actions if isinstance(action, Remove)])
        assert {key_of(add) for add in adds_from_table(files.live())} == set(model.live)
        assert files.tombstones().num_rows == len(model.tombstones)


def test_a_tail_knows_the_keys_and_paths_that_it_touches() -> None:
    tail = tail_of([file("a", deletion_vector=VECTOR)], [Remove("a", True)])
    assert tail.keys == {"a", f"a\0{VECTOR.unique_id}"}
    assert tail.paths == ("a", "a")


# --- replaying commits --------------------------------------------------------------------------


def replayed(*commits: Sequence[Action]) -> Replay:
    replay = Replay()
    for number, actions in reversed(list(enumerate(commits))):
        newest = number == len(commits) - 1
        name = f"{number}.json"
        replay.commit(commit.encode(actions, name), name, newest=newest)
    return replay


def test_the_newest_word_counts() -> None:
    head = replayed(
        [Protocol(1, 2), Metadata("old", "{}"), Txn("a", 5), DomainMetadata("d", "1")],
        [Protocol(1, 4), Metadata("new", "{}"), Txn("a", 3), DomainMetadata("d", "2")],
    ).head
    assert (head.protocol, head.metadata) == (Protocol(1, 4), Metadata("new", "{}"))
    assert head.transactions == {"a": Txn("a", 3)}
    assert head.domains == {"d": DomainMetadata("d", "2")}


def test_a_removed_domain_hides_older_ones() -> None:
    removed = DomainMetadata("d", "1", True)
    head = replayed([DomainMetadata("d", "1")], [removed]).head
    assert head.domains == {"d": removed}
    assert head.without_tombstones().domains == {}


def test_only_the_provenance_of_the_newest_commit_is_kept() -> None:
    head = replayed([CommitInfo({"n": 1})], [CommitInfo({"n": 2})]).head
    assert head.info is not None
    assert head.info.values["n"] == 2


def test_within_a_commit_the_later_line_counts() -> None:
    tail = replayed([file("a", size=1), file("a", size=2)]).files()
    assert tail.adds.column("size").to_pylist() == [2]


def test_actions_of_checkpoints_in_a_commit_are_passed_over() -> None:
    line = b'{"sidecar":{"path":"x","sizeInBytes":1,"modificationTime":1}}\n{"unknown":{}}\n'
    replay = Replay()
    replay.commit(line, "0.json")
    assert replay.head == TableHead()


def test_the_next_head_equals_the_replayed_one() -> None:
    commits = [
        [Protocol(1, 2), Metadata("old", "{}"), Txn("a", 5), DomainMetadata("d", "1")],
        [Txn("b", 1), DomainMetadata("d", "1", True)],
    ]
    first = head_of(commits[0])
    assert first.newer(commits[1]) == replayed(*commits).head.without_tombstones()
    assert first.domains == {"d": DomainMetadata("d", "1")}


@pytest.mark.parametrize(
    "add",
    [
        {"path": 5},
        {"path": "a"},
        {"path": "a", "partitionValues": [], "size": 1, "modificationTime": 1, "dataChange": True},
        {
            "path": "a",
            "partitionValues": {},
            "size": "1",
            "modificationTime": 1,
            "dataChange": True,
        },
        {
            "path": "a",
            "partitionValues": {},
            "size": 2**70,
            "modificationTime": 1,
            "dataChange": True,
        },
        {
            "path": "a",
            "partitionValues": {"p": 1},
            "size": 1,
            "modificationTime": 1,
            "dataChange": True,
        },
        {"path": "a", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": "yes"},
    ],
    ids=str,
)
def test_a_malformed_file_action_is_an_error_that_names_the_commit(add: dict) -> None:
    replay = Replay()
    with pytest.raises(LogCorruptedError) as caught:
        replay.commit(json.dumps({"add": add}).encode(), "7.json")
    assert caught.value.file == "7.json"


def test_numbers_that_are_whole_but_written_as_fractions_are_taken() -> None:
    add = {
        "path": "a",
        "partitionValues": {},
        "size": 5.0,
        "modificationTime": 1,
        "dataChange": True,
    }
    replay = Replay()
    replay.commit(json.dumps({"add": add}).encode(), "0.json")
    assert replay.files().adds.column("size").to_pylist() == [5]
