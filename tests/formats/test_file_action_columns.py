"""File actions as columns and back."""

from __future__ import annotations

import pytest

from lakebed.formats.file_actions import adds_from_table, adds_to_table
from lakebed.spec.actions import Add, DeletionVector

FULL = Add(
    path="p=1/a",
    partition_values={"p": "1", "q": None},
    size=2,
    modification_time=3,
    data_change=True,
    stats='{"numRecords":4}',
    tags={"t": "5"},
    deletion_vector=DeletionVector("u", "x", 6, 7, 8),
    base_row_id=9,
    default_row_commit_version=10,
    clustering_provider="liquid",
)
BARE = Add("b", {}, 1, 2, data_change=False)


@pytest.mark.parametrize("adds", [[FULL], [BARE], [FULL, BARE], []])
def test_every_field_of_added_files_comes_back_from_columns(adds: list[Add]) -> None:
    assert adds_from_table(adds_to_table(adds)) == adds


def test_absent_columns_count_as_null_but_not_those_that_every_file_has() -> None:
    table = adds_to_table([FULL])
    assert adds_from_table(table.select(["path", "size", "modificationTime"])) == [
        Add("p=1/a", {}, 2, 3, data_change=False)
    ]
    with pytest.raises(KeyError):
        adds_from_table(table.drop_columns(["size"]))
