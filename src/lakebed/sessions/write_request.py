"""What a user asked of `df.write`, in delta-spark's names, as options of the write command."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lakebed.commands.target.write_options import WriteOptions
from lakebed.errors import InvalidArgumentError, UnsupportedFeatureError
from lakebed.settings import option_table, setting_table
from lakebed.spark.plane.plane import FileSettings

_MODES = {"default": "errorifexists", "error": "errorifexists"}


@dataclass
class WriteRequest:
    """Names of options are taken in any case, as in Spark."""

    format: str | None = None
    mode: str = "errorifexists"
    partition_by: tuple[str, ...] | None = None
    cluster_by: tuple[str, ...] | None = None
    refused: str | None = None
    _options: dict[str, tuple[str, str]] = field(default_factory=dict)

    def set(self, key: str, value: Any) -> None:
        if value is None:
            self._options.pop(key.lower(), None)
        else:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            self._options[key.lower()] = (key, text)

    def get(self, key: str) -> str | None:
        found = self._options.get(key.lower())
        return None if found is None else found[1]

    def path(self, given: Any) -> str:
        path = self.get("path") if given is None else given
        if not isinstance(path, (str, os.PathLike)):
            raise InvalidArgumentError(
                f"{path!r} is not the path of a table",
                hint='say where it is: df.write.format("delta").save("/data/orders")',
            )
        return os.fspath(path)

    def others(self) -> dict[str, str]:
        """All options, under the names that the user gave."""
        return dict(self._options.values())

    def options(self, session: Mapping[str, str]) -> WriteOptions:
        """For the write command. Options of the write go before settings of the session."""
        self._check()
        replace_where = option_table.REPLACE_WHERE.read(self.get)
        overwrite_schema = option_table.OVERWRITE_SCHEMA.read(self.get)
        limited = replace_where is not None or overwrite_schema
        mode: Any = _MODES.get(self.mode.lower(), self.mode.lower())
        merges = option_table.MERGE_SCHEMA.read(self.get)
        if merges is None:
            merges = setting_table.AUTO_MERGE.read(session)
        overwrites = mode == "overwrite"
        partition_by = self.partition_by
        if partition_by is None and overwrite_schema and overwrites:
            # As in delta-spark a table that gets a new schema gets a new partitioning too.
            partition_by = ()
        return WriteOptions(
            mode=mode,
            partition_by=partition_by,
            cluster_by=self.cluster_by,
            # delta-spark takes both too: what replaces the schema has nothing left to merge.
            merge_schema=merges and not (overwrite_schema and overwrites),
            overwrite_schema=overwrite_schema and overwrites,
            properties=self._properties(),
            default_properties=setting_table.DEFAULT_PROPERTIES.read(session),
            user_metadata=option_table.WRITE_USER_METADATA.read(self.get)
            or setting_table.USER_METADATA.read(session),
            txn=self._txn(session),
            replace_where=replace_where,
            partition_overwrite="dynamic" if self._is_dynamic(session, limited) else "static",
            check_replaced=setting_table.CHECK_REPLACED.read(session),
            replace_data_columns=setting_table.REPLACE_DATA_COLUMNS.read(session),
            data_change=option_table.DATA_CHANGE.read(self.get),
        )

    def file_settings(self, session: Mapping[str, str]) -> FileSettings:
        limit = option_table.MAX_RECORDS_PER_FILE.read(self.get)
        if limit is None:
            limit = setting_table.MAX_RECORDS.read(session)
        return FileSettings(
            max_rows_per_file=limit if limit > 0 else None,
            compression=option_table.WRITE_COMPRESSION.read(self.get),
        )

    def optimize(self, session: Mapping[str, str]) -> bool | None:
        """None if the table decides."""
        asked = option_table.WRITE_OPTIMIZED.read(self.get)
        return setting_table.OPTIMIZE_WRITE.read(session) if asked is None else asked

    def _check(self) -> None:
        if self.refused is not None:
            raise UnsupportedFeatureError(
                f"{self.refused} is not supported when a Delta table is written",
                hint="leave it out; partitionBy divides a table by columns, clusterBy arranges it",
            )

    def _properties(self) -> dict[str, str]:
        return {key: v for key, v in self._options.values() if key.lower().startswith("delta.")}

    def _txn(self, session: Mapping[str, str]) -> tuple[str, int] | None:
        asked_app = option_table.WRITE_TXN_APP_ID.read(self.get)
        app = asked_app or setting_table.TXN_APP_ID.read(session)
        asked = option_table.WRITE_TXN_VERSION.read(self.get)
        version = setting_table.TXN_VERSION.read(session) if asked is None else asked
        if app is None and version is None:
            return None
        if app is None or version is None:
            if asked_app is None and asked is None:
                # Settings of the session count only together.
                return None
            raise InvalidArgumentError(
                "txnAppId and txnVersion go together",
                hint="give both, and the same pair again when the write is repeated",
                condition="DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS",
            )
        return app, version

    def _is_dynamic(self, session: Mapping[str, str], limited: bool) -> bool:
        if self.mode.lower() != "overwrite" or not setting_table.DYNAMIC_OVERWRITE.read(session):
            return False
        asked = option_table.PARTITION_OVERWRITE_MODE.read(self.get)
        if asked is None and limited:
            # What the write itself says goes before a setting of the session.
            return False
        return (asked or setting_table.PARTITION_OVERWRITE.read(session)) == "dynamic"
