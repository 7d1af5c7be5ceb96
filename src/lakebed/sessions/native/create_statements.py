"""CREATE TABLE in all its forms: with columns, with the rows of a query, like another table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import orjson
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType as SparkStruct

from lakebed.commands.alter.columns.column_default import check_default
from lakebed.commands.alter.columns.column_types import to_type, typed_field
from lakebed.commands.alter.columns.generated_columns import check_generated
from lakebed.commands.create.create_modes import (
    CREATE,
    OR_REPLACE,
    REPLACE,
    existing_table,
    is_there,
    registers_existing,
    unnamed_table,
)
from lakebed.commands.create.create_table import Mode, TableDefinition, create_table
from lakebed.commands.create.named_tables import Place, create_named, place_for
from lakebed.commands.target.metadata_change import AlterTarget
from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.write.write_frame import FrameWrite, write_frame
from lakebed.errors import InvalidArgumentError, LakebedError, SchemaError, UnsupportedFeatureError
from lakebed.expressions.allowed import ExpressionKind
from lakebed.log.table_log import TableLog
from lakebed.sessions.native.question import Question
from lakebed.sessions.native.writes import write_request
from lakebed.sessions.save import operation_of_rows, save_at
from lakebed.settings.setting_table import DEFAULT_PROPERTIES, USER_METADATA
from lakebed.spark.catalog.session_catalog import find, not_found
from lakebed.spark.columns.sql_expressions import table_expression
from lakebed.spark.session.session_settings import all_settings
from lakebed.spark.stores.location import open_location
from lakebed.spec.columns.column_mapping import strip
from lakebed.spec.columns.column_metadata import CURRENT_DEFAULT
from lakebed.spec.properties import CONSTRAINT_PREFIX
from lakebed.spec.schema import DataType, StructField, StructType, parse_schema, parse_type
from lakebed.tables.table_builder import IdentityGenerator, generated_field

_RESERVED = (
    *("provider", "location", "comment", "owner", "external", "is_managed_location"),
    *("table_type", "collation", "path"),
)
_OPTION = "option."
_DEFAULTS_FEATURE = "delta.feature.allowColumnDefaults"


def create(asked: Question) -> None:
    """A table without rows, or with those that are given."""
    new = _NewTable(asked)
    new.check_options()
    rows = asked.given
    if rows is None:
        new.make()
    elif asked.request["is_save"]:
        new.save(asked.frame(rows))
    else:
        new.make_with(asked.frame(rows))


@dataclass(frozen=True)
class _NewTable:
    asked: Question

    @property
    def mode(self) -> str:
        return str(self.asked.request["mode"])

    @property
    def _given(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.asked.request["properties"]
        return found

    def check_options(self) -> None:
        """`path` is another way to say LOCATION."""
        options = [key for key in self._given if key.startswith(_OPTION)]
        unknown = [key[len(_OPTION) :] for key in options if key.lower() != f"{_OPTION}path"]
        if unknown and not self.asked.request.get("is_save"):
            raise UnsupportedFeatureError(
                f"a Delta table has no option {unknown[0]!r}: no option but 'path' is known",
                hint="TBLPROPERTIES sets properties of the table",
            )

    @property
    def properties(self) -> dict[str, str]:
        """Those that the table keeps."""
        return {
            key: value
            for key, value in self._given.items()
            if key.lower() not in _RESERVED and not key.startswith(_OPTION)
        }

    @property
    def comment(self) -> str | None:
        return self._given.get("comment")

    @property
    def place(self) -> Place:
        location = self._given.get("location") or self._given.get(f"{_OPTION}path")
        if self._given.get("is_managed_location") == "true":
            location = None
        return place_for(self.asked.session, tuple(self.asked.request["parts"]), location)

    def columns_of(self, transform: str) -> tuple[tuple[str, ...], ...]:
        """Of PARTITIONED BY or CLUSTER BY."""
        found: list[tuple[str, ...]] = []
        for each in self.asked.request["partitions"]:
            if each["name"] not in ("identity", "cluster_by"):
                raise InvalidArgumentError(
                    f"a Delta table cannot be partitioned by {each['name']}(...)",
                    hint="make a generated column of the expression, and partition by that",
                )
            if each["name"] == transform:
                found += [tuple(path) for path in each["columns"]]
        return tuple(found)

    @property
    def partition_by(self) -> tuple[str, ...]:
        return tuple(".".join(path) for path in self.columns_of("identity"))

    @property
    def defaults(self) -> dict[str, str]:
        """The properties that the session gives to new tables, unless they are asked for."""
        return DEFAULT_PROPERTIES.read(all_settings(self.asked.session), but=self.properties)

    def make(self) -> None:
        place, session = self.place, self.asked.session
        if is_there(place, self.mode):
            return
        schema = _schema(self.asked.request["columns"])
        if registers_existing(place, self.mode):
            stated = TableDefinition(schema, self.partition_by, properties=self.properties)
            create_named(place, lambda: existing_table(place, stated))
            return
        if not len(schema):
            raise SchemaError(
                f"{place.location} is not a Delta table, and the new one is given no columns",
                hint="name the columns, or write AS and a query",
            )
        check_generated(session, schema)
        properties = {**self.properties, **self._checks(schema)}
        if any(CURRENT_DEFAULT in field.metadata for field in schema):
            properties.setdefault(_DEFAULTS_FEATURE, "supported")
        definition = TableDefinition(
            schema,
            self.partition_by,
            self.columns_of("cluster_by"),
            properties,
            self.defaults,
            comment=self.comment,
            is_managed=place.is_managed,
        )
        _make(place, definition, self.mode)

    def make_with(self, frame: DataFrame) -> None:
        """All in one commit: a query that fails leaves neither a table nor a name."""
        place, session = self.place, self.asked.session
        if is_there(place, self.mode):
            return
        replaces = self.mode in (REPLACE, OR_REPLACE)
        if not replaces and place.has_table():
            raise unnamed_table(place)
        settings = all_settings(session)
        clustering = tuple(".".join(path) for path in self.columns_of("cluster_by"))
        write = write_request(self.asked.options, "overwrite")
        options = WriteOptions(
            mode="overwrite" if replaces else "errorifexists",
            overwrite_schema=replaces,
            replaces_table=replaces,
            partition_by=self.partition_by,
            cluster_by=clustering,
            properties={**_delta(self.asked.options), **self.properties},
            default_properties=self.defaults,
            description=self.comment,
            user_metadata=write.get("userMetadata") or USER_METADATA.read(settings),
            operation=operation_of_rows(self.mode, place),
        )
        rows = FrameWrite(frame, place.location, options, store=write.others())
        create_named(place, lambda: write_frame(rows, settings))

    def save(self, frame: DataFrame) -> None:
        """What `saveAsTable` does: an overwrite is one of rows, not of the table."""
        request = write_request(self.asked.options, _SAVE_MODES[self.mode])
        request.partition_by = self.partition_by or None
        request.cluster_by = tuple(".".join(p) for p in self.columns_of("cluster_by")) or None
        save_at(frame, request, self.place)

    def _checks(self, schema: StructType) -> dict[str, str]:
        # Those of Spark 4.0, which has no constraints, are properties.
        checks: dict[str, str] = {
            key[len(CONSTRAINT_PREFIX) :]: text
            for key, text in self.properties.items()
            if key.startswith(CONSTRAINT_PREFIX)
        }
        checks |= self.asked.request["checks"]
        frame = self.asked.session.createDataFrame([], SparkStruct.fromJson(schema.to_json()))
        for name, text in checks.items():
            try:
                holds = table_expression(frame, text, ExpressionKind.CHECK, name, schema)
                _ = frame.where(holds).schema
            except LakebedError:
                # It is an AnalysisException too, and says what is wrong.
                raise
            except AnalysisException as error:
                raise InvalidArgumentError(
                    f"the constraint {name} does not work: {str(error).splitlines()[0]}"
                ) from error
        return {f"{CONSTRAINT_PREFIX}{name.lower()}": text for name, text in checks.items()}


_SAVE_MODES = {CREATE: "errorifexists", REPLACE: "overwrite", OR_REPLACE: "overwrite"}


def create_like(asked: Question) -> None:
    """CREATE TABLE ... LIKE, of a Delta table or into one."""
    session, request = asked.session, asked.request
    parts = tuple(request["source"])
    source = find(session, parts)
    if source is None:
        raise not_found(session, parts)
    mode = "create_if_not_exists" if request["if_not_exists"] else CREATE
    place = place_for(session, tuple(request["parts"]), request["location"])
    if is_there(place, mode):
        return
    if source.is_delta:
        model = TableLog(open_location(session, source.location or "", {})[0]).snapshot()
        definition = TableDefinition(
            strip(model.schema),
            model.metadata.partition_columns,
            properties={**model.metadata.configuration, **request["properties"]},
            comment=model.metadata.description,
            is_managed=place.is_managed,
        )
    else:
        definition = TableDefinition(
            parse_schema(session.table(".".join(_quoted(part) for part in parts)).schema.json()),
            properties=request["properties"],
            default_properties=DEFAULT_PROPERTIES.read(all_settings(session)),
            is_managed=place.is_managed,
        )
    _make(place, definition, mode)


def _make(place: Place, definition: TableDefinition, mode: str) -> None:
    target = AlterTarget.of(place.session, place.log)
    create_named(place, lambda: create_table(target, definition, cast("Mode", mode)))


def _delta(options: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in options.items() if key.lower().startswith("delta.")}


def _schema(columns: Sequence[Mapping[str, Any]]) -> StructType:
    seen: set[str] = set()
    for each in columns:
        if each["name"].lower() in seen:
            raise SchemaError(
                f"column {each['name']!r} appears twice", condition="DELTA_DUPLICATE_COLUMNS_FOUND"
            )
        seen.add(each["name"].lower())
    return StructType(tuple(map(field_of, columns)))


def type_of(given: Mapping[str, Any]) -> DataType:
    """A type as Spark describes it; lengths of strings are only in the SQL."""
    try:
        return parse_type(orjson.loads(given["type"]))
    except SchemaError:
        return to_type(str(given["sql"]))


def field_of(column: Mapping[str, Any]) -> StructField:
    """A column as Spark describes it."""
    field = typed_field(
        column["name"],
        type_of(column),
        nullable=bool(column["nullable"]),
        comment=column["comment"],
    )
    if column["default"] is not None:
        check_default((field.name,), field, column["default"])
        field = field.with_metadata({CURRENT_DEFAULT: column["default"]})
    if column.get("generated") is not None:
        return generated_field(field, column["generated"], None)
    identity = column.get("identity")
    if identity is not None:
        generator = IdentityGenerator(identity["start"], identity["step"])
        by_default = identity["by_default"]
        always = None if by_default else generator
        return generated_field(field, always, generator if by_default else None)
    return field


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
