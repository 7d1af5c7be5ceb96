"""How the files of a table are laid out, and what a write of rows gives back.

PROTOCOL: Data Files, Writer Requirements for Column Mapping. The same for both data planes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from lakebed.spec.actions import Add, Metadata, Protocol
from lakebed.spec.columns.column_mapping import (
    mapping_mode,
    nested_ids,
    physical_schema,
)
from lakebed.spec.columns.column_metadata import identity
from lakebed.spec.columns.schema_validation import validate_void
from lakebed.spec.features import is_supported
from lakebed.spec.iceberg_compat import active_compat
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import (
    BINARY,
    STRING,
    StructField,
    StructType,
    parse_schema,
    walk,
    without_void,
)
from lakebed.spec.stats import indexed_columns

# Table features that ask something of whoever writes rows, and that both data planes take care of
# (see `spec.features.check_writable`).
HANDLED_FEATURES = frozenset(
    [
        "allowColumnDefaults",
        "generatedColumns",
        "identityColumns",
        "variantType",
        "variantType-preview",
    ]
)


@dataclass(frozen=True)
class FileLayout:
    """Schema, partitions and settings of the files of a table, as its metadata has them."""

    schema: StructType
    partition_columns: tuple[str, ...]
    configuration: Mapping[str, str]
    keeps_partitions: bool = False
    unindexed: frozenset[str] = frozenset()
    """Columns without statistics, whatever the settings say."""
    needs_statistics: bool = False
    """Of clustered tables: whoever writes to them must not leave statistics out."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """What the log says about files that are as a feature of the table wants them."""

    @classmethod
    def of(cls, metadata: Metadata, protocol: Protocol) -> FileLayout:
        """Some tables want partition columns in the files too, behind the others."""
        asked = TableProperties(metadata.configuration).write_partition_columns_to_parquet
        compat = active_compat(protocol, metadata)
        supported = is_supported(protocol, "materializePartitionColumns")
        return cls(
            parse_schema(metadata.schema_string),
            metadata.partition_columns,
            metadata.configuration,
            bool(asked) or supported or compat is not None,
            needs_statistics=is_supported(protocol, "clustering"),
            tags={} if compat is None else compat.file_tags,
        )

    @cached_property
    def properties(self) -> TableProperties:
        return TableProperties(self.configuration)

    @cached_property
    def mode(self) -> str:
        return mapping_mode(self.configuration)

    @cached_property
    def stored(self) -> StructType:
        """The columns that go into the files."""
        partitions = [self.schema.field(name) for name in self.partition_columns]
        data = [field for field in self.schema.fields if field not in partitions]
        validate_void(StructType(tuple(data)))
        return without_void(StructType((*data, *(partitions if self.keeps_partitions else ()))))

    @cached_property
    def physical(self) -> StructType:
        return physical_schema(self.stored, self.mode)

    @cached_property
    def indexed(self) -> StructType:
        """The columns that have statistics, by their physical names."""
        known = tuple(field for field in self.schema.fields if field.name not in self.unindexed)
        chosen = indexed_columns(StructType(known), self.properties, self.partition_columns)
        return physical_schema(without_void(self._with_identity(chosen)), self.mode)

    def _with_identity(self, chosen: StructType) -> StructType:
        """The marks of identity columns are read from the statistics of new files."""
        found = (field for field in self.schema.fields if identity(field) is not None)
        missing = (field for field in found if field.name not in chosen)
        return StructType((*chosen.fields, *missing))

    def with_columns(self, columns: Sequence[StructField]) -> FileLayout:
        """The same with more columns in the files than the table has, without statistics."""
        schema = StructType((*self.schema.fields, *columns))
        names = self.unindexed.union(field.name for field in columns)
        return replace(self, schema=schema, unindexed=names)

    def with_codec(self, codec: str | None) -> FileLayout:
        """The same with another codec than the table's, if one is given."""
        if codec is None:
            return self
        key = TableProperties.parquet_compression_codec.key
        return replace(self, configuration={**self.configuration, key: codec})

    @cached_property
    def has_nested_ids(self) -> bool:
        """Whether elements of arrays or entries of maps need ids, which Spark cannot write."""
        return bool(self.tags) and any(nested_ids(each) for _, each in walk(self.physical))

    @cached_property
    def may_be_empty(self) -> frozenset[str]:
        """Partition columns in the files where an empty value must be null, as it is in the log."""
        if not self.keeps_partitions:
            return frozenset()
        fields = [self.schema.field(name) for name in self.partition_columns]
        return frozenset(each.name for each in fields if each.data_type in (STRING, BINARY))

    @property
    def codec(self) -> str:
        return self.properties.parquet_compression_codec.lower()


@dataclass(frozen=True)
class WrittenFiles:
    """The files of a write, and the schema of the table, where identity marks moved on."""

    adds: list[Add]
    schema: StructType
    num_rows: int
