"""What a user asked of `df.write`, in delta-spark's names, as options of the write command."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from lakebed.commands.target.write_options import WriteOptions
from lakebed.errors import InvalidArgumentError, UnsupportedFeatureError
from lakebed.sessions import settings as names
from lakebed.sessions.settings import SessionSettings, parse_number
from lakebed.spark.plane.plane import FileSettings
from lakebed.spark.session.flags import parse_flag

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

    def options(self, session: SessionSettings) -> WriteOptions:
        """For the write command. Options of the write go before settings of the session."""
        self._check()
        replace_where = self.get("replaceWhere")
        overwrite_schema = self._flag("overwriteSchema", False)
        limited = replace_where is not None or overwrite_schema
        mode: Any = _MODES.get(self.mode.lower(), self.mode.lower())
        merges = self._flag("mergeSchema", session.flag(names.AUTO_MERGE, False))
        overwrites = mode == "overwrite"
        return WriteOptions(
            mode=mode,
            partition_by=self.partition_by,
            cluster_by=self.cluster_by,
            # delta-spark takes both too: what replaces the schema has nothing left to merge.
            merge_schema=merges and not (overwrite_schema and overwrites),
            overwrite_schema=overwrite_schema and overwrites,
            properties=self._properties(),
            default_properties=session.default_properties,
            user_metadata=self.get("userMetadata") or session.text(names.USER_METADATA),
            txn=self._txn(session),
            replace_where=replace_where,
            partition_overwrite="dynamic" if self._is_dynamic(session, limited) else "static",
            check_replaced=session.flag(names.CHECK_REPLACED, True),
            replace_data_columns=session.flag(names.REPLACE_DATA_COLUMNS, True),
            data_change=self._flag("dataChange", True),
        )

    def file_settings(self, session: SessionSettings) -> FileSettings:
        text = self.get("maxRecordsPerFile") or session.text(names.MAX_RECORDS) or "0"
        limit = parse_number("maxRecordsPerFile", text)
        return FileSettings(
            max_rows_per_file=limit if limit > 0 else None,
            compression=self.get("compression"),
        )

    def optimize(self, session: SessionSettings) -> bool | None:
        """None if the table decides."""
        asked = self.get("optimizeWrite")
        if asked is not None:
            return parse_flag("optimizeWrite", asked)
        return session.flag_or_none(names.OPTIMIZE_WRITE)

    def _check(self) -> None:
        if self.refused is not None:
            raise UnsupportedFeatureError(
                f"{self.refused} is not supported when a Delta table is written",
                hint="leave it out; partitionBy divides a table by columns, clusterBy arranges it",
            )

    def _flag(self, key: str, default: bool) -> bool:
        text = self.get(key)
        return default if text is None else parse_flag(key, text)

    def _properties(self) -> dict[str, str]:
        return {key: v for key, v in self._options.values() if key.lower().startswith("delta.")}

    def _txn(self, session: SessionSettings) -> tuple[str, int] | None:
        app = self.get("txnAppId") or session.text(names.TXN_APP_ID)
        version = self.get("txnVersion") or session.text(names.TXN_VERSION)
        if app is None and version is None:
            return None
        if app is None or version is None:
            if self.get("txnAppId") is None and self.get("txnVersion") is None:
                # Settings of the session count only together.
                return None
            raise InvalidArgumentError(
                "txnAppId and txnVersion go together",
                hint="give both, and the same pair again when the write is repeated",
            )
        return app, parse_number("txnVersion", version)

    def _is_dynamic(self, session: SessionSettings, limited: bool) -> bool:
        if self.mode.lower() != "overwrite" or not session.flag(names.DYNAMIC_OVERWRITE, True):
            return False
        asked = self.get("partitionOverwriteMode")
        if asked is None and limited:
            # What the write itself says goes before a setting of the session.
            return False
        chosen = (asked or session.text(names.PARTITION_OVERWRITE) or "static").lower()
        if chosen not in ("static", "dynamic"):
            raise InvalidArgumentError(
                f"partitionOverwriteMode is {chosen!r}", hint="it is static or dynamic"
            )
        return chosen == "dynamic"
