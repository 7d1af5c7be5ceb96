"""`DeltaTableBuilder`: making a table on Spark, with delta-spark's names and arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

from pyspark.errors import ParseException
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType as SparkType
from pyspark.sql.types import StructField as SparkField
from pyspark.sql.types import StructType as SparkStruct

from lakebed.commands.alter.columns.column_types import to_field, to_type, typed_field
from lakebed.commands.alter.columns.generated_columns import check_generated
from lakebed.commands.create.create_modes import existing_table, is_there, registers_existing
from lakebed.commands.create.create_table import Mode, TableDefinition, create_table
from lakebed.commands.create.named_tables import Place, create_named, place_at, place_for
from lakebed.commands.target.column_names import to_path
from lakebed.commands.target.metadata_change import AlterTarget
from lakebed.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    InvalidArgumentError,
    SchemaError,
)
from lakebed.settings.setting_table import DEFAULT_PROPERTIES
from lakebed.spark.catalog.table_names import parts_in
from lakebed.spark.session.session_settings import all_settings
from lakebed.spec.columns.column_mapping import strip
from lakebed.spec.columns.column_metadata import GENERATION_EXPRESSION, Identity, with_identity
from lakebed.spec.schema import (
    LONG,
    DataType,
    StructField,
    StructType,
    parse_schema,
    schema_to_json,
)

T = TypeVar("T")


@dataclass
class IdentityGenerator:
    """Values that a table gives out for a column: `start`, `start + step` and so on."""

    start: int = 1
    step: int = 1


class DeltaTableBuilder(Generic[T]):
    """A table in the making. Made by `DeltaTable.create` and its like; `execute` makes it."""

    def __init__(
        self,
        spark: SparkSession,
        mode: Mode,
        open_table: Callable[[SparkSession, str], T],
    ) -> None:
        """Use `DeltaTable.create`. `open_table` opens what was made."""
        self._spark = spark
        self._mode: Mode = mode
        self._open_table = open_table
        self._location: str | None = None
        self._parts: tuple[str, ...] | None = None
        self._comment: str | None = None
        self._fields: list[StructField] = []
        self._partition_by: tuple[str, ...] = ()
        self._cluster_by: tuple[str, ...] = ()
        self._properties: dict[str, str] = {}

    def tableName(self, identifier: str) -> DeltaTableBuilder[T]:
        """The name of the table, such as `shop.orders`; or a folder, as in delta.`/data/orders`.

        A new name is added to the session's catalog. Without a location the table is a managed
        one: DROP TABLE deletes its files.
        """
        self._parts = parts_in(_text(identifier, "the name of a table"))
        return self

    def location(self, location: str) -> DeltaTableBuilder[T]:
        """The folder of the table."""
        self._location = _text(location, "the location of a table")
        return self

    def comment(self, comment: str) -> DeltaTableBuilder[T]:
        """The comment of the table."""
        self._comment = _text(comment, "the comment of a table", empty=True)
        return self

    def addColumn(
        self,
        colName: str,
        dataType: str | SparkType,
        nullable: bool = True,
        generatedAlwaysAs: str | IdentityGenerator | None = None,
        generatedByDefaultAs: IdentityGenerator | None = None,
        comment: str | None = None,
    ) -> DeltaTableBuilder[T]:
        """One more column.

        `generatedAlwaysAs` is a SQL expression over the other columns, or an `IdentityGenerator`;
        `generatedByDefaultAs` is an `IdentityGenerator` for rows that bring no value.
        """
        name = _text(colName, "the name of a column")
        if not isinstance(nullable, bool):
            _refuse(nullable, "true or false", "nullable")
        if comment is not None:
            _text(comment, "the comment of a column", empty=True)
        field = typed_field(name, column_type(dataType), nullable=nullable, comment=comment)
        self._fields.append(generated_field(field, generatedAlwaysAs, generatedByDefaultAs))
        return self

    def addColumns(self, cols: SparkStruct | list[SparkField]) -> DeltaTableBuilder[T]:
        """The columns of a schema, with their comments."""
        fields = cols.fields if isinstance(cols, SparkStruct) else cols
        if not isinstance(fields, list) or not all(isinstance(f, SparkField) for f in fields):
            _refuse(cols, "a StructType or a list of StructFields", "cols")
        self._fields.extend(strip(StructType(tuple(map(to_field, fields)))).fields)
        return self

    def partitionedBy(self, *cols: str | Sequence[str]) -> DeltaTableBuilder[T]:
        """The columns whose values divide the rows into folders."""
        self._partition_by = _names(cols, "partitionedBy")
        return self

    def clusterBy(self, *cols: str | Sequence[str]) -> DeltaTableBuilder[T]:
        """The columns by which rows are brought together when the table is optimized."""
        self._cluster_by = _names(cols, "clusterBy")
        return self

    def property(self, key: str, value: str) -> DeltaTableBuilder[T]:
        """A table property."""
        self._properties[_text(key, "the name of a property")] = _text(
            value, "the value of a property", empty=True
        )
        return self

    def execute(self) -> T:
        """Make the table."""
        place = self._place()
        if not is_there(place, self._mode):
            self._make(place)
        return self._open_table(self._spark, place.location)

    def definition(self) -> dict[str, Any]:
        """What the builder was given, as JSON has it."""
        return {
            "mode": self._mode,
            "location": self._location,
            "parts": None if self._parts is None else list(self._parts),
            "comment": self._comment,
            "columns": schema_to_json(StructType(tuple(self._fields))),
            "partition_by": list(self._partition_by),
            "cluster_by": list(self._cluster_by),
            "properties": dict(self._properties),
        }

    @staticmethod
    def defined(
        spark: SparkSession, given: Mapping[str, Any], open_table: Callable[[SparkSession, str], T]
    ) -> DeltaTableBuilder[T]:
        """The builder with a `definition`."""
        made = DeltaTableBuilder(spark, given["mode"], open_table)
        made._location = given["location"]
        made._parts = None if given["parts"] is None else tuple(given["parts"])
        made._comment = given["comment"]
        made._fields = list(parse_schema(given["columns"]).fields)
        made._partition_by = tuple(given["partition_by"])
        made._cluster_by = tuple(given["cluster_by"])
        made._properties = dict(given["properties"])
        return made

    def _make(self, place: Place) -> None:
        schema = StructType(tuple(self._fields))
        definition = TableDefinition(
            schema,
            self._partition_by,
            tuple(to_path(column) for column in self._cluster_by),
            self._properties,
            self._defaults(),
            comment=self._comment,
            is_managed=place.is_managed,
        )
        if registers_existing(place, self._mode):
            create_named(place, lambda: existing_table(place, definition))
            return
        check_generated(self._spark, schema)
        target = AlterTarget.of(self._spark, place.log)
        create_named(place, lambda: create_table(target, definition, self._mode))

    def _place(self) -> Place:
        if self._parts is not None:
            return place_for(self._spark, self._parts, self._location)
        if self._location is None:
            raise InvalidArgumentError(
                "it is not known where the table is to be",
                hint='say it: .tableName("shop.orders") or .location("/data/orders")',
                condition="DELTA_CREATE_TABLE_MISSING_TABLE_NAME_OR_LOCATION",
            )
        return place_at(self._spark, self._location)

    def _defaults(self) -> dict[str, str]:
        """The properties that the session gives to new tables, unless they are asked for."""
        return DEFAULT_PROPERTIES.read(all_settings(self._spark), but=self._properties)


def generated_field(field: StructField, always: Any, by_default: Any) -> StructField:
    if always is not None and by_default is not None:
        raise ArgumentValueError("give generatedAlwaysAs or generatedByDefaultAs, not both")
    if isinstance(always, str):
        return field.with_metadata({GENERATION_EXPRESSION: always})
    generator = by_default if always is None else always
    if generator is None:
        return field
    if not isinstance(generator, IdentityGenerator):
        _refuse(generator, "an IdentityGenerator (or SQL, for generatedAlwaysAs)", field.name)
    if field.data_type != LONG:
        raise SchemaError(
            f"the identity column {field.name!r} is of type {field.data_type}",
            hint="identity columns are of type bigint",
            condition="DELTA_IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE",
            parameters={"dataType": field.data_type},
        )
    if not generator.step or not all(
        isinstance(number, int) and not isinstance(number, bool)
        for number in (generator.start, generator.step)
    ):
        raise ArgumentValueError(
            f"{generator} gives no values for column {field.name!r}",
            hint="start and step are whole numbers, and step is not 0",
        )
    marks = Identity(generator.start, generator.step, allow_explicit_insert=always is None)
    return with_identity(field, marks)


def column_type(given: Any) -> DataType:
    if not isinstance(given, str | SparkType):
        _refuse(given, "SQL text or a DataType", "dataType")
    try:
        return to_type(given)
    except SchemaError:
        if not isinstance(given, str):
            raise
        # Spark's own grammar takes more, comments of fields for example.
        try:
            return to_type(SparkType.fromDDL(given))
        except ParseException as error:
            raise SchemaError(f"{given!r} is not a type", condition="PARSE_SYNTAX_ERROR") from error


def _names(cols: Sequence[Any], what: str) -> tuple[str, ...]:
    """Names one by one, or one list of them."""
    names = cols[0] if len(cols) == 1 and isinstance(cols[0], list | tuple) else cols
    if not names or not all(isinstance(name, str) and name for name in names):
        _refuse(cols, "names of columns", what)
    return tuple(names)


def _text(value: Any, what: str, *, empty: bool = False) -> str:
    if not isinstance(value, str) or not (value or empty):
        raise ArgumentTypeError(f"{value!r} is not {what}", hint="give a string")
    return value


def _refuse(value: Any, wanted: str, what: str) -> NoReturn:
    raise ArgumentTypeError(f"{what}: {value!r} is not {wanted}")
