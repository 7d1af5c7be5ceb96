"""The methods of `lakebed.DeltaTable` that make tables and change what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from lakebed.commands.alter.cluster_by import cluster_by
from lakebed.commands.alter.columns.add_columns import NewColumns, add_columns
from lakebed.commands.alter.columns.alter_column import alter_column
from lakebed.commands.alter.columns.drop_columns import drop_columns
from lakebed.commands.alter.columns.rename_column import rename_column
from lakebed.commands.alter.constraint_rows_on_spark import CountOnSpark
from lakebed.commands.alter.constraints import add_constraint, drop_constraint
from lakebed.commands.alter.features.drop_feature import drop_feature
from lakebed.commands.alter.table_properties import set_comment, set_properties, unset_properties
from lakebed.commands.alter.upgrade_protocol import add_feature, upgrade_protocol
from lakebed.commands.create.create_table import Mode
from lakebed.commands.target.column_names import ColumnName
from lakebed.commands.target.metadata_change import AlterTarget
from lakebed.errors import ArgumentTypeError, ArgumentValueError
from lakebed.log.table_log import TableLog
from lakebed.spark.plane.plane import Plane
from lakebed.spark.session.session_kind import is_connect
from lakebed.tables.server_sessions import served_class
from lakebed.tables.table_builder import DeltaTableBuilder

if TYPE_CHECKING:
    from typing_extensions import Self


class DeltaAlterMethods:
    """What `DeltaTable` inherits. Changes are commits on the newest version of the table."""

    _session: SparkSession
    _log: TableLog
    _options: Mapping[str, str]

    @classmethod
    def forPath(
        cls,
        sparkSession: SparkSession,
        path: str,
        hadoopConf: Mapping[str, str] | None = None,
    ) -> Self:
        """The table in a folder; an error if there is none."""
        raise NotImplementedError

    @classmethod
    def create(cls, sparkSession: SparkSession | None = None) -> DeltaTableBuilder[Self]:
        """A builder for a new table; it must not exist."""
        return cls._builder(sparkSession, "create")

    @classmethod
    def createIfNotExists(cls, sparkSession: SparkSession | None = None) -> DeltaTableBuilder[Self]:
        """A builder for a new table; one that exists stays as it is."""
        return cls._builder(sparkSession, "create_if_not_exists")

    @classmethod
    def replace(cls, sparkSession: SparkSession | None = None) -> DeltaTableBuilder[Self]:
        """A builder for an empty table in the place of one that must exist."""
        return cls._builder(sparkSession, "replace")

    @classmethod
    def createOrReplace(cls, sparkSession: SparkSession | None = None) -> DeltaTableBuilder[Self]:
        """A builder for an empty table, new or in the place of one that exists."""
        return cls._builder(sparkSession, "create_or_replace")

    def upgradeTableProtocol(self, readerVersion: int, writerVersion: int) -> None:
        """Give the table the features that these versions of the protocol imply."""
        upgrade_protocol(self._alter, readerVersion, writerVersion)

    def addFeatureSupport(self, featureName: str) -> None:
        """Let the table support a feature, and with it what the feature requires."""
        add_feature(self._alter, featureName)

    def dropFeatureSupport(self, featureName: str, truncateHistory: bool | None = None) -> None:
        """Drop a feature, and first what it left in the table.

        With `truncateHistory` the versions that use it go too, once they are old enough.
        """
        if truncateHistory is not None and not isinstance(truncateHistory, bool):
            raise ArgumentValueError(
                f"truncateHistory needs to be a boolean but got '{type(truncateHistory)}'"
            )
        chosen = False if truncateHistory is None else truncateHistory
        drop_feature(self._alter, featureName, truncate_history=chosen)

    # --- Lakebed's own: what delta-spark leaves to SQL --------------------------------------------

    def setProperties(self, properties: Mapping[str, str]) -> None:
        """Set table properties. Those that turn on a feature upgrade the table's protocol."""
        set_properties(self._alter, properties)

    def unsetProperties(self, *keys: str, ifExists: bool = False) -> None:
        """Take table properties away."""
        unset_properties(self._alter, keys, if_exists=ifExists)

    def setComment(self, comment: str | None) -> None:
        """Set the comment of the table, or take it away."""
        set_comment(self._alter, comment)

    def addColumns(
        self, columns: NewColumns, *, first: bool = False, after: str | None = None
    ) -> None:
        """Add columns: a mapping of names to types, or a schema. They are null in all rows."""
        add_columns(self._alter, columns, first=first, after=after)

    def renameColumn(self, name: ColumnName, newName: str) -> None:
        """Give a column another name. The table needs column mapping."""
        rename_column(self._alter, name, newName)

    def dropColumns(self, *names: ColumnName) -> None:
        """Drop columns. The table needs column mapping."""
        drop_columns(self._alter, names)

    def alterColumn(
        self,
        name: ColumnName,
        *,
        type: Any = None,
        nullable: bool | None = None,
        comment: str | None = None,
        default: str | None = None,
        dropDefault: bool = False,
        first: bool = False,
        after: str | None = None,
    ) -> None:
        """Change a column: a wider type, nulls allowed, a comment, a default, another place."""
        alter_column(
            self._alter,
            name,
            type=type,
            nullable=nullable,
            comment=comment,
            default=default,
            drop_default=dropDefault,
            first=first,
            after=after,
        )

    def clusterBy(self, columns: str | Sequence[ColumnName] | None) -> None:
        """Choose the columns by which OPTIMIZE brings rows together; None for no columns."""
        cluster_by(self._alter, columns)

    def addConstraint(self, name: str, condition: str) -> None:
        """Every row must meet a SQL condition from now on; all that are there must already."""
        count = CountOnSpark(self._plane(), self._options)
        add_constraint(self._alter, name, condition, count=count)

    def dropConstraint(self, name: str, ifExists: bool = False) -> None:
        """Take a CHECK constraint away."""
        drop_constraint(self._alter, name, if_exists=ifExists)

    @property
    def _alter(self) -> AlterTarget:
        return AlterTarget.of(self._session, self._log)

    def _plane(self) -> Plane:
        raise NotImplementedError

    @classmethod
    def _builder(cls, session: Any, mode: Mode) -> DeltaTableBuilder[Self]:
        found = SparkSession.getActiveSession() if session is None else session
        if not isinstance(found, SparkSession) and not is_connect(found):
            raise ArgumentTypeError(
                f"{type(session).__name__} is not a Spark session",
                hint="give the session, as in DeltaTable.create(spark)",
            )
        if (served := served_class(found)) is not None:
            builder: DeltaTableBuilder[Self] = served._builder(found, mode)
            return builder
        return DeltaTableBuilder(found, mode, cls.forPath)
