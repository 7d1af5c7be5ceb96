"""Whether files are as Iceberg compatibility wants them, by the JSON of the log and the footers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from testkit.readers.log_json import live_adds, metadata_of


def problems(path: Path, version: int) -> list[str]:
    """What is wrong with the files, if something is."""
    metadata = metadata_of(path)
    fields = json.loads(metadata["schemaString"])["fields"]
    wanted = dict(_wanted(fields, "", version))
    found = []
    for name, add in live_adds(path).items():
        footer = pq.ParquetFile(path / unquote(name))
        stored = dict(_stored(footer.schema_arrow, ""))
        different = {at for at in stored if at in wanted and stored[at] != wanted[at]}
        found += [f"{name}: {at}: {stored[at]} is not {wanted[at]}" for at in sorted(different)]
        partitions = [_physical(each) for each in fields if each["name"] in _partitions(metadata)]
        found += [f"{name}: lacks {each}" for each in partitions if each not in stored]
        last = footer.schema_arrow.names[len(footer.schema_arrow.names) - len(partitions) :]
        if sorted(last) != sorted(partitions):
            found.append(f"{name}: {last} are last")
        if "deletionVector" in add or json.loads(add["stats"])["numRecords"] < 1:
            found.append(f"{name}: has a vector or no rows")
        if version == 2 and add["tags"]["ICEBERG_COMPAT_VERSION"] != "2":
            found.append(f"{name}: has another tag")
        kinds = {footer.schema.column(i).physical_type for i in range(len(footer.schema))}
        if "INT96" in kinds:
            found.append(f"{name}: has INT96")
    return found


def _partitions(metadata: dict[str, Any]) -> list[str]:
    found: list[str] = metadata["partitionColumns"]
    return found


def _physical(field: dict[str, Any]) -> str:
    found: str = field["metadata"]["delta.columnMapping.physicalName"]
    return found


def _wanted(fields: list[dict[str, Any]], above: str, version: int) -> list[tuple[str, int]]:
    found = []
    for field in fields:
        name, metadata = _physical(field), field["metadata"]
        found.append((above + name, metadata["delta.columnMapping.id"]))
        nested = metadata.get("delta.columnMapping.nested.ids", {})
        found += _inside(field["type"], above + name, name, nested, version)
    return found


def _inside(
    kind: Any, at: str, key: str, nested: dict[str, int], version: int
) -> list[tuple[str, int]]:
    if not isinstance(kind, dict):
        return []
    if kind["type"] == "struct":
        return _wanted(kind["fields"], f"{at}.", version)
    found = []
    for step in ("element",) if kind["type"] == "array" else ("key", "value"):
        if version == 2:
            found.append((f"{at}.{step}", nested[f"{key}.{step}"]))
        inner = kind[f"{step}Type"]
        found += _inside(inner, f"{at}.{step}", f"{key}.{step}", nested, version)
    return found


def _stored(fields: Any, above: str) -> list[tuple[str, int | None]]:
    found: list[tuple[str, int | None]] = []
    for field in fields:
        number = (field.metadata or {}).get(b"PARQUET:field_id")
        found.append((above + field.name, None if number is None else int(number)))
        found += _stored(_parts(field.type), f"{above}{field.name}.")
    return found


def _parts(kind: pa.DataType) -> list[pa.Field]:
    if pa.types.is_map(kind):
        return [kind.key_field.with_name("key"), kind.item_field.with_name("value")]
    if pa.types.is_list(kind):
        return [kind.value_field.with_name("element")]
    return list(kind) if pa.types.is_struct(kind) else []
