"""Metadata that changed meanwhile: what a commit prepared before can live with, and what not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conflict_cases import APPENDS, METADATA, ONE, SERIALIZABLE, Step, run, sets, stages

from lakebed.errors import MetadataChangedError
from lakebed.spec.actions import Protocol
from lakebed.storage import Store
from lakebed.transaction import Committed, Conflict, Operation, Transaction
from testkit.tables.small_tables import column, create, features, file, metadata

# Features that were turned on meanwhile, and what a commit prepared before makes of it.
TURNED_ON = [
    ({"enableDeletionVectors": "true"}, True),
    ({"enableDeletionVectors": "false"}, False),
    ({"enableInCommitTimestamps": "true"}, True),
    ({"checkpointPolicy": "v2"}, True),
    ({"checkpointPolicy": "classic"}, False),
    (
        {
            "enableRowTracking": "true",
            "rowTracking__materializedRowIdColumnName": "r",
            "rowTracking__materializedRowCommitVersionColumnName": "v",
        },
        True,
    ),
    ({"rowTracking__materializedRowIdColumnName": "r"}, False),
    ({"logRetentionDuration": "interval 60 days"}, False),
]


@pytest.mark.parametrize(("configuration", "goes_on"), TURNED_ON, ids=str)
def test_a_feature_turned_on_meanwhile(
    configuration: dict[str, str], goes_on: bool, memory: Store
) -> None:
    outcome = run(memory, (sets(**configuration),), (APPENDS,), SERIALIZABLE)
    assert isinstance(outcome, Committed) is goes_on
    if goes_on:
        assert isinstance(outcome, Committed)
        assert outcome.snapshot.metadata.configuration.keys() >= {
            f"delta.{key.replace('__', '.')}" for key in configuration
        }
    else:
        assert isinstance(outcome, Conflict)
        assert isinstance(outcome.error, MetadataChangedError)


def test_a_feature_added_and_turned_on_meanwhile_is_met_on_the_fly(memory: Store) -> None:
    plain = create(memory, features("domainMetadata"), METADATA, ONE)
    upgrade = stages(features("domainMetadata", "inCommitTimestamp"))
    both = (upgrade, sets(enableInCommitTimestamps="true"))
    outcome = run(memory, both, (APPENDS,), SERIALIZABLE, plain)
    assert isinstance(outcome, Committed), outcome
    assert outcome.snapshot.commit_info is not None
    assert outcome.snapshot.commit_info.in_commit_timestamp is not None


def mapped(name: str, number: int) -> dict:
    return column(
        name,
        **{"delta.columnMapping.id": number, "delta.columnMapping.physicalName": name},
    )


def test_columns_that_were_mapped_by_name_meanwhile_are_no_conflict(memory: Store) -> None:
    new = metadata(
        mapped("p", 1),
        mapped("id", 2),
        partition_by=("p",),
        columnMapping__mode="name",
        columnMapping__maxColumnId="2",
    )
    outcome = run(memory, (stages(replace(new, id=METADATA.id)),), (APPENDS,), SERIALIZABLE)
    assert isinstance(outcome, Committed), outcome


def test_columns_that_were_mapped_by_id_meanwhile_are_a_conflict(memory: Store) -> None:
    new = metadata(
        mapped("p", 1),
        mapped("id", 2),
        partition_by=("p",),
        columnMapping__mode="id",
        columnMapping__maxColumnId="2",
    )
    outcome = run(memory, (stages(replace(new, id=METADATA.id)),), (APPENDS,), SERIALIZABLE)
    assert isinstance(outcome, Conflict)
    assert isinstance(outcome.error, MetadataChangedError)


def identity(mark: int) -> dict:
    return column(
        "id",
        **{
            "delta.identity.start": 1,
            "delta.identity.step": 1,
            "delta.identity.highWaterMark": mark,
            "delta.identity.allowExplicitInsert": False,
        },
    )


@pytest.mark.parametrize("draws", [True, False])
def test_values_drawn_from_an_identity_column_conflict_only_with_others_that_draw(
    draws: bool, memory: Store
) -> None:
    def drawn(mark: int) -> Step:
        return stages(replace(metadata(identity(mark)), id="table"))

    create_table = Transaction(
        None, store=memory, operation=Operation("CREATE TABLE"), handles=["identityColumns"]
    )
    create_table.stage(Protocol(1, 6), replace(metadata(identity(1)), id="table"))
    snapshot = create_table.commit().unwrap().snapshot
    late = Transaction(snapshot, operation=Operation("LATE"), handles=["identityColumns"])
    late.stage(file("late"))
    if draws:
        drawn(20)(late)
    first = Transaction(snapshot, operation=Operation("FIRST"), handles=["identityColumns"])
    drawn(10)(first)
    first.stage(file("first"))
    first.commit().unwrap()
    outcome = late.commit()
    if draws:
        assert isinstance(outcome, Conflict)
        assert isinstance(outcome.error, MetadataChangedError)
    else:
        assert isinstance(outcome, Committed)
        assert '"delta.identity.highWaterMark": 10' in outcome.snapshot.metadata.schema_string
