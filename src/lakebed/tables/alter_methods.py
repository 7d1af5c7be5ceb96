"""The methods of `lakebed.Table` that change what a table is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lakebed.commands.alter.cluster_by import cluster_by
from lakebed.commands.alter.columns.add_columns import NewColumns, add_columns
from lakebed.commands.alter.columns.alter_column import alter_column
from lakebed.commands.alter.columns.drop_columns import drop_columns
from lakebed.commands.alter.columns.rename_column import rename_column
from lakebed.commands.alter.constraints import add_constraint, drop_constraint
from lakebed.commands.alter.features.drop_feature import drop_feature
from lakebed.commands.alter.table_properties import set_comment, set_properties, unset_properties
from lakebed.commands.alter.upgrade_protocol import add_feature, upgrade_protocol
from lakebed.commands.target.clustering_columns import clustering_columns
from lakebed.commands.target.column_names import ColumnName
from lakebed.commands.target.metadata_change import AlterTarget
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.schema import render_path

if TYPE_CHECKING:
    from typing_extensions import Self


class AlterMethods:
    """Each works on the newest version, is one commit, and gives the table after it.

    Rows are never rewritten, but where a feature is dropped that left something in the files.
    """

    def __init__(self, log: TableLog, snapshot: Snapshot) -> None:
        self._log = log
        self._snapshot = snapshot

    # --- properties and comments ------------------------------------------------------------------

    def set_properties(self, properties: Mapping[str, str]) -> Self:
        """Set table properties. Those that turn on a feature upgrade the table's protocol."""
        return self._after(set_properties(self._alter, properties))

    def unset_properties(self, *keys: str, if_exists: bool = False) -> Self:
        """Take table properties away."""
        return self._after(unset_properties(self._alter, keys, if_exists=if_exists))

    def set_comment(self, comment: str | None) -> Self:
        """Set the comment of the table, or take it away."""
        return self._after(set_comment(self._alter, comment))

    # --- columns ----------------------------------------------------------------------------------

    def add_columns(
        self, columns: NewColumns, *, first: bool = False, after: str | None = None
    ) -> Self:
        """Add columns: a mapping of names to types, or a schema. They are null in all rows.

        `address.city` is a column inside a struct, `items.element.price` one inside an array. Types
        are SQL text, or those of Arrow or Spark.
        """
        return self._after(add_columns(self._alter, columns, first=first, after=after))

    def rename_column(self, name: ColumnName, new_name: str) -> Self:
        """Give a column another name. The table needs column mapping."""
        return self._after(rename_column(self._alter, name, new_name))

    def drop_columns(self, *names: ColumnName) -> Self:
        """Drop columns. The table needs column mapping."""
        return self._after(drop_columns(self._alter, names))

    def alter_column(
        self,
        name: ColumnName,
        *,
        type: Any = None,
        nullable: bool | None = None,
        comment: str | None = None,
        default: str | None = None,
        drop_default: bool = False,
        first: bool = False,
        after: str | None = None,
    ) -> Self:
        """Change a column: a wider type, nulls allowed, a comment, a default, another place."""
        snapshot = alter_column(
            self._alter,
            name,
            type=type,
            nullable=nullable,
            comment=comment,
            default=default,
            drop_default=drop_default,
            first=first,
            after=after,
        )
        return self._after(snapshot)

    # --- constraints and clustering ---------------------------------------------------------------

    def add_constraint(self, name: str, condition: str) -> Self:
        """Every row must meet a SQL condition from now on; all that are there must already."""
        return self._after(add_constraint(self._alter, name, condition))

    def drop_constraint(self, name: str, *, if_exists: bool = False) -> Self:
        """Take a CHECK constraint away."""
        return self._after(drop_constraint(self._alter, name, if_exists=if_exists))

    @property
    def clustering_columns(self) -> tuple[str, ...] | None:
        """The columns by which the table is clustered; None if it is not."""
        columns = clustering_columns(self._snapshot)
        return None if columns is None else tuple(map(render_path, columns))

    def cluster_by(self, columns: str | Sequence[ColumnName] | None) -> Self:
        """Choose the columns by which OPTIMIZE brings rows together; None for no columns."""
        return self._after(cluster_by(self._alter, columns))

    # --- protocol ---------------------------------------------------------------------------------

    def upgrade_protocol(self, reader_version: int, writer_version: int) -> Self:
        """Give the table the features that these versions of the protocol imply."""
        return self._after(upgrade_protocol(self._alter, reader_version, writer_version))

    def add_feature(self, name: str) -> Self:
        """Let the table support a feature, and with it what the feature requires."""
        return self._after(add_feature(self._alter, name))

    def drop_feature(self, name: str, *, truncate_history: bool = False) -> Self:
        """Drop a feature, and first what it left in the table.

        With `truncate_history` the versions that use it go too, once they are old enough.
        """
        return self._after(drop_feature(self._alter, name, truncate_history=truncate_history))

    @property
    def _alter(self) -> AlterTarget:
        return AlterTarget(self._log)

    def _after(self, snapshot: Snapshot) -> Self:
        return type(self)(self._log, snapshot)
