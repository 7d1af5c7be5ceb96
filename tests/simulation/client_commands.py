"""What clients of the core do: each command by Lakebed's own code, as `lakebed.write` has it.

Those that change rows are in `row_commands`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import orjson
from little_spark import LittlePlane, functions
from model import Changes, Command, Facts, Row, arrow, counted
from row_commands import SESSION, delete, merge, optimize, update
from simulated_store import CLONE, URL
from substitutes import Patch

import lakebed
from lakebed.arrow.scan import plan_scan, read_batches
from lakebed.commands.rows import frame_updates
from lakebed.errors import TableNotFoundError
from lakebed.log.change_feed.change_range import ChangeRange
from lakebed.log.change_feed.changes import read_changes
from lakebed.log.listing.commit_times import to_millis
from lakebed.log.maintenance.cleanup import clean_up
from lakebed.log.table_log import TableLog
from lakebed.spark.plane_selection import plane_for
from lakebed.spark.read.command_reads import CommandReads
from lakebed.spark.session.session_kind import functions_of
from lakebed.storage import Store
from lakebed.streaming.batch_frames import batch_frame
from lakebed.streaming.source.stream_options import StreamOptions
from lakebed.streaming.source.table_stream import TableStream
from lakebed.tables.standalone import convert
from lakebed.tables.table import Table
from testkit.tables.compactions import compact

# --- writes ---------------------------------------------------------------------------------------


def create(command: Command, facts: Facts) -> None:
    lakebed.write(
        URL,
        arrow(command.rows(facts)),
        mode=command.option or "error",
        partition_by=["p"],
        properties=facts.properties,
    )


def convert_folder(_: Command, facts: Facts) -> None:
    convert(URL, "p INT", properties=facts.properties)


def append(command: Command, facts: Facts) -> None:
    _write(command, facts, mode="append")


def _write(command: Command, facts: Facts, **options: Any) -> None:
    if not facts.is_there():
        raise TableNotFoundError("nobody has created the table yet")
    lakebed.write(URL, arrow(command.rows(facts)), **options)


def append_to_open(command: Command, facts: Facts) -> None:
    """By one who opened the table and reads it first, so that others come in between."""
    table = lakebed.open(URL)
    _remember(table, facts)
    table.write(arrow(command.rows(facts)), mode="append")


def append_once(command: Command, facts: Facts) -> None:
    """By an application that repeats its batch after a crash: the option says which."""
    _write(command, facts, mode="append", txn=(f"app{command.option}", 1))


def overwrite(command: Command, facts: Facts) -> None:
    _write(command, facts, mode="overwrite")


def replace_where(command: Command, facts: Facts) -> None:
    _write(command, facts, mode="overwrite", replace_where=command.predicate)


def replace_partition(command: Command, facts: Facts) -> None:
    _write(command, facts, mode="overwrite", partition_overwrite="dynamic")


# --- the table ------------------------------------------------------------------------------------


def set_property(command: Command, facts: Facts) -> None:
    lakebed.open(URL).set_properties({f"sim.p{command.p}": str(facts.number)})


def add_constraint(command: Command, facts: Facts) -> None:
    lakebed.open(URL).add_constraint(f"c{facts.number}", command.condition)


def add_column(_: Command, facts: Facts) -> None:
    lakebed.open(URL).add_columns({f"x{facts.number}": "int"})


def restore(command: Command, facts: Facts) -> None:
    table = lakebed.open(URL)
    table.restore(_wanted(command, table, facts))


def _wanted(command: Command, table: Table, facts: Facts) -> int:
    """A version some steps back, and inside of the retention."""
    oldest = min(facts.oldest_wanted(), table.version)
    facts.chosen = max(table.version - command.low - 1, oldest)
    return facts.chosen


def pin(_: Command, facts: Facts) -> None:
    table = lakebed.open(URL)
    facts.chosen = table.version
    table.pin(f"p{facts.number}")


# --- what changes no row --------------------------------------------------------------------------


def checkpoint(_: Command, __: Facts) -> None:
    lakebed.open(URL).checkpoint()


def compact_log(command: Command, _: Facts) -> None:
    snapshot = lakebed.open(URL).snapshot
    start = max(snapshot.version - command.low - 1, 0)
    if start < snapshot.version:
        compact(snapshot.store, start, snapshot.version)


def clean_up_log(_: Command, facts: Facts) -> None:
    snapshot = lakebed.open(URL).snapshot
    clean_up(snapshot.store, snapshot, int(facts.clock_ms()))


def vacuum(command: Command, _: Facts) -> None:
    lakebed.open(URL).vacuum(mode=command.option or "full")


def publish(_: Command, __: Facts) -> None:
    """Iceberg's metadata anew, where the table has it."""
    table = lakebed.open(URL)
    if "iceberg" in table.snapshot.properties.universal_formats:
        table.generate("iceberg")


def read(_: Command, facts: Facts) -> None:
    _remember(lakebed.open(URL), facts)


def read_old(command: Command, facts: Facts) -> None:
    version = _wanted(command, lakebed.open(URL), facts)
    _remember(lakebed.open(URL, version=version), facts)


def refresh(_: Command, facts: Facts) -> None:
    """A table that was opened a while ago goes on to the newest version."""
    table = lakebed.open(URL)
    _remember(table, facts)
    _remember(table.refresh(), facts)


def read_changes_since(command: Command, facts: Facts) -> None:
    """The change feed from a version some steps back on."""
    table = lakebed.open(URL)
    start = max(table.version - command.low, 0)
    found = read_changes(TableLog(table.snapshot.store), ChangeRange(starting_version=start))
    changes = Changes(found.versions)
    for layer in found.layers:
        for batch in read_batches(plan_scan(layer)):
            for row in batch.to_pylist():
                is_new = row["_change_type"] in ("insert", "update_postimage")
                into = changes.came if is_new else changes.went
                rows = into.setdefault(row["_commit_version"], Counter())
                rows[row["p"], row["id"], row["tag"]] += 1
    facts.changes.append(changes)


def stream(_: Command, facts: Facts) -> None:
    """A stream from its first batch to the next one, as Spark would ask for them."""
    snapshot = lakebed.open(URL).snapshot
    source = TableStream(snapshot, StreamOptions.of({}, to_millis))

    def next_batch(start: str | None) -> tuple[str, Counter[Row]]:
        end = source.latest_offset(start, None)
        assert end is not None
        batch = source.batch(start, end)
        source.check_files(batch)
        frame: Any = batch_frame(LittlePlane(SESSION, snapshot.store), snapshot.store, batch)  # type: ignore[arg-type]
        return end, counted(frame.toArrow())

    start, rows = next_batch(None)
    first = _last_version(start)
    facts.read.append((first, rows))
    end, rows = next_batch(start)
    last = _last_version(end)
    if last > first:
        facts.streamed.append((range(first + 1, last + 1), rows))


def _last_version(offset: str) -> int:
    """Without a limit a batch ends before the first file of the version that comes next."""
    found = orjson.loads(offset)
    assert found["index"] == -1
    return int(found["reservoirVersion"]) - 1


def _remember(table: Table, facts: Facts) -> None:
    facts.read.append((table.version, counted(table.to_arrow(["p", "id", "tag"]))))


# --- clones ---------------------------------------------------------------------------------------


def clone(command: Command, facts: Facts) -> None:
    table = lakebed.open(URL)
    facts.chosen = table.version
    table.clone(CLONE, shallow=command.option == "shallow", replace=True)


def append_to_clone(command: Command, facts: Facts) -> None:
    lakebed.open(CLONE).write(arrow(command.rows(facts)), mode="append")


def read_clone(_: Command, facts: Facts) -> None:
    table = lakebed.open(CLONE)
    facts.of_clone.append((table.version, counted(table.to_arrow(["p", "id", "tag"]))))


def vacuum_clone(_: Command, __: Facts) -> None:
    lakebed.open(CLONE).vacuum()


def _little_plane(_session: Any, store: Any, *_: Any) -> LittlePlane:
    return LittlePlane(SESSION, store)


SUBSTITUTES = {
    "functions_of": (functions_of, lambda _: functions),
    "plane_for": (plane_for, _little_plane),
}
"""Of what Lakebed's modules import from its rooms for Spark."""


def patches(_: Callable[[str], Store]) -> list[Patch]:
    return [
        # As with a JVM, so that UPDATE may do both of its scans in one.
        (frame_updates, "is_connect", lambda _: False),
        (CommandReads, "pinned", lambda _, frame, **__: frame),
    ]


RUNS: dict[str, Callable[[Command, Facts], None]] = {
    "create": create,
    "convert": convert_folder,
    "append": append,
    "append to open": append_to_open,
    "append once": append_once,
    "overwrite": overwrite,
    "replace where": replace_where,
    "replace partition": replace_partition,
    "delete": delete,
    "update": update,
    "merge": merge,
    "optimize": optimize,
    "set property": set_property,
    "add constraint": add_constraint,
    "add column": add_column,
    "restore": restore,
    "pin": pin,
    "checkpoint": checkpoint,
    "compact log": compact_log,
    "clean up log": clean_up_log,
    "vacuum": vacuum,
    "publish": publish,
    "read": read,
    "read old": read_old,
    "read changes": read_changes_since,
    "refresh": refresh,
    "stream": stream,
    "clone": clone,
    "append to clone": append_to_clone,
    "read clone": read_clone,
    "vacuum clone": vacuum_clone,
}
