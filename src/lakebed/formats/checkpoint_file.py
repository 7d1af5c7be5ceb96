"""Writing the Parquet files of checkpoints: classic, V2 and sidecars.

PROTOCOL: Checkpoints, Sidecar Files. The few actions that are not files have the first row group
to themselves, so that the head of a table comes without a byte of its files; only where the whole
file is read in one go anyway, all rows stand together. Page checksums and the digest of
`parquet_digest` show later damage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.formats import parquet_digest
from lakebed.formats.checkpoint_schema import action_rows, checkpoint_schema, file_rows
from lakebed.formats.codecs import arrow_codec
from lakebed.spec.actions import Action

ROWS_PER_GROUP = 65_536
# So many files in one group with the rest: that takes a third less time and space.
FILES_WITH_THE_REST = 1_000


def encode(
    file: str,
    kinds: Sequence[str],
    actions: Sequence[Action],
    adds: pa.Table,
    removes: pa.Table,
    *,
    codec: str = "snappy",
) -> bytes:
    """The bytes of the file of that name that holds `actions`, then `adds`, then `removes`."""
    schema = checkpoint_schema(kinds, adds.schema)
    groups = _groups(schema, actions, adds, removes)
    if adds.num_rows + removes.num_rows <= FILES_WITH_THE_REST:
        groups = iter([pa.concat_tables([schema.empty_table(), *groups])])
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, schema, **_options(schema, codec)) as writer:
        for rows in groups:
            writer.write_table(rows, row_group_size=ROWS_PER_GROUP)
        writer.add_key_value_metadata({parquet_digest.KEY: parquet_digest.PLACEHOLDER})
    return parquet_digest.seal(memoryview(sink.getvalue()), file)


def _groups(
    schema: pa.Schema, actions: Sequence[Action], adds: pa.Table, removes: pa.Table
) -> Iterator[pa.Table]:
    if actions:
        yield action_rows(actions, schema)
    yield from file_rows("add", adds, schema, ROWS_PER_GROUP)
    yield from file_rows("remove", removes, schema, ROWS_PER_GROUP)


def _options(schema: pa.Schema, codec: str) -> dict[str, object]:
    return {
        "compression": arrow_codec(codec),
        "write_page_checksum": True,
        # Readers go by the Parquet types; Arrow's own schema would only make the footer longer.
        "store_schema": False,
        # Elsewhere nearly all values differ, and a dictionary would be built in vain.
        "use_dictionary": [path for path in _leaf_paths(schema) if _repeats(path)],
        "write_batch_size": ROWS_PER_GROUP,
    }


def _repeats(path: str) -> bool:
    return ".partitionValues" in path or ".tags." in path or path == "add.clusteringProvider"


def _leaf_paths(schema: pa.Schema) -> list[str]:
    return [path for field in schema for path in _paths(field.name, field.type)]


def _paths(path: str, kind: pa.DataType) -> list[str]:
    if pa.types.is_struct(kind):
        fields = [kind.field(position) for position in range(kind.num_fields)]
        return [leaf for field in fields for leaf in _paths(f"{path}.{field.name}", field.type)]
    if pa.types.is_map(kind):
        return [f"{path}.key_value.key", f"{path}.key_value.value"]
    return [f"{path}.list.element"] if pa.types.is_list(kind) else [path]
