"""The rules of MERGE's clauses that need no data. No Spark here: a source is any object."""

from __future__ import annotations

from itertools import product
from typing import Any, get_args

import pytest

from lakebed.commands.merge.merge_request import Action, Clause, Kind, MergeRequest
from lakebed.errors import InvalidArgumentError

SOURCE: Any = object()
# From the syntax of MERGE in SQL, not from the code.
ALLOWED = {
    ("matched", "update"),
    ("matched", "update_all"),
    ("matched", "delete"),
    ("not_matched", "insert"),
    ("not_matched", "insert_all"),
    ("not_matched_by_source", "update"),
    ("not_matched_by_source", "delete"),
}


def request(*clauses: Clause) -> MergeRequest:
    return MergeRequest(SOURCE, "t.id = s.id", clauses)


@pytest.mark.parametrize(("kind", "action"), list(product(get_args(Kind), get_args(Action))))
def test_each_kind_of_clause_has_its_own_actions(kind: Kind, action: Action) -> None:
    if (kind, action) in ALLOWED:
        assert request(Clause(kind, action)).clauses[0].action == action
        return
    with pytest.raises(InvalidArgumentError, match=kind.replace("_", " ").upper()) as caught:
        Clause(kind, action)
    named = {a.upper().replace("_ALL", " *") for k, a in ALLOWED if k == kind}
    assert caught.value.hint is not None
    assert set(caught.value.hint.removeprefix("its actions are ").split(", ")) == named


def test_a_kind_of_clause_that_does_not_exist_is_refused() -> None:
    unknown: Any = "unmatched"
    with pytest.raises(InvalidArgumentError, match="unmatched") as caught:
        Clause(unknown, "delete")
    assert "not_matched_by_source" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "action"),
    [("matched", "update_all"), ("matched", "delete"), ("not_matched", "insert_all")],
)
def test_actions_on_whole_rows_take_no_values(kind: Kind, action: Action) -> None:
    with pytest.raises(InvalidArgumentError, match="takes no values"):
        Clause(kind, action, values={"id": "1"})


def test_a_merge_without_clauses_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="without a WHEN clause"):
        request()


@pytest.mark.parametrize(
    ("kind", "action"),
    [("matched", "delete"), ("not_matched", "insert_all"), ("not_matched_by_source", "delete")],
)
def test_only_the_last_clause_of_a_kind_may_omit_the_condition(kind: Kind, action: Action) -> None:
    bare, guarded = Clause(kind, action), Clause(kind, action, "id > 1")
    assert request(guarded, guarded, bare).clauses == (guarded, guarded, bare)
    for clauses in [(bare, guarded), (bare, bare), (guarded, bare, guarded)]:
        with pytest.raises(InvalidArgumentError, match="only the last one may omit") as caught:
            request(*clauses)
        number = clauses.index(bare) + 1
        assert f"of the {len(clauses)} WHEN {kind.replace('_', ' ').upper()}" in str(caught.value)
        assert f"number {number} has no condition" in str(caught.value)


def test_clauses_of_different_kinds_do_not_stand_in_each_others_way() -> None:
    clauses = (
        Clause("matched", "delete"),
        Clause("not_matched", "insert_all"),
        Clause("not_matched_by_source", "delete"),
    )
    assert request(*clauses).clauses == clauses


def test_a_clause_reads_like_sql() -> None:
    assert str(Clause("matched", "update_all")) == "WHEN MATCHED THEN UPDATE *"
    by_source = Clause("not_matched_by_source", "delete", "t.id > 3")
    assert str(by_source) == "WHEN NOT MATCHED BY SOURCE AND t.id > 3 THEN DELETE"
