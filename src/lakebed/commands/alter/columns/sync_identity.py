"""SYNC IDENTITY: the next value of an identity column comes behind all that are in the table.

PROTOCOL: Identity Columns. Values that users wrote by themselves do not always move the mark; as in
delta-spark this looks at them, and never takes the mark back.
"""

from __future__ import annotations

from lakebed.commands.target.column_names import as_json, described
from lakebed.commands.target.metadata_change import Change, operation, schema_change
from lakebed.errors import SchemaError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.columns.column_metadata import Identity, identity, with_identity
from lakebed.spec.columns.schema_edits import ANYWHERE, replace_field
from lakebed.spec.schema import Path, StructField, render_path, resolve


def identity_column(snapshot: Snapshot, path: Path) -> tuple[StructField, Identity]:
    found, field = resolve(snapshot.schema, path)
    marks = identity(field)
    if marks is None or len(found) > 1:
        raise SchemaError(
            f"column {render_path(found)} is no identity column",
            hint="SYNC IDENTITY is for columns that are GENERATED ... AS IDENTITY",
        )
    return field, marks


def plan_sync_identity(snapshot: Snapshot, path: Path, furthest: int | None) -> Change | None:
    """`furthest` is the greatest value in this version, or the least if the steps go down."""
    field, marks = identity_column(snapshot, path)
    new = marks if furthest is None else marks.advanced_to(furthest)
    if new == marks:
        return None
    synced = with_identity(field, new)
    schema = replace_field(snapshot.schema, (field.name,), synced, ANYWHERE)
    done = operation("SYNC IDENTITY", column=as_json(described((), synced)))
    change = schema_change(snapshot, schema, done)
    # Rows that come meanwhile may have values that are further.
    return Change(change.operation, change.metadata, change.protocol, reads_rows=True)
