"""Protocol upgrades: by version, or feature by feature (PROTOCOL: Protocol Evolution)."""

from __future__ import annotations

from typing import Any

from lakebed.commands.alter.table_properties import plan_set_properties, set_properties
from lakebed.commands.target.metadata_change import AlterTarget, Change
from lakebed.errors import ArgumentValueError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.features import feature_name
from lakebed.spec.properties import FEATURE_PREFIX, TableProperties, validated

_READER = TableProperties.min_reader_version.key
_WRITER = TableProperties.min_writer_version.key


def upgrade_protocol(target: AlterTarget, reader_version: int, writer_version: int) -> Snapshot:
    """The table gets what these versions imply. A protocol never goes back this way.

    As in delta-spark it is kept as weak as its features allow: (3, 7) without one of them is no
    upgrade.
    """
    asked = {
        _READER: _version(reader_version, "readerVersion"),
        _WRITER: _version(writer_version, "writerVersion"),
    }
    changes = validated(asked)

    def plan(snapshot: Snapshot) -> Change | None:
        change = plan_set_properties(snapshot, changes)
        return None if change.protocol == snapshot.protocol else change

    return target.apply(plan)


def add_feature(target: AlterTarget, name: str) -> Snapshot:
    """The table supports a feature, and with it what the feature requires."""
    if not isinstance(name, str):
        raise ArgumentValueError(f"featureName needs to be a string but got '{type(name)}'")
    return set_properties(target, {f"{FEATURE_PREFIX}{feature_name(name)}": "supported"})


def _version(version: Any, what: str) -> str:
    if isinstance(version, bool) or not isinstance(version, int):
        raise ArgumentValueError(
            f"the {what} needs to be an integer but got '{type(version)}'",
            hint="give whole numbers: a reader version of 1 to 3, a writer version of 1 to 7",
        )
    return str(version)
