from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import LogCorruptedError
from lakebed.formats import commit, digest
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
    data = commit.encode(actions)
    assert digest.is_sealed(data)
    assert commit.decode_actions(data, "x.json") == actions


@given(any_order, st.data())
def test_a_changed_byte_is_found_unless_it_hides_the_digest(
    actions: list[Action], data: st.DataObject
) -> None:
    body = bytearray(commit.encode(actions))
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] ^= 1 << data.draw(st.integers(0, 7))
    name = f'"{digest.FIELD}":"'.encode()
    place = commit.encode(actions).index(name)
    try:
        commit.decode_actions(bytes(body), "x.json")
    except LogCorruptedError as error:
        message = error.message
    else:
        # Under another name it is an unknown field of another writer, and all else is as it was.
        message = "x.json" if place <= at < place + len(name) else "not found"
    assert "x.json" in message


def test_commit_info_is_read_without_the_digest() -> None:
    info = commit.decode_commit_info(commit.encode(ACTIONS), "x.json")
    assert info == ACTIONS[0]
    assert commit.decode_commit_info(commit.encode(ACTIONS[1:]), "x.json") is None


def test_wanted_classes_limit_what_is_read() -> None:
    data = commit.encode(ACTIONS)
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
        (b'{"txn":{"appId":"a"}}', "version"),
    ],
)
def test_what_is_no_commit_is_an_error_that_names_the_file(data: bytes, message: str) -> None:
    with pytest.raises(LogCorruptedError, match=message) as caught:
        commit.decode_actions(data, "x.json")
    assert caught.value.file == "x.json"
