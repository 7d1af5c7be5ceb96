"""DROP TABLE and UNDROP TABLE.

The files of an external table stay. Those of a managed one go: on a disk they are moved into a
hidden folder of the database, from where UNDROP brings them back until the retention is over.
Stores without a rename delete them at once. First the files are moved, then the name goes, because
Spark deletes what is in the folder of a managed table together with its name. Who dies in between
leaves a name without a table: UNDROP finds the table, and DROP again drops the name.
"""

from __future__ import annotations

import re
import shutil
import time
import uuid
from pathlib import Path

from pyspark.sql import SparkSession

from lakebed.catalog.entry import NewEntry, TableEntry
from lakebed.errors import TableExistsError, TableNotFoundError
from lakebed.log.table_log import TableLog
from lakebed.settings.setting_table import UNDROP_RETENTION
from lakebed.spark.catalog.mirrored_catalog import MirroredCatalog
from lakebed.spark.catalog.session_catalog import (
    catalog_of,
    create_entry,
    drop_entry,
    managed_location,
    new_place,
)
from lakebed.spark.stores.location import open_location
from lakebed.spec.columns.column_mapping import strip
from lakebed.spec.schema import schema_to_json

_TRASH = ".lakebed_dropped"
_DROPPED = re.compile(r"(.+)\.([0-9]{1,18})\.[0-9a-f]{8}")
"""The name of a folder: the table's name and when it was dropped, in milliseconds."""


def drop_table(session: SparkSession, entry: TableEntry, *, purge: bool = False) -> bool:
    """False if somebody else dropped it meanwhile."""
    keep = UNDROP_RETENTION.of(session)
    catalog = catalog_of(session)
    if isinstance(catalog, MirroredCatalog):
        return _drop_record(session, catalog, entry, 0 if purge else keep)
    folder = _folder(entry.location or "")
    trash = _trash(session, entry.parts[0])
    if entry.is_managed and trash is not None:
        sweep(trash, keep)
        if folder is not None and folder.is_dir() and not purge and keep > 0:
            moved = trash / f"{entry.parts[1].lower()}.{_now()}.{uuid.uuid4().hex[:8]}"
            trash.mkdir(parents=True, exist_ok=True)
            folder.rename(moved)
    return drop_entry(session, entry)


def undrop_table(session: SparkSession, parts: tuple[str, ...]) -> None:
    """Brings back the table that was dropped last under the name."""
    database, name = new_place(session, parts)
    catalog = catalog_of(session)
    if isinstance(catalog, MirroredCatalog):
        catalog.names.undrop(database, name, _now() - UNDROP_RETENTION.of(session))
        catalog.sync()
        return
    entry = catalog.find(database, name)
    location = managed_location(session, database, name)
    if entry is not None and (not entry.is_delta or _has_table(session, entry.location or "")):
        raise TableExistsError(
            f"there is a table or view {database}.{name}",
            hint="rename it first; UNDROP brings a table back under its own name",
        )
    trash, folder = _trash(session, database), _folder(location)
    found = [] if trash is None else _dropped(trash, name)
    if not found or folder is None:
        raise TableNotFoundError(
            f"there is no dropped table {database}.{name} to bring back",
            hint=f"managed tables on disks are kept for {_shown(session)} "
            f"({UNDROP_RETENTION.name})",
        )
    if folder.exists() and any(folder.iterdir()):
        raise TableExistsError(f"{folder} is not empty", hint="move away what is there")
    moved = found[-1][1]
    if folder.exists():
        folder.rmdir()
    moved.rename(folder)
    if entry is None:
        _add_name(session, database, name, location, location)


def _drop_record(
    session: SparkSession, catalog: MirroredCatalog, entry: TableEntry, keep: int
) -> bool:
    """An embedded catalog only notes it; files go when the retention is over."""
    record = catalog.names.find(*entry.parts)
    done = catalog.drop(*entry.parts)
    now = [record] if record is not None and record.is_managed and keep == 0 else []
    for old in [*now, *catalog.names.expired(_now() - UNDROP_RETENTION.of(session))]:
        # Forgotten first: nobody can bring back what is half deleted.
        if catalog.names.forget(old.id):
            _delete_files(session, old.location)
    return done


def _delete_files(session: SparkSession, location: str) -> None:
    folder = _folder(location)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
        return
    store, _ = open_location(session, location, {})
    for found in store.list_all():
        store.delete(found.path)


def sweep(trash: Path, keep: int) -> None:
    """Deletes what was dropped longer ago than the retention."""
    for path in trash.iterdir() if trash.is_dir() else ():
        found = _DROPPED.fullmatch(path.name)
        if found is not None and int(found[2]) < _now() - keep:
            shutil.rmtree(path)


def _dropped(trash: Path, name: str) -> list[tuple[int, Path]]:
    """The oldest first."""
    found = []
    for path in trash.iterdir() if trash.is_dir() else ():
        match = _DROPPED.fullmatch(path.name)
        if match is not None and match[1] == name.lower():
            found.append((int(match[2]), path))
    return sorted(found)


def _add_name(session: SparkSession, database: str, name: str, location: str, files: str) -> None:
    """`files` is where the table is now."""
    snapshot = TableLog(open_location(session, files, {})[0]).snapshot()
    create_entry(
        session,
        NewEntry(
            database,
            name,
            location,
            True,
            schema_to_json(strip(snapshot.schema)),
            snapshot.metadata.partition_columns,
            snapshot.metadata.description,
        ),
    )


def _has_table(session: SparkSession, location: str) -> bool:
    return TableLog(open_location(session, location, {})[0]).exists()


def _trash(session: SparkSession, database: str) -> Path | None:
    folder = _folder(catalog_of(session).database_location(database))
    return None if folder is None else folder / _TRASH


def _folder(location: str) -> Path | None:
    """The folder on this machine's disks; None for other stores."""
    if location.startswith("/"):
        return Path(location)
    if not location.startswith("file:"):
        return None
    # Hadoop escapes nothing in such a string: file:/data or file:///data, letter by letter.
    return Path("/" + location.removeprefix("file:").lstrip("/"))


def _shown(session: SparkSession) -> str:
    """The retention as the session says it."""
    return str(session.conf.get(UNDROP_RETENTION.name, "7 days"))


def _now() -> int:
    return int(time.time() * 1000)
