"""Tables whose files are as old as a test wants: a clock of their own, real files, real rows.

What each version holds is known beforehand. Versions are read by DuckDB, which shares no code with
Lakebed, and by Lakebed; whether a version can be read is what both of them say.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from urllib.parse import quote, unquote

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import lakebed
from lakebed.commands.pin_versions import pin_version, pinned_versions, unpin_version
from lakebed.commands.vacuum.vacuum import vacuum_table
from lakebed.commands.vacuum.vacuum_options import VacuumOptions
from lakebed.commands.vacuum.vacuum_report import VacuumResult
from lakebed.errors import LakebedError
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.maintenance.checkpoint_writer import write_checkpoint
from lakebed.log.maintenance.cleanup import clean_up
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Action, Add, AddCdc, Remove
from lakebed.spec.paths import partition_directory
from lakebed.storage import Store, open_store
from lakebed.transaction import Operation, Transaction
from testkit.readers.other_readers import duckdb_with_delta
from testkit.tables.small_tables import column, features, metadata

HOUR = 3_600_000
DAY = 24 * HOUR
START = 20_000 * DAY
RETENTION = 3 * DAY
ROWS = 3
PROTOCOL = features("deletionVectors", reader=("deletionVectors",))


class AgedTable:
    """Each data file has three rows, whose ids no other file has."""

    protocol = PROTOCOL
    columns: tuple[dict[str, Any], ...] = (column("id"),)
    partition_by: tuple[str, ...] = ()

    def __init__(self, folder: Path, **properties: str) -> None:
        self.folder = folder
        self.store: Store = open_store(str(folder))
        self.now = START
        self.made: dict[int, int] = {}
        self._names: set[str] = set()
        self._count = 0
        settings = {
            "deletedFileRetentionDuration": "interval 3 days",
            "logRetentionDuration": "interval 5 days",
            "checkpointInterval": "4",
            **properties,
        }
        with self.clock():
            transaction = Transaction(None, store=self.store, operation=Operation("CREATE TABLE"))
            described = metadata(*self.columns, partition_by=self.partition_by, **settings)
            transaction.stage(self.protocol, described)
            transaction.commit().unwrap()
        self._age(0)

    @property
    def log(self) -> TableLog:
        return TableLog(self.store)

    @property
    def newest(self) -> int:
        return max(self.made)

    @contextmanager
    def clock(self) -> Iterator[None]:
        """Commits, tombstones and checkpoints are made at this table's time."""
        fake = SimpleNamespace(**{name: getattr(time, name) for name in ("time", "monotonic")})
        fake.time_ns = lambda: self.now * 1_000_000
        with (
            patch("lakebed.transaction.commit.time", fake),
            patch("lakebed.log.post_commit.current_ms", lambda: self.now),
        ):
            yield

    # --- what happens to it -------------------------------------------------------------------

    def tick(self, hours: float) -> None:
        self.now += round(hours * HOUR)

    def append(self, files: int = 1) -> None:
        self.commit("WRITE", [self.new_file() for _ in range(files)])

    def overwrite(self) -> None:
        live = self.live()
        self.commit("WRITE", [self.new_file(), *map(self.removal, live)])

    def remove(self, number: int) -> None:
        live = self.live()
        if live:
            self.commit("DELETE", [self.removal(live[number % len(live)])])

    def mark(self, number: int) -> None:
        """Delete a row of a file by a deletion vector."""
        live = [add for add in self.live() if marked(add) < ROWS - 1]
        if live:
            snapshot = self.log.snapshot()
            add = live[number % len(live)]
            transaction = Transaction(snapshot, operation=Operation("DELETE"))
            transaction.mark_rows(add, RowIndexSet.from_indexes([marked(add)]))
            self._commit(transaction)

    def restage(self) -> None:
        live = self.live()
        if live:
            transaction = Transaction(self.log.snapshot(), operation=Operation("COMPUTE STATS"))
            transaction.restage(*(replace(add, data_change=False, tags={"a": "b"}) for add in live))
            self._commit(transaction)

    def revert(self, version: int) -> None:
        """As RESTORE does: files that were removed become part of the table again."""
        now = {add.key: add for add in self.live()}
        then = {add.key: add for add in self.live(version)}
        back = [replace(then[key], data_change=True) for key in then.keys() - now.keys()]
        gone = [self.removal(now[key]) for key in now.keys() - then.keys()]
        self.commit("RESTORE", [*back, *gone])

    def orphan(self) -> Path:
        """A file that no commit names."""
        return self.folder / self.new_file().path

    def checkpoint(self) -> None:
        write_checkpoint(self.log.snapshot())
        self._age()

    def clean(self) -> None:
        clean_up(self.store, self.log.snapshot(), self.now)

    def pin(self, name: str, version: int) -> None:
        with self.clock():
            pin_version(self.log, name, version)
        self._age()

    def unpin(self, name: str) -> None:
        with self.clock():
            unpin_version(self.log, name)
        self._age()

    def pins_now(self) -> list[int]:
        return list(pinned_versions(self.log).values())

    def vacuum(self, store: Store | None = None, **options: object) -> VacuumResult:
        log = TableLog(store or self.store)
        with self.clock():
            try:
                return vacuum_table(log, VacuumOptions.of(**options), now_ms=self.now)
            finally:
                self._age()

    # --- how that is done ---------------------------------------------------------------------

    def new_file(self, folder: str = "") -> Add:
        self._count += 1
        path = f"{folder}part-{self._count}.parquet"
        first = self._count * 10
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": range(first, first + ROWS)}), target)
        self._age()
        stats = json.dumps({"numRecords": ROWS})
        return Add(path, {}, target.stat().st_size, self.now, True, stats=stats)

    def removal(self, add: Add) -> Remove:
        return Remove.of(add, timestamp=self.now)

    def commit(self, name: str, actions: Iterable[Action]) -> None:
        transaction = Transaction(self.log.snapshot(), operation=Operation(name))
        transaction.stage(*actions)
        self._commit(transaction)

    def _commit(self, transaction: Transaction) -> None:
        with self.clock():
            transaction.commit().unwrap()
        self._age()

    def live(self, version: int | None = None) -> list[Add]:
        adds = adds_from_table(self.snapshot(version).files())
        return sorted(adds, key=lambda add: add.path)

    def snapshot(self, version: int | None = None) -> Snapshot:
        return self.log.snapshot(version)

    def _age(self, _: int | None = None) -> None:
        """What is new was made now."""
        for file in self.folder.rglob("*"):
            name = str(file.relative_to(self.folder))
            if file.is_file() and (name not in self._names or name.startswith("_delta_log/_last")):
                self._names.add(name)
                os.utime(file, ns=(self.now * 1_000_000,) * 2)
                if name.startswith("_delta_log/") and name.count(".") == 1 and "json" in name:
                    self.made[int(file.stem)] = self.now

    def forget_clock(self) -> None:
        """Drop what a killed VACUUM left of asking the store for the time."""
        for file in self.folder.glob("vacuum-clock-*"):
            file.unlink()

    # --- what is there ------------------------------------------------------------------------

    def data_files(self) -> dict[str, int]:
        """Sizes by path of all files but those of the log."""
        found = (file for file in self.folder.rglob("*") if file.is_file())
        names = ((str(file.relative_to(self.folder)), file.stat().st_size) for file in found)
        return {name: size for name, size in names if not name.startswith("_delta_log/")}

    def read(self, version: int) -> frozenset[int] | None:
        """The ids of a version; None if it cannot be read. Both readers must agree."""
        ours, other = self.read_by_lakebed(version), self._by_duckdb(version)
        assert ours == other, f"version {version}: Lakebed {ours}, DuckDB {other}"
        return ours

    def read_all(self) -> dict[int, frozenset[int] | None]:
        return {version: self.read(version) for version in range(self.newest + 1)}

    def inside_retention(self, cut_off: int) -> set[int]:
        """Versions that were the newest at some time from the cut-off on, by our own book."""
        return {
            version
            for version in self.made
            if version == self.newest or self.made[version + 1] > cut_off
        }

    def read_by_lakebed(self, version: int) -> frozenset[int] | None:
        try:
            rows = lakebed.open(self.folder, version=version).to_arrow()
        except LakebedError:
            return None
        return frozenset(rows.column("id").to_pylist())

    def _by_duckdb(self, version: int) -> frozenset[int] | None:
        query = f"SELECT id FROM delta_scan('{self.folder}', version={version})"
        try:
            return frozenset(row[0] for row in _duckdb().execute(query).fetchall())
        except duckdb.Error:
            return None


class FedTable(AgedTable):
    """Partitioned, with names that are escaped twice, and with a change feed."""

    protocol = features("changeDataFeed", "deletionVectors", reader=("deletionVectors",))
    columns = (column("id"), column("p", "string"))
    partition_by = ("p",)

    def __init__(self, folder: Path, **properties: str) -> None:
        super().__init__(folder, enableChangeDataFeed="true", **properties)

    def new_file(self, folder: str = "") -> Add:
        value = ("a", "b c", None)[self._count % 3]
        name = partition_directory({"p": value})
        made = super().new_file(f"{folder}{name}/")
        return replace(made, path=quote(made.path), partition_values={"p": value})

    def orphan(self) -> Path:
        return self.folder / unquote(self.new_file().path)

    def change(self, number: int) -> None:
        """Rows of a file change: another takes its place, and a change file tells of it."""
        live = self.live()
        if live:
            old, new = live[number % len(live)], self.new_file()
            file = self.folder / "_change_data" / f"p=a/cdc-{self._count}.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"id": [1], "_change_type": ["insert"]}), file)
            path = str(file.relative_to(self.folder))
            change = AddCdc(path, {"p": "a"}, file.stat().st_size)
            self.commit("UPDATE", [new, self.removal(old), change])

    def change_files(self, since: int) -> set[str]:
        """Of the commits made after a time, by the text of the log."""
        found: set[str] = set()
        for version, moment in self.made.items():
            file = self.folder / "_delta_log" / f"{version:020}.json"
            if moment > since and file.exists():
                lines = map(json.loads, file.read_text().splitlines())
                found |= {line["cdc"]["path"] for line in lines if "cdc" in line}
        return found


def put(table: AgedTable, path: str, *, days_old: float = 30) -> str:
    """A file that no commit names."""
    file = table.folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"x" * 7)
    os.utime(file, ns=((table.now - round(days_old * DAY)) * 1_000_000,) * 2)
    table._names.add(path)
    return path


def marked(add: Add) -> int:
    return 0 if add.deletion_vector is None else add.deletion_vector.cardinality


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    return duckdb_with_delta()
