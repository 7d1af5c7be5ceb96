"""REPLACE COLUMNS: all columns in another order, with other comments, and with more of them.

By delta-spark's rules: no type changes, columns can only become nullable, new ones are nullable.
With column mapping columns may be left out, but not together with new ones beside them: whether one
was renamed nobody could tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lakebed.commands.alter.columns.drop_columns import check_dropped
from lakebed.commands.target.column_names import as_json, described
from lakebed.commands.target.metadata_change import AlterTarget, Change, operation, schema_change
from lakebed.errors import SchemaError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.columns.column_mapping import mapping_mode
from lakebed.spec.columns.column_metadata import COMMENT, CURRENT_DEFAULT
from lakebed.spec.schema import (
    CHAR_VARCHAR,
    ArrayType,
    DataType,
    MapType,
    Path,
    StructField,
    StructType,
    render_path,
)


def replace_columns(target: AlterTarget, fields: Sequence[StructField]) -> Snapshot:
    return target.apply(lambda snapshot: plan_replace_columns(snapshot, fields))


def plan_replace_columns(snapshot: Snapshot, fields: Sequence[StructField]) -> Change:
    replacing = _Replacing(mapping_mode(snapshot.metadata.configuration) != "none")
    schema = replacing.struct(snapshot.schema, StructType(tuple(fields)), ())
    configuration = check_dropped(snapshot, replacing.dropped)
    if set(schema.names) <= set(snapshot.partition_columns):
        raise SchemaError("a table needs at least one column that is not a partition column")
    shown = [described((), each) for each in schema.fields]
    done = operation("REPLACE COLUMNS", columns=as_json(shown))
    metadata = replace(snapshot.metadata, configuration=configuration)
    return schema_change(snapshot, schema, done, metadata)


@dataclass(frozen=True)
class _Replacing:
    drops: bool
    """Whether columns may be left out."""
    dropped: list[Path] = field(default_factory=list)

    def struct(self, old: StructType, new: StructType, path: Path) -> StructType:
        gone = [each.name for each in old.fields if each.name not in new]
        added = [each.name for each in new.fields if each.name not in old]
        where = f" of {render_path(path)}" if path else ""
        if gone and not self.drops:
            raise SchemaError(
                f"REPLACE COLUMNS leaves out {', '.join(gone)}{where}",
                hint="name all columns of the table; with column mapping they can be dropped",
                condition="DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP",
            )
        if gone and added:
            raise SchemaError(
                f"{', '.join(gone)}{where} would go and {', '.join(added)} come: nobody can tell "
                "whether columns are renamed",
                hint="RENAME COLUMN, DROP COLUMNS and ADD COLUMNS say which",
            )
        self.dropped.extend((*path, name) for name in gone)
        return StructType(tuple(self._field(old.find(f.name), f, path) for f in new.fields))

    def _field(self, old: StructField | None, new: StructField, path: Path) -> StructField:
        here = (*path, new.name if old is None else old.name)
        if old is None:
            _check_new(new, here)
            return new
        if old.nullable and not new.nullable:
            raise SchemaError(
                f"column {render_path(here)} cannot become NOT NULL: there may be nulls in it",
                hint=f"add the constraint {render_path(here)} IS NOT NULL",
                condition="DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP",
            )
        if CHAR_VARCHAR in new.metadata and new.metadata[CHAR_VARCHAR] != old.metadata.get(
            CHAR_VARCHAR
        ):
            raise _other_type(here, old.data_type, new.metadata[CHAR_VARCHAR])
        kind = self._type(old.data_type, new.data_type, here)
        comment = new.metadata.get(COMMENT)
        kept = old if comment is None else old.with_metadata({COMMENT: comment})
        return replace(kept, data_type=kind, nullable=new.nullable)

    def _type(self, old: DataType, new: DataType, path: Path) -> DataType:
        if isinstance(old, StructType) and isinstance(new, StructType):
            return self.struct(old, new, path)
        if isinstance(old, ArrayType) and isinstance(new, ArrayType):
            element = self._type(old.element_type, new.element_type, (*path, "element"))
            return replace(old, element_type=element)
        if isinstance(old, MapType) and isinstance(new, MapType):
            key = self._type(old.key_type, new.key_type, (*path, "key"))
            value = self._type(old.value_type, new.value_type, (*path, "value"))
            return replace(old, key_type=key, value_type=value)
        if old != new:
            raise _other_type(path, old, new)
        return old


def _check_new(new: StructField, path: Path) -> None:
    if not new.nullable:
        raise SchemaError(
            f"column {render_path(path)} cannot be added as NOT NULL: rows that are there have no "
            "value for it",
            hint="add it as nullable",
        )
    if CURRENT_DEFAULT in new.metadata:
        raise SchemaError(
            f"column {render_path(path)} cannot be added with a default: rows that are there would "
            "be null",
            hint="add it without one, then ALTER COLUMN ... SET DEFAULT",
        )


def _other_type(path: Path, old: object, new: object) -> SchemaError:
    return SchemaError(
        f"REPLACE COLUMNS cannot change the type of {render_path(path)} from {old} to {new}",
        hint="ALTER COLUMN ... TYPE makes types wider",
        condition="DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP",
    )
