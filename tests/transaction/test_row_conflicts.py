"""Two changes of the same file: which rows are in the way of which."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import (
    ConcurrentAppendError,
    ConcurrentDeleteDeleteError,
    ConcurrentDeleteReadError,
    ConcurrentDomainError,
    ConcurrentTransactionError,
    ConcurrentWriteError,
    ConflictError,
    DataFileError,
    MetadataChangedError,
    ProtocolChangedError,
    RowConflictError,
)
from lakebed.expressions import parse_predicate
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Remove
from lakebed.storage import Store, open_store
from lakebed.transaction import (
    Committed,
    Conflict,
    IsolationLevel,
    Operation,
    Transaction,
    is_retryable,
)
from testkit.tables.marked_tables import (
    DELETE,
    ONE,
    TRACKED,
    TWO,
    actions_of,
    delete,
    deletion,
    gone,
    live,
    marked_table,
    rows,
    vector_files,
)
from testkit.tables.small_tables import (
    append,
    create,
    features,
    file,
    new_memory_url,
    removal,
    vector,
)

UPDATE = Operation("UPDATE")


def refused(transaction: Transaction) -> ConflictError:
    outcome = transaction.commit()
    assert isinstance(outcome, Conflict), outcome
    return outcome.error


def looks_for(transaction: Transaction, sql: str, *paths: str) -> None:
    assert transaction.snapshot is not None
    transaction.read_files(parse_predicate(sql, transaction.snapshot.schema), paths)


# --- the same file ------------------------------------------------------------------------------


def test_different_rows_of_one_file_are_no_conflict(store: Store) -> None:
    snapshot = marked_table(store)
    late = deletion(snapshot, {"one": [1, 2]})
    looks_for(late, "id < 5", "one")
    delete(snapshot, {"one": [0, 9]})
    outcome = late.commit().unwrap()
    assert (outcome.version, outcome.attempts) == (2, 2)
    assert gone(store) == {"one": {0, 1, 2, 9}, "two": set()}
    winner, ours = actions_of(store, 1), actions_of(store, 2)
    assert ours[0]["remove"]["deletionVector"] == winner[1]["add"]["deletionVector"]
    assert outcome.snapshot.totals == TableLog(store).snapshot().totals


def test_the_same_row_is_a_conflict_that_names_it(store: Store) -> None:
    snapshot = delete(marked_table(store), {"one": [8]})
    late = deletion(snapshot, {"one": [1, 2, 3], "two": [4]})
    looks_for(late, "id < 15", "one", "two")
    delete(snapshot, {"one": [2, 3, 7]}, operation=UPDATE)
    error = refused(late)
    assert error.code == RowConflictError.code
    assert isinstance(error, ConcurrentDeleteDeleteError)
    assert (error.version, error.operation, error.files) == (2, "UPDATE", ("one",))
    assert error.rows == {"one": [2, 3]}
    assert "version 2 (UPDATE)" in error.message
    assert "2 of the rows" in error.message
    assert "one (rows 2, 3)" in error.message
    assert "version 2" in (error.hint or "")
    assert not is_retryable(error)
    assert gone(store) == {"one": {2, 3, 7, 8}, "two": set()}


def test_many_rows_in_dispute_are_counted_and_the_first_are_shown(memory: Store) -> None:
    snapshot = marked_table(memory, *(file(f"f{n}", rows=100) for n in range(7)))
    late = deletion(snapshot, {f"f{n}": range(60) for n in range(7)})
    delete(snapshot, {f"f{n}": range(50, 90) for n in range(7)})
    error = refused(late)
    assert isinstance(error, RowConflictError)
    assert error.rows == {f"f{n}": [50, 51, 52, 53, 54] for n in range(7)}
    assert "70 of the rows" in error.message
    assert "f0 (rows 50, 51, 52, 53, 54 and 5 more)" in error.message
    assert error.message.endswith("and 2 more files")


def test_the_last_rows_of_a_file_may_go_in_two_commits(store: Store) -> None:
    snapshot = marked_table(store)
    late = deletion(snapshot, {"one": range(5)})
    delete(snapshot, {"one": range(5, 10)})
    late.commit().unwrap()
    assert gone(store) == {"two": set()}
    assert list(actions_of(store, 2)[0]) == ["remove"]


def test_a_chain_of_winners_is_followed(store: Store) -> None:
    snapshot = delete(marked_table(store), {"two": [0]})
    late = deletion(snapshot, {"one": [9], "two": [9]})
    doomed = deletion(snapshot, {"two": [3, 8]})
    newest = snapshot
    for number in range(6):
        newest = delete(newest, {("one", "two")[number % 2]: [number]})
    newest = append(newest, file("three"))
    delete(newest, {"three": [0]})
    outcome = late.commit().unwrap()
    assert (outcome.version, outcome.attempts) == (10, 2)
    assert gone(store) == {"one": {0, 2, 4, 9}, "two": {0, 1, 3, 5, 9}, "three": {0}}
    error = refused(doomed)
    assert isinstance(error, RowConflictError)
    assert (error.version, error.rows) == (5, {"two": [3]})
    assert len(vector_files(store)) == 1 + 6 + 1 + 2 + 1


def test_a_mark_of_a_file_with_a_vector_follows_another(memory: Store) -> None:
    snapshot = delete(marked_table(memory), {"one": [1, 2, 3]})
    late = deletion(snapshot, {"one": [4]})
    delete(snapshot, {"one": [5]})
    late.commit().unwrap()
    assert gone(memory)["one"] == {1, 2, 3, 4, 5}


def test_a_file_committed_again_as_it_is_carries_its_news_along(memory: Store) -> None:
    snapshot = create(memory, features("domainMetadata"), ONE, TWO)
    snapshot = append(snapshot, TRACKED)
    late = deletion(snapshot, {"one": [4], "two": [5]})
    backfill = Transaction(snapshot, operation=Operation("ROW TRACKING BACKFILL"))
    better = replace(ONE, stats='{"numRecords":10,"nullCount":{"id":0}}', data_change=False)
    backfill.restage(better, replace(TWO, data_change=False))
    backfill.commit().unwrap()
    outcome = late.commit().unwrap()
    assert gone(memory) == {"one": {4}, "two": {5}}
    found = live(outcome.snapshot, "one")
    assert (found.base_row_id, found.default_row_commit_version) == (0, 2)
    assert found.stats == '{"numRecords":10,"nullCount":{"id":0},"tightBounds":false}'
    assert found.data_change
    removes = [action for action in outcome.actions if isinstance(action, Remove)]
    assert [remove.base_row_id for remove in removes] == [0, 10]


# --- files that are gone ------------------------------------------------------------------------


def test_a_pure_delete_of_the_file_took_the_same_rows(store: Store) -> None:
    snapshot = marked_table(store)
    late = deletion(snapshot, {"one": [1, 2]})
    append(snapshot, removal(ONE), operation=DELETE)
    error = refused(late)
    assert isinstance(error, RowConflictError)
    assert error.rows == {"one": [1, 2]}


def test_a_delete_that_emptied_one_file_and_marked_another_is_a_pure_delete(store: Store) -> None:
    snapshot = marked_table(store)
    late = deletion(snapshot, {"one": [1], "two": [5]})
    delete(snapshot, {"one": range(10), "two": [0]})
    error = refused(late)
    assert isinstance(error, RowConflictError)
    assert error.rows == {"one": [1]}


def test_rows_that_may_live_on_elsewhere_have_to_be_looked_for_again() -> None:
    def compaction(snapshot: Snapshot) -> None:
        moved = replace(file("all"), data_change=False)
        removes = (removal(ONE, data_change=False), removal(TWO, data_change=False))
        append(snapshot, *removes, moved, operation=Operation("OPTIMIZE"))

    def rewrite(snapshot: Snapshot) -> None:
        append(snapshot, removal(ONE), file("rest", ids=(100, 101)), operation=UPDATE)

    def quiet_removal(snapshot: Snapshot) -> None:
        append(snapshot, removal(ONE, data_change=False))

    for winner in (compaction, rewrite, quiet_removal):
        snapshot = marked_table(open_store(new_memory_url()))
        late = deletion(snapshot, {"one": [1]})
        looks_for(late, "id < 5", "one")
        winner(snapshot)
        error = refused(late)
        assert error.code == ConcurrentDeleteReadError.code, winner
        assert error.files == ("one",)
        assert is_retryable(error)


def test_a_compaction_of_other_files_is_in_nobodys_way(memory: Store) -> None:
    snapshot = marked_table(memory)
    late = deletion(snapshot, {"one": [1]})
    looks_for(late, "id < 5", "one")
    moved = replace(file("moved", ids=(10, 19)), data_change=False)
    append(snapshot, removal(TWO, data_change=False), moved)
    late.commit().unwrap()
    assert gone(memory) == {"one": {1}, "moved": set()}


# --- files that came ----------------------------------------------------------------------------


@pytest.mark.parametrize(("ids", "covered"), [((100, 101), False), ((3, 101), True)])
def test_new_versions_of_rows_matter_if_the_predicate_meets_them(
    ids: tuple[int, int], covered: bool, memory: Store
) -> None:
    snapshot = marked_table(memory)
    late = deletion(snapshot, {"one": [1]}, file("ours"), operation=UPDATE)
    looks_for(late, "id < 5", "one")
    delete(snapshot, {"one": [7]}, file("theirs", ids=ids), operation=UPDATE)
    if not covered:
        late.commit().unwrap()
        assert gone(memory) == {"one": {1, 7}, "two": set(), "ours": set(), "theirs": set()}
        return
    error = refused(late)
    assert error.code == ConcurrentAppendError.code
    assert error.files == ("theirs",)
    assert is_retryable(error)


def test_a_file_that_only_lost_rows_was_not_appended(memory: Store) -> None:
    """Neither for those who marked it nor for those who looked for other rows."""
    snapshot = delete(marked_table(memory), {"one": [0]})
    reader = Transaction(snapshot, operation=UPDATE, isolation=IsolationLevel.SERIALIZABLE)
    looks_for(reader, "id < 25", "two")
    reader.stage(file("ours", ids=(50, 51)))
    delete(snapshot, {"one": [1]})
    reader.commit().unwrap()


def test_a_file_that_got_rows_back_was_appended(memory: Store) -> None:
    before = marked_table(memory)
    snapshot = delete(before, {"one": [0, 1, 2]})
    marker = deletion(snapshot, {"one": [5]}, isolation=IsolationLevel.SERIALIZABLE)
    looks_for(marker, "id < 25", "one", "two")
    indifferent = deletion(snapshot, {"one": [5]})
    restored = deletion(snapshot, {"two": [1]}, operation=Operation("RESTORE"))
    restored.stage(removal(live(snapshot, "one")), ONE)
    restored.commit().unwrap()
    error = refused(marker)
    assert error.code == ConcurrentAppendError.code
    assert error.files == ("one",)
    indifferent.commit().unwrap()
    assert gone(memory) == {"one": {5}, "two": {1}}


def test_a_file_committed_again_with_better_statistics_was_not_appended(memory: Store) -> None:
    snapshot = delete(marked_table(memory), {"two": [0]})
    late = Transaction(snapshot, operation=UPDATE, isolation=IsolationLevel.SERIALIZABLE)
    looks_for(late, "id < 25")
    late.stage(file("ours"))
    better = Transaction(snapshot, operation=Operation("COMPUTE STATS", changes_data=False))
    better.restage(*(replace(live(snapshot, p), data_change=False) for p in ("one", "two")))
    better.commit().unwrap()
    late.commit().unwrap()


def test_files_of_unknown_origin_that_change_no_data_are_appended(memory: Store) -> None:
    """Rearranged by a commit that says so; where the rows come from is not known."""
    snapshot = marked_table(memory)
    late = Transaction(snapshot, operation=UPDATE, isolation=IsolationLevel.SERIALIZABLE)
    looks_for(late, "id < 25")
    late.stage(file("ours"))
    append(snapshot, replace(file("moved"), data_change=False), removal(TWO, data_change=False))
    assert refused(late).code == ConcurrentAppendError.code


# --- what depends on more than single rows ------------------------------------------------------


def test_who_has_read_the_whole_table_depends_on_every_row(memory: Store) -> None:
    snapshot = marked_table(memory)
    late = deletion(snapshot, {"one": [1]})
    late.read_whole_table()
    delete(snapshot, {"one": [2]})
    assert refused(late).code == ConcurrentDeleteReadError.code


def test_who_has_read_a_file_without_marking_it_depends_on_its_rows(memory: Store) -> None:
    snapshot = marked_table(memory)
    late = deletion(snapshot, {"one": [1]})
    late.read_paths(["two"])
    delete(snapshot, {"two": [2]})
    assert refused(late).code == ConcurrentDeleteReadError.code


@pytest.mark.parametrize(("winner", "fine"), [([3], False), ([4], True)])
def test_rows_that_were_seen_must_stay(winner: list[int], fine: bool, memory: Store) -> None:
    snapshot = marked_table(memory)
    for path, marked in (("one", rows(1)), ("two", rows())):
        late = Transaction(snapshot, operation=Operation("MERGE"))
        late.mark_rows(live(snapshot, path), marked, seen=rows(2, 3))
        late.stage(file(f"inserted-{path}"))
        snapshot = delete(snapshot, {path: winner})
        if fine:
            snapshot = late.commit().unwrap().snapshot
            continue
        error = refused(late)
        assert error.code == ConcurrentDeleteReadError.code
        assert error.files == (path,)


def test_rows_that_were_only_seen_ask_nothing_of_the_table(memory: Store) -> None:
    snapshot = create(memory, file("bare", rows=None))
    merge = Transaction(snapshot, operation=Operation("MERGE"))
    merge.mark_rows(live(snapshot, "bare"), rows(), seen=rows(1))
    merge.stage(file("inserted"))
    merge.commit().unwrap()
    assert gone(memory) == {"bare": set(), "inserted": set()}


def test_a_file_that_was_looked_through_in_vain_may_go(memory: Store) -> None:
    snapshot = marked_table(memory)
    late = deletion(snapshot, {"one": [], "two": [3]})
    append(snapshot, removal(ONE), operation=DELETE)
    late.commit().unwrap()
    assert gone(memory) == {"two": {3}}


def test_a_delete_of_the_whole_file_does_not_overlook_marks(memory: Store) -> None:
    """Whoever rewrites a file would bring the rows back that somebody has marked meanwhile."""
    snapshot = marked_table(memory)
    late = Transaction(snapshot, operation=UPDATE)
    late.stage(removal(ONE), file("rewritten"))
    delete(snapshot, {"one": [2]})
    error = refused(late)
    assert error.code == ConcurrentDeleteDeleteError.code
    assert is_retryable(error)


def test_a_vector_that_cannot_be_read_is_an_error_and_nothing_is_committed(memory: Store) -> None:
    snapshot = marked_table(memory)
    late = deletion(snapshot, {"one": [2]})
    append(snapshot, removal(ONE), replace(ONE, deletion_vector=vector()))
    with pytest.raises(DataFileError, match="deletion vector"):
        late.commit()
    assert TableLog(memory).snapshot().version == 1


# --- as whole files -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ((), ConcurrentDeleteDeleteError),
        (("id > 50", "one"), ConcurrentDeleteReadError),
        (("id < 5", "one"), ConcurrentAppendError),
    ],
)
def test_without_row_level_marks_conflict_as_whole_files(
    looks: tuple[str, ...], expected: type[ConflictError], memory: Store
) -> None:
    snapshot = marked_table(memory)
    late = deletion(snapshot, {"one": [1]}, row_level=False)
    if looks:
        looks_for(late, *looks)
    delete(snapshot, {"one": [2]})
    error = refused(late)
    assert error.code == expected.code
    assert is_retryable(error)


def test_without_row_level_marks_of_other_files_commit(memory: Store) -> None:
    snapshot = marked_table(memory)
    late = deletion(snapshot, {"one": [1]}, row_level=False)
    delete(snapshot, {"two": [1]})
    late.commit().unwrap()
    assert gone(memory) == {"one": {1}, "two": {1}}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (ConcurrentAppendError, True),
        (ConcurrentDeleteReadError, True),
        (ConcurrentDeleteDeleteError, True),
        (RowConflictError, False),
        (MetadataChangedError, False),
        (ProtocolChangedError, False),
        (ConcurrentTransactionError, False),
        (ConcurrentDomainError, False),
        (ConcurrentWriteError, False),
    ],
)
def test_which_conflicts_a_command_may_settle_by_itself(
    kind: type[ConflictError], expected: bool
) -> None:
    assert is_retryable(kind("x")) is expected


def test_threads_that_mark_rows_of_the_same_files_all_get_through(store: Store) -> None:
    snapshot = marked_table(store, file("one", rows=100), file("two", rows=100))
    marks = {path: [range(n, 80, 8) for n in range(8)] for path in ("one", "two")}

    def work(number: int) -> Committed:
        mine = {path: indexes[number] for path, indexes in marks.items()}
        return deletion(snapshot, mine).commit().unwrap()

    with ThreadPoolExecutor(8) as pool:
        versions = sorted(outcome.version for outcome in pool.map(work, range(8)))
    assert versions == list(range(1, 9))
    assert gone(store) == {"one": set(range(80)), "two": set(range(80))}


# --- any mixture --------------------------------------------------------------------------------

INDEXES = st.frozensets(st.integers(0, 9), max_size=4)
MARKS = st.fixed_dictionaries({}, optional={"one": INDEXES, "two": INDEXES})


@settings(max_examples=150, deadline=None)
@given(INDEXES, st.lists(st.tuples(MARKS, st.booleans()), min_size=2, max_size=6))
def test_what_is_acknowledged_is_gone_and_what_is_refused_overlapped(start, steps) -> None:
    """All start from one snapshot. A step is its marks, and whether it appends new versions."""
    store = open_store(new_memory_url())
    snapshot = marked_table(store)
    if start:
        snapshot = delete(snapshot, {"one": start})
    begun = [begin(snapshot, number, start, *step) for number, step in enumerate(steps)]
    expected: dict[str, set[int]] = {"one": set(start), "two": set()}
    mine: dict[str, set[int]] = {"one": set(), "two": set()}
    appended: set[str] = set()
    for number, (transaction, marks) in enumerate(begun):
        overlap = {path: indexes & mine[path] for path, indexes in marks.items()}
        outcome = transaction.commit()
        if any(overlap.values()):
            assert isinstance(outcome, Conflict)
            error = outcome.error
            assert isinstance(error, RowConflictError)
            for path, shown in error.rows.items():
                assert set(shown) <= overlap[path]
                assert shown
            continue
        assert isinstance(outcome, Committed), outcome
        for path, indexes in marks.items():
            expected[path] |= indexes
            mine[path] |= indexes
        if steps[number][1]:
            appended.add(f"new-{number}")
        left = {path: found for path, found in expected.items() if len(found) < 10}
        assert gone(store) == left | {path: set() for path in appended}
    check_totals(store)


def begin(
    snapshot: Snapshot, number: int, start: frozenset[int], wanted, appends: bool
) -> tuple[Transaction, dict[str, set[int]]]:
    marks = {
        path: set(indexes) - (start if path == "one" else set()) for path, indexes in wanted.items()
    }
    new = [file(f"new-{number}", ids=(100, 200))] if appends else []
    transaction = deletion(snapshot, marks, *new, isolation=IsolationLevel.SERIALIZABLE)
    looks_for(transaction, "id < 20", *marks)
    return transaction, marks


def check_totals(store: Store) -> None:
    """What was carried along from commit to commit is what a count of the newest version gives."""
    log = TableLog(store)
    newest = log.snapshot()
    counted = newest.files(["path", "deletionVector"]).num_rows
    assert newest.totals.num_files == counted
