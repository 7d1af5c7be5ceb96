"""Reading a checkpoint of any kind: classic, parts, V2 in JSON or Parquet, with sidecars.

PROTOCOL: Checkpoints, Sidecar Files.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import cast

import pyarrow as pa

from lakebed.errors import LogCorruptedError, ObjectNotFoundError
from lakebed.formats import commit_file as commit
from lakebed.formats.checkpoint_decoder import ParquetCheckpoint
from lakebed.formats.file_actions import ADD_SCHEMA, REMOVE_SCHEMA, FileTableBuilder
from lakebed.log.file_state import FileSource, MemoryFiles
from lakebed.log.listing.log_names import LogFile, sidecar_path
from lakebed.log.listing.segment import CheckpointRef
from lakebed.log.replay import TableHead, head_of
from lakebed.spec.actions import Action, Add, CheckpointMetadata, Remove, Sidecar
from lakebed.spec.paths import decode_path
from lakebed.storage.store import Store

_SMALL_KINDS = ("protocol", "metaData", "txn", "domainMetadata", "checkpointMetadata", "sidecar")


class CheckpointReader:
    """A checkpoint whose columns are read when asked for."""

    def __init__(self, store: Store, ref: CheckpointRef) -> None:
        self._store = store
        self.ref = ref

    @cached_property
    def head(self) -> TableHead:
        return head_of(self._actions)

    @cached_property
    def sidecars(self) -> tuple[Sidecar, ...]:
        return tuple(action for action in self._actions if isinstance(action, Sidecar))

    def columns(self, kind: str, fields: Sequence[str]) -> pa.Table:
        tables = [part.columns(kind, fields) for part in self._sources]
        try:
            return pa.concat_tables(tables, promote_options="permissive")
        except pa.ArrowException as error:
            raise LogCorruptedError(
                f"the parts of the checkpoint do not fit together: {error}",
                file=self.ref.files[0].path,
            ) from error

    def has(self, kind: str, field: str) -> bool:
        return any(part.has(kind, field) for part in self._sources)

    @cached_property
    def _main(self) -> list[FileSource]:
        return [self._open(file) for file in self.ref.files]

    @cached_property
    def _sources(self) -> list[FileSource]:
        return [*self._main, *(self._open_sidecar(sidecar) for sidecar in self.sidecars)]

    @cached_property
    def _actions(self) -> list[Action]:
        actions: list[Action] = []
        for source in self._main:
            part = cast("_Part", source)
            actions += part.actions()
        self._check(actions)
        return actions

    def _check(self, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, CheckpointMetadata) and action.version != self.ref.version:
                raise LogCorruptedError(
                    f"says that it is of version {action.version}", file=self.ref.files[0].path
                )

    def _open(self, file: LogFile) -> FileSource:
        if file.is_json:
            return _JsonPart(self._store.get(file.path), file.path)
        return _ParquetPart(ParquetCheckpoint(self._store.open_input(file.path), file.path))

    def _open_sidecar(self, sidecar: Sidecar) -> FileSource:
        path = sidecar_path(decode_path(sidecar.path).rsplit("/", 1)[-1])
        try:
            return _ParquetPart(ParquetCheckpoint(self._store.open_input(path), path))
        except ObjectNotFoundError as error:
            raise LogCorruptedError(
                f"the sidecar file that {self.ref.files[0].path} needs is missing", file=path
            ) from error


class _ParquetPart:
    def __init__(self, file: ParquetCheckpoint) -> None:
        self._file = file

    def actions(self) -> list[Action]:
        found = self._file.actions(_SMALL_KINDS)
        return [commit.parse(name, raw, self._file.name) for name, raw in found]

    def columns(self, kind: str, fields: Sequence[str]) -> pa.Table:
        return self._file.files(kind, fields)

    def has(self, kind: str, field: str) -> bool:
        return self._file.has(kind, field)


class _JsonPart(MemoryFiles):
    def __init__(self, data: bytes, name: str) -> None:
        self._actions: list[Action] = []
        adds, removes = FileTableBuilder(ADD_SCHEMA), FileTableBuilder(REMOVE_SCHEMA)
        for action in commit.decode_actions(data, name):
            if isinstance(action, Add):
                adds.append(action.to_json())
            elif isinstance(action, Remove):
                removes.append(action.to_json())
            else:
                self._actions.append(action)
        super().__init__(adds.finish(), removes.finish())

    def actions(self) -> list[Action]:
        return self._actions


_Part = _ParquetPart | _JsonPart
