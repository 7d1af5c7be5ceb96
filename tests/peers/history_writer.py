"""Tables with a history of any shape, written action by action.

Neither engine writes them, so both stream from what neither has arranged: files in any order of
modification times, commits that mix files with and without a change of data, vectors, change files.
Every data file has the columns `id LONG, v INT`, and `p INT` where the table has partitions.
"""

from __future__ import annotations

import json
import os
import random
import urllib.parse
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.formats.deletion_vectors import RowIndexSet, encode_bitmap
from lakebed.spec.vector_descriptors import inline_vector

START = 1_790_000_000_000
HOUR = 3_600_000
"""The time between two commits."""
_NAMES = ("a", "B", "a b", "a_", "a=", "a!", "a0", "ä")

Action = dict[str, Any]


@dataclass
class DataFile:
    path: str
    """As the log has it."""
    ids: list[int]
    """Also of the rows that a vector marks."""
    part: int | None
    add: Action
    dead: set[int] = field(default_factory=set)
    """Indexes of rows that a vector marks."""

    @property
    def live(self) -> list[int]:
        return [id_ for index, id_ in enumerate(self.ids) if index not in self.dead]


class HistoryWriter:
    """Commits versions to a table that it creates as version 0."""

    def __init__(
        self, path: Path, draw: random.Random, *, partitioned: bool = False, feed: bool = False
    ) -> None:
        self.path = path
        self.draw = draw
        self.partitioned = partitioned
        self.feed = feed
        self.version = -1
        self.files: dict[str, DataFile] = {}
        self.steps: list[str] = []
        self._next_id = 0
        self._table_id = str(uuid.UUID(int=draw.getrandbits(128)))
        self._properties = {"delta.enableDeletionVectors": "true"}
        if feed:
            self._properties["delta.enableChangeDataFeed"] = "true"
        (path / "_delta_log").mkdir(parents=True)
        self._commit("create", [_protocol(), self._metadata()])

    # --- commits ----------------------------------------------------------------------------------

    def append(self, count: int, *, rows: int = 2) -> None:
        files = [self._new_file(self._new_ids(rows)) for _ in range(count)]
        self._commit(f"append {count}", [{"add": each.add} for each in files])

    def append_paths(self, paths: Sequence[str]) -> None:
        """As the log has them; all of one modification time."""
        files = []
        for path in paths:
            ids = self._new_ids(2)
            _, size = self._write(
                urllib.parse.unquote(path), pa.table({"id": ids, "v": _ints(ids)})
            )
            files.append(self._known(path, size, ids, None, START))
        self._commit(f"append {paths}", [{"add": each.add} for each in files])

    def append_empty(self) -> None:
        self._commit("nothing", [])

    def set_property(self) -> None:
        self._properties["note"] = str(self.version)
        self._commit("property", [self._metadata()])

    def append_and_set_property(self, count: int) -> None:
        """Metadata among files, which other writers may put anywhere in a commit."""
        self._properties["note"] = str(self.version)
        adds: list[Action] = [{"add": self._new_file(self._new_ids(2)).add} for _ in range(count)]
        adds.insert(self.draw.randint(0, count), self._metadata())
        self._commit(f"append {count} and property", adds)

    def optimize(self) -> None:
        """Files of one partition become one, without a change of data."""
        chosen = self._some_of_one_partition()
        kept = [id_ for file in chosen for id_ in file.live]
        actions = [self._remove(file, data_change=False) for file in chosen]
        if kept:
            made = self._new_file(kept, part=chosen[0].part, data_change=False)
            actions.append({"add": made.add})
        self.draw.shuffle(actions)
        self._commit(f"optimize {len(chosen)}", actions)

    def optimize_and_append(self) -> None:
        """One commit with files that change data and files that do not."""
        chosen = self._some_of_one_partition()
        kept = [id_ for file in chosen for id_ in file.live]
        actions = [self._remove(file, data_change=False) for file in chosen]
        if kept:
            made = self._new_file(kept, part=chosen[0].part, data_change=False)
            actions.append({"add": made.add})
        actions += [{"add": self._new_file(self._new_ids(2)).add} for _ in range(2)]
        self.draw.shuffle(actions)
        self._commit(f"optimize {len(chosen)} and append 2", actions)

    def delete_files(self) -> None:
        """Whole files go."""
        chosen = self._some()
        actions = [self._remove(file, data_change=True) for file in chosen]
        self._commit(f"delete {len(chosen)} files", actions)

    def rewrite(self, kind: str) -> None:
        """`delete` leaves out rows of files, `update` changes them; the files are copied."""
        actions: list[Action] = []
        for file in self._some():
            hit = self.draw.choice(file.live) if file.live else None
            kept = [id_ for id_ in file.live if kind == "update" or id_ != hit]
            actions.append(self._remove(file, data_change=True))
            if kept:
                actions.append({"add": self._new_file(kept, part=file.part).add})
            if self.feed and hit is not None:
                changes = ["delete"]
                if kind == "update":
                    changes = ["update_preimage", "update_postimage"]
                actions.append({"cdc": self._change_file([hit] * len(changes), changes, file.part)})
        self.draw.shuffle(actions)
        self._commit(f"{kind} by copies", actions)

    def mark_rows(self) -> None:
        """A vector for rows of some files; change files sometimes, as writers may leave them out
        where vectors say it all."""
        actions: list[Action] = []
        with_changes = self.feed and self.draw.random() < 0.5
        for file in self._some():
            alive = [index for index in range(len(file.ids)) if index not in file.dead]
            if not alive:
                continue
            hit = self.draw.choice(alive)
            actions.append(self._remove(file, data_change=True))
            actions.append({"add": self._marked(file, hit).add})
            if with_changes:
                change = self._change_file([file.ids[hit]], ["delete"], file.part)
                actions.append({"cdc": change})
        self._commit("delete by vectors", actions)

    def overwrite(self) -> None:
        actions = [self._remove(file, data_change=True) for file in list(self.files.values())]
        actions += [{"add": self._new_file(self._new_ids(2)).add} for _ in range(2)]
        self._commit("overwrite", actions)

    def checkpoint(self) -> None:
        """By Lakebed: its initial snapshots and delta-spark's then come from it."""
        import lakebed

        self.steps.append("checkpoint")
        lakebed.open(self.path).checkpoint()

    # --- files ------------------------------------------------------------------------------------

    def _some(self) -> list[DataFile]:
        """One or two files, if there are any."""
        known = sorted(self.files.values(), key=lambda file: file.path)
        return self.draw.sample(known, min(len(known), self.draw.randint(1, 2)))

    def _some_of_one_partition(self) -> list[DataFile]:
        if not self.files:
            return []
        part = self.draw.choice(sorted(self.files.values(), key=lambda file: file.path)).part
        same = [file for file in self.files.values() if file.part == part]
        return self.draw.sample(same, min(len(same), self.draw.randint(1, 3)))

    def _new_ids(self, count: int) -> list[int]:
        first = self._next_id
        self._next_id += count
        return list(range(first, first + count))

    def _new_file(
        self, ids: list[int], *, part: int | None = None, data_change: bool = True
    ) -> DataFile:
        if part is None and self.partitioned and data_change:
            part = self.draw.choice([0, 1, None])
        path, size = self._write(self._name(part), pa.table({"id": ids, "v": _ints(ids)}))
        # Some are the same, so that the path decides.
        time = START + self.draw.randrange(4) * 1000
        return self._known(path, size, ids, part, time, data_change=data_change)

    def _known(
        self,
        path: str,
        size: int,
        ids: list[int],
        part: int | None,
        time: int,
        *,
        data_change: bool = True,
    ) -> DataFile:
        add = {
            "path": path,
            "partitionValues": self._partition_values(part),
            "size": size,
            "modificationTime": time,
            "dataChange": data_change,
            "stats": json.dumps({"numRecords": len(ids)}),
        }
        made = DataFile(path, ids, part, add)
        self.files[path] = made
        return made

    def _marked(self, file: DataFile, index: int) -> DataFile:
        dead = {*file.dead, index}
        vector = inline_vector(encode_bitmap(RowIndexSet.from_indexes(sorted(dead))), len(dead))
        add = {**file.add, "dataChange": True, "deletionVector": vector.to_json()}
        made = DataFile(file.path, file.ids, file.part, add, dead)
        self.files[file.path] = made
        return made

    def _remove(self, file: DataFile, *, data_change: bool) -> Action:
        del self.files[file.path]
        remove = {
            "path": file.path,
            "deletionTimestamp": self._time(self.version + 1),
            "dataChange": data_change,
            "extendedFileMetadata": True,
            "partitionValues": file.add["partitionValues"],
            "size": file.add["size"],
        }
        if "deletionVector" in file.add:
            remove["deletionVector"] = file.add["deletionVector"]
        return {"remove": remove}

    def _change_file(self, ids: list[int], changes: list[str], part: int | None) -> Action:
        rows = pa.table({"id": ids, "v": _ints(ids), "_change_type": changes})
        path, size = self._write(f"_change_data/{self._name(part)}", rows)
        return {
            "path": path,
            "partitionValues": self._partition_values(part),
            "size": size,
            "dataChange": False,
        }

    def _name(self, part: int | None) -> str:
        # Paths are sorted, with escapes where some writers have them.
        name = f"{self.draw.choice(_NAMES)}-{self.draw.getrandbits(64):x}"
        folder = "" if not self.partitioned else f"p={_directory(part)}/"
        return f"{folder}{name}.parquet"

    def _write(self, name: str, rows: pa.Table) -> tuple[str, int]:
        """The path as the log has it, and the size."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, file)
        safe = self.draw.choice(["/=!_-.", "/_-."])
        return urllib.parse.quote(name, safe=safe), file.stat().st_size

    def _partition_values(self, part: int | None) -> dict[str, str | None]:
        return {"p": None if part is None else str(part)} if self.partitioned else {}

    # --- the log ----------------------------------------------------------------------------------

    def _time(self, version: int) -> int:
        return START + version * HOUR

    def _commit(self, step: str, actions: list[Action]) -> None:
        self.version += 1
        self.steps.append(f"{self.version} {step}")
        time = self._time(self.version)
        info = {"commitInfo": {"timestamp": time, "operation": "WRITE", "operationParameters": {}}}
        lines = [json.dumps(each) for each in [info, *actions]]
        file = self.path / "_delta_log" / f"{self.version:020}.json"
        file.write_text("\n".join(lines) + "\n")
        # The time of a version without in-commit timestamps is that of its file.
        os.utime(file, (time / 1000, time / 1000))

    def _metadata(self) -> Action:
        names = {"id": "long", "v": "integer"}
        if self.partitioned:
            names["p"] = "integer"
        fields = [
            {"name": name, "type": type_, "nullable": True, "metadata": {}}
            for name, type_ in names.items()
        ]
        return {
            "metaData": {
                "id": self._table_id,
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": ["p"] if self.partitioned else [],
                "configuration": dict(self._properties),
                "createdTime": START,
            }
        }


def _protocol() -> Action:
    return {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["deletionVectors"],
            "writerFeatures": ["deletionVectors", "changeDataFeed", "appendOnly", "invariants"],
        }
    }


def _ints(ids: list[int]) -> pa.Array:
    return pa.array([id_ % 7 for id_ in ids], pa.int32())


def _directory(part: int | None) -> str:
    return "__HIVE_DEFAULT_PARTITION__" if part is None else str(part)
