"""The package `deltalake` from PyPI, without Spark."""

from __future__ import annotations

import importlib.metadata
from typing import Any

from suite.peers.base import After, Peer
from suite.peers.on_spark import at_once
from suite.rows import facts_of_result, one_row
from suite.tpch import TABLES, query_text


class Deltalake(Peer):
    def about(self) -> dict[str, Any]:
        return {"version": importlib.metadata.version("deltalake"), **super().about()}

    def _table(self, path: str) -> Any:
        import deltalake

        return deltalake.DeltaTable(path)

    def _codec(self) -> Any:
        """The codec of Spark: its own default compresses more and takes longer."""
        import deltalake

        return deltalake.WriterProperties(compression="SNAPPY")

    # --- TPC-H ----------------------------------------------------------------------------------

    def load(self, source: str, target: str) -> None:
        import deltalake
        import pyarrow.parquet as pq

        for table in TABLES:
            file = pq.ParquetFile(f"{source}/{table}.parquet")
            deltalake.write_deltalake(
                f"{target}/{table}",
                _Batches(file),
                writer_properties=self._codec(),
            )

    def tables(self, folder: str) -> None:
        import deltalake

        self._engine = deltalake.QueryBuilder()
        for table in TABLES:
            self._engine.register(table, self._table(f"{folder}/{table}"))

    def query(self, number: int) -> After:
        import pyarrow as pa

        found = pa.table(self._engine.execute(query_text(number)))
        return lambda: facts_of_result([list(row.values()) for row in found.to_pylist()])

    # --- changing rows --------------------------------------------------------------------------

    def merge(self, path: str, source: str, key: str) -> None:
        merge = self._merge(path, source, key)
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def merge_delete(self, path: str, source: str, key: str) -> None:
        self._merge(path, source, key).when_matched_delete().execute()

    def _merge(self, path: str, source: str, key: str) -> Any:
        import pyarrow.parquet as pq

        return self._table(path).merge(
            pq.read_table(source),
            key,
            source_alias="s",
            target_alias="t",
            writer_properties=self._codec(),
        )

    # --- opening and appending ------------------------------------------------------------------

    def arrow_list_files(self, path: str) -> After:
        files = self._table(path).file_uris()
        return lambda: [len(files)]

    def arrow_skip(self, path: str, where: str, partition: list[str]) -> After:  # noqa: ARG002
        files = self._table(path).file_uris(file_pruning_predicate=[tuple(partition)])
        return lambda: [len(files)]

    def arrow_append(self, path: str, times: int = 1) -> None:
        import deltalake

        for number in range(times):
            deltalake.write_deltalake(path, one_row(number), mode="append")

    def arrow_append_by(self, path: str, writers: int, times: int) -> None:
        at_once(writers, lambda: self.arrow_append(path, times))

    # --- services -------------------------------------------------------------------------------

    def compact(self, path: str, size: int) -> None:
        self._table(path).optimize.compact(target_size=size, writer_properties=self._codec())

    def zorder(self, path: str, size: int, columns: list[str]) -> None:
        optimize = self._table(path).optimize
        optimize.z_order(columns, target_size=size, writer_properties=self._codec())

    def vacuum(self, path: str) -> None:
        self._table(path).vacuum(0, enforce_retention_duration=False, dry_run=False)


class _Batches:
    """A file as a stream of Arrow data, so that it is never in memory as a whole."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        import pyarrow as pa

        # The numbers that the fields have in the file would become part of the table.
        fields = [field.remove_metadata() for field in self._file.schema_arrow]
        schema = pa.schema(fields)
        batches = (
            pa.RecordBatch.from_arrays(batch.columns, schema=schema)
            for batch in self._file.iter_batches(batch_size=65_536)
        )
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        return reader.__arrow_c_stream__(requested_schema)
