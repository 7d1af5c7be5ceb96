"""Commits that would break the protocol are refused before anything is written."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakebed.errors import InvalidCommitError, SchemaError, UnsupportedFeatureError
from lakebed.spec.actions import (
    Action,
    AddCdc,
    CheckpointMetadata,
    CommitInfo,
    DomainMetadata,
    Protocol,
    Sidecar,
    Txn,
)
from lakebed.storage import Store
from lakebed.transaction import Operation, Transaction
from testkit.faults import FaultStore
from testkit.tables.small_tables import (
    PLAIN,
    WRITE,
    append,
    column,
    create,
    features,
    file,
    metadata,
    removal,
    vector,
)

VECTORS = features("deletionVectors", reader=("deletionVectors",))

ALONE: list[tuple[str, list[Action], str]] = [
    ("two metaData", [metadata(), metadata()], "two metaData actions"),
    ("two protocols", [PLAIN, PLAIN], "two protocol actions"),
    ("two txn of one app", [Txn("app", 1), Txn("app", 1)], "two txn actions .* app"),
    (
        "two of one domain",
        [DomainMetadata("d", ""), DomainMetadata("d", "", removed=True)],
        "two actions for the domain d",
    ),
    ("a file added twice", [file("a"), file("a")], "the file a is added twice"),
    (
        "a file added with two vectors",
        [file("a"), file("a", deletion_vector=vector())],
        "the file a is added twice",
    ),
    ("a file removed twice", [removal(file("a")), removal(file("a"))], "a is removed twice"),
    ("added and removed", [file("a"), removal(file("a"))], "is added and removed: a"),
    (
        "one absolute file in two spellings",
        [file("file:///x/a"), file("/x/a")],
        "the file /x/a is added twice",
    ),
    ("commitInfo", [CommitInfo({})], "a commitInfo action cannot be staged"),
    ("sidecar", [Sidecar("s", 1, 1)], "a sidecar action cannot be staged"),
    ("checkpointMetadata", [CheckpointMetadata(1)], "a checkpointMetadata action"),
    ("row ids by hand", [DomainMetadata("delta.rowTracking", "{}")], "belongs to the system"),
    ("an unknown system domain", [DomainMetadata("delta.x", "{}")], "belongs to the system"),
]


@pytest.mark.parametrize("case", ALONE, ids=lambda case: case[0])
def test_actions_that_contradict_each_other_are_refused(case, memory: Store) -> None:
    _, actions, message = case
    store = FaultStore(memory)
    snapshot = create(store)
    store.calls.clear()
    with pytest.raises(InvalidCommitError, match=message):
        append(snapshot, *actions)
    assert store.calls == []


def test_a_path_may_be_added_and_removed_with_different_vectors(memory: Store) -> None:
    snapshot = create(memory, VECTORS, metadata(), file("a"))
    after = append(snapshot, removal(file("a")), file("a", deletion_vector=vector()))
    assert after.files(["path"]).num_rows == 1


def test_clustering_is_a_system_domain_that_lakebed_knows(memory: Store) -> None:
    snapshot = create(memory, features("domainMetadata", "clustering"), metadata())
    after = append(snapshot, DomainMetadata("delta.clustering", '{"clusteringColumns":[]}'))
    assert "delta.clustering" in after.domains


@pytest.mark.parametrize("missing", ["protocol", "metaData"])
def test_the_first_commit_needs_protocol_and_metadata(missing: str, memory: Store) -> None:
    transaction = Transaction(None, store=memory, operation=WRITE)
    transaction.stage(metadata() if missing == "protocol" else PLAIN)
    with pytest.raises(InvalidCommitError, match="needs a protocol and a metaData"):
        transaction.commit()
    assert list(memory.list_all()) == []


PARTITIONED = metadata(partition_by=("p",))
NOT_NULL = metadata(column("p", nullable=False), column("id"), partition_by=("p",))
MAPPED = metadata(
    column("p", **{"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}),
    column("id", **{"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "col-2"}),
    partition_by=("p",),
    columnMapping__mode="name",
    columnMapping__maxColumnId="2",
)

TOGETHER: list[tuple[str, Callable[[Store], None], str]] = [
    (
        "no partition value",
        lambda store: append(create(store, PARTITIONED), file("a")),
        r"a has partition values for \[\], but the table is partitioned by \['p'\]",
    ),
    (
        "a partition value too many",
        lambda store: append(create(store), file("a", p=1)),
        r"a has partition values for \['p'\], but the table is partitioned by \[\]",
    ),
    (
        "partition values by logical name",
        lambda store: append(create(store, Protocol(2, 5), MAPPED), file("a", p=1)),
        r"partitioned by \['col-1'\]",
    ),
    (
        "null in a partition column that is not null",
        lambda store: append(create(store, NOT_NULL), AddCdc("c", {"p": None}, 1), file("a", p=1)),
        "c has no value for the partition column p",
    ),
    (
        "a deletion vector without the feature",
        lambda store: append(create(store), file("a", deletion_vector=vector())),
        "needs the table feature deletionVectors",
    ),
    (
        "a deletion vector without numRecords",
        lambda store: append(
            create(store, VECTORS), file("a", rows=None, deletion_vector=vector())
        ),
        "a has a deletion vector but no numRecords",
    ),
    (
        "a change file without the feature",
        lambda store: append(create(store), AddCdc("c", {}, 1)),
        "needs the table feature changeDataFeed",
    ),
    (
        "a domain without the feature",
        lambda store: append(create(store), DomainMetadata("d", "")),
        "needs the table feature domainMetadata",
    ),
    (
        "metadata that needs a feature",
        lambda store: append(create(store), metadata(enableInCommitTimestamps="true")),
        "the metadata needs .* inCommitTimestamp",
    ),
    (
        "a type that needs a feature",
        lambda store: create(store, metadata(column("t", "timestamp_ntz"))),
        "the metadata needs .* timestampNtz",
    ),
    (
        "a protocol that drops a feature",
        lambda store: append(create(store, features("domainMetadata")), features()),
        "would drop .* domainMetadata",
    ),
]


@pytest.mark.parametrize("case", TOGETHER, ids=lambda case: case[0])
def test_actions_that_do_not_fit_the_table_are_refused(case, memory: Store) -> None:
    _, commit, message = case
    with pytest.raises(InvalidCommitError, match=message):
        commit(memory)
    assert not memory.exists("_delta_log/00000000000000000001.json")


def test_an_operation_that_drops_features_may(memory: Store) -> None:
    snapshot = create(memory, features("domainMetadata"))
    drop = Operation("DROP FEATURE", changes_data=False, drops_features=True)
    assert append(snapshot, features(), operation=drop).protocol == features()


def test_physical_names_are_the_keys_of_partition_values(memory: Store) -> None:
    snapshot = create(memory, Protocol(2, 5), MAPPED)
    add = file("a")
    assert append(snapshot, type(add)(**{**vars(add), "partition_values": {"col-1": "1"}}))


def test_partition_columns_must_be_in_the_schema(memory: Store) -> None:
    with pytest.raises(SchemaError, match="nope"):
        create(memory, metadata(partition_by=("nope",)))
    assert list(memory.list_all()) == []


def test_a_feature_that_only_some_operations_handle_is_refused_by_the_others(
    memory: Store,
) -> None:
    generated = metadata(column("id", **{"delta.generationExpression": "1"}))
    transaction = Transaction(None, store=memory, operation=WRITE, handles=["generatedColumns"])
    transaction.stage(Protocol(1, 4), generated)
    snapshot = transaction.commit().unwrap().snapshot
    with pytest.raises(UnsupportedFeatureError, match="generatedColumns"):
        append(snapshot, file("a"))
    handled = Transaction(snapshot, operation=WRITE, handles=["generatedColumns"])
    handled.stage(file("a"))
    assert handled.commit().unwrap().version == 1
