"""`df.writeTo(name)` of a session that Lakebed is enabled for."""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import DataFrame

from lakebed.commands.named_modes import CREATE, OR_REPLACE, REPLACE, is_there, leftover
from lakebed.commands.named_tables import create_named, place_for
from lakebed.commands.write_options import WriteOptions
from lakebed.errors import InvalidArgumentError
from lakebed.sessions.save import delta_entry, is_delta_target, save
from lakebed.sessions.settings import SessionSettings
from lakebed.sessions.write_request import WriteRequest
from lakebed.spark.enabled import is_enabled
from lakebed.spark.session_catalog import not_found
from lakebed.spark.table_names import parts_in
from lakebed.spec.schema import parse_schema
from lakebed.sql.parameters import literal

_COLUMN = re.compile(r"`?(\w+)`?|`((?:[^`]|``)+)`")


def table_writer(frame: DataFrame, name: str, plain: Any) -> TableWriter | None:
    """None in sessions that are not enabled."""
    return TableWriter(frame, name, plain) if is_enabled(frame.sparkSession) else None


class TableWriter:
    """Spark's own writer, which also writes Delta tables. Each method is Spark's."""

    def __init__(self, frame: DataFrame, name: str, plain: Any) -> None:
        self._frame = frame
        self._name = name
        self._plain = plain
        self._request = WriteRequest(mode="append")
        self._properties: dict[str, str] = {}
        self._partitions: tuple[Any, ...] = ()

    def using(self, provider: str) -> TableWriter:
        """The format of a new table."""
        self._request.format = provider
        self._plain.using(provider)
        return self

    def option(self, key: str, value: Any) -> TableWriter:
        """An option of the write."""
        self._request.set(key, value)
        self._plain.option(key, value)
        return self

    def options(self, **options: Any) -> TableWriter:
        """Options of the write."""
        for key, value in options.items():
            self.option(key, value)
        return self

    def tableProperty(self, property: str, value: str) -> TableWriter:
        """A property of a new table."""
        self._properties[property] = value
        self._plain.tableProperty(property, value)
        return self

    def partitionedBy(self, col: Any, *cols: Any) -> TableWriter:
        """The columns that divide a new table."""
        self._partitions = (col, *cols)
        self._plain.partitionedBy(col, *cols)
        return self

    def clusterBy(self, col: str, *cols: str) -> TableWriter:
        """The columns by which a new table is clustered."""
        self._request.cluster_by = (col, *cols)
        self._plain.clusterBy(col, *cols)
        return self

    def create(self) -> None:
        """Make the table; an error if there is one."""
        self._make(CREATE)

    def replace(self) -> None:
        """Make the table in the place of one that is there."""
        self._make(REPLACE)

    def createOrReplace(self) -> None:
        """Make the table, whether there is one or not."""
        self._make(OR_REPLACE)

    def append(self) -> None:
        """Add the rows; columns go by their names."""
        self._write("append", {}, self._plain.append)

    def overwrite(self, condition: Any) -> None:
        """Put the rows in the place of those that meet the condition."""
        text = literal(condition)
        rule = {} if text.lower() == "true" else {"replaceWhere": text}
        self._write("overwrite", rule, lambda: self._plain.overwrite(condition))

    def overwritePartitions(self) -> None:
        """Replace the partitions that the rows are in."""
        rule = {"partitionOverwriteMode": "dynamic"}
        self._write("overwrite", rule, self._plain.overwritePartitions)

    def _write(self, mode: str, options: dict[str, str], plain: Any) -> None:
        session = self._frame.sparkSession
        entry = delta_entry(session, self._name)
        if entry is None and self._request.format is not None and self._is_delta():
            raise not_found(session, parts_in(self._name))
        if entry is None or entry.location is None:
            plain()
            return
        self._request.mode = mode
        for key, value in options.items():
            self._request.set(key, value)
        save(self._frame, self._request, entry.location)

    def _make(self, mode: str) -> None:
        session = self._frame.sparkSession
        replaces = mode != CREATE
        if not self._is_delta():
            {CREATE: self._plain.create, REPLACE: self._plain.replace}.get(
                mode, self._plain.createOrReplace
            )()
            return
        place = place_for(session, parts_in(self._name), self._request.get("path"))
        is_there(place, mode)
        if not replaces and place.has_table():
            raise leftover(place)
        base = self._request.options(SessionSettings.of(session))
        options = WriteOptions(
            mode="overwrite" if replaces else "errorifexists",
            overwrite_schema=replaces,
            replaces_table=replaces,
            partition_by=_columns(self._partitions),
            cluster_by=self._request.cluster_by or (),
            properties={**base.properties, **self._properties},
            default_properties=base.default_properties,
            user_metadata=base.user_metadata,
        )
        schema = parse_schema(self._frame.schema.json())
        create_named(
            place, schema, lambda: save(self._frame, self._request, place.location, options)
        )

    def _is_delta(self) -> bool:
        return is_delta_target(self._frame.sparkSession, self._name, self._request.format)


def _columns(columns: tuple[Any, ...]) -> tuple[str, ...]:
    """The names of Columns; a table cannot be partitioned by what is computed."""
    names = []
    for each in columns:
        text = each if isinstance(each, str) else literal(each)
        found = _COLUMN.fullmatch(text)
        if found is None:
            raise InvalidArgumentError(
                f"a Delta table cannot be partitioned by {text}",
                hint="make a generated column of the expression, and partition by that",
            )
        names.append(found[1] or found[2].replace("``", "`"))
    return tuple(names)
