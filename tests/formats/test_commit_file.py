from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import LogCorruptedError
from lakebed.formats import commit_file as commit
from lakebed.formats import digest
from lakebed.spec.actions import (
    Action,
    Add,
    CheckpointMetadata,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    Remove,
    Txn,
)

ACTIONS: list[Action] = [
    CommitInfo({"operation": "WRITE", "n": 1}),
    Protocol(1, 2),
    Metadata("id", "{}"),
    Add("a", {"p": None}, 1, 2, True, "{}", {"t": "u"}, extra={"future": {"x": [1]}}),
    Remove("b", True, 5),
    Txn("app", 1),
    DomainMetadata("d", "{}"),
    CheckpointMetadata(3, {"t": "u"}),
]

any_order = st.permutations(ACTIONS).flatmap(
    lambda actions: st.integers(1, len(actions)).map(lambda count: actions[:count])
)


@given(any_order)
def test_actions_are_read_as_they_were_written_without_the_digest(actions: list[Action]) -> None:
    data = commit.encode(actions, "x.json")
    assert digest.has_digest(data)
    assert commit.decode_actions(data, "x.json") == actions


@given(any_order, st.data())
def test_a_changed_byte_is_found_even_where_it_hides_the_digest(
    actions: list[Action], data: st.DataObject
) -> None:
    body = bytearray(commit.encode(actions, "x.json"))
    body[data.draw(st.integers(0, len(body) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(LogCorruptedError, match=r"x\.json"):
        commit.decode_actions(bytes(body), "x.json")


@given(any_order, st.data())
def test_a_file_that_lost_lines_is_not_taken_for_one_of_another_writer(
    actions: list[Action], data: st.DataObject
) -> None:
    lines = commit.encode(actions, "x.json").splitlines(keepends=True)
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first + 1, len(lines)))
    with pytest.raises(LogCorruptedError, match=r"x\.json"):
        commit.decode_actions(b"".join(lines[:first] + lines[last:]), "x.json")


def test_a_commit_in_the_place_of_another_is_an_error() -> None:
    data = commit.encode(ACTIONS, "_delta_log/4.json")
    assert commit.decode_actions(data, "elsewhere/4.json") == ACTIONS
    with pytest.raises(LogCorruptedError, match="digest"):
        commit.decode_actions(data, "_delta_log/5.json")


def test_commit_info_is_read_without_the_digest() -> None:
    info = commit.decode_commit_info(commit.encode(ACTIONS, "x.json"), "x.json")
    assert info == ACTIONS[0]
    assert commit.decode_commit_info(commit.encode(ACTIONS[1:], "x.json"), "x.json") is None


@pytest.mark.parametrize("data", [b"", b"\0\0\0", b'{"version":3}', b'{"add":{}}\n{'])
def test_commit_info_of_what_is_no_commit_is_an_error(data: bytes) -> None:
    with pytest.raises(LogCorruptedError, match=r"x\.json"):
        commit.decode_commit_info(data, "x.json")


def test_wanted_classes_limit_what_is_read() -> None:
    data = commit.encode(ACTIONS, "x")
    assert commit.decode_actions(data, "x", [Txn, Add]) == [ACTIONS[3], ACTIONS[5]]


def test_unknown_actions_and_empty_lines_are_passed_over() -> None:
    data = b'\n{"unknown":{"a":1}}\r\n{"txn":{"appId":"a","version":1}}\n\n{"add":null}\n'
    assert commit.decode_actions(data, "x") == [Txn("a", 1)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"{", "line 1 is not JSON"),
        (b'{"txn":{"appId":"a","version":1}}\n[]', "line 2 is not a JSON object"),
        (b'{"add":[]}', "'add' is not an object"),
        (b'{"version":3,"size":7}', "'version' is not an object"),
        (b'{"txn":{"appId":"a"}}', "version"),
    ],
)
def test_what_is_no_commit_is_an_error_that_names_the_file(data: bytes, message: str) -> None:
    with pytest.raises(LogCorruptedError, match=message) as caught:
        commit.decode_actions(data, "x.json")
    assert caught.value.file == "x.json"
