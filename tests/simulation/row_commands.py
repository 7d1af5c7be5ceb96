"""DELETE, UPDATE, MERGE and OPTIMIZE of clients of the core, by Lakebed's own code.

Rows are those of `little_spark`. Options that several commands have: "partition" is about all rows
of a partition, "files" makes changes of one file conflict whatever their rows.
"""

from __future__ import annotations

from typing import Any

from little_spark import LittlePlane, Session
from model import IDS, MOVED, Command, Facts, arrow
from simulated_store import URL

from lakebed.commands.delete_rows import delete_rows
from lakebed.commands.frame_target import FrameTarget
from lakebed.commands.merge.merge_request import Clause, MergeRequest
from lakebed.commands.merge.merge_rows import merge_rows
from lakebed.commands.optimize.optimize import optimize as run_optimize
from lakebed.commands.optimize.optimize_request import OptimizeRequest
from lakebed.commands.table_target import TableTarget
from lakebed.commands.update_rows import update_rows
from lakebed.formats.arrow_types import from_arrow_schema
from lakebed.log.table_log import TableLog
from lakebed.settings.setting_table import (
    AUTO_COMPACT_MIN_FILES,
    OPTIMIZE_BATCH_SIZE,
    OPTIMIZE_LOCAL_BYTES,
    OPTIMIZE_MAX_FILE_SIZE,
)

SETTINGS = {
    # Files have about a kilobyte: some bins hold two of them, and each is a batch.
    OPTIMIZE_MAX_FILE_SIZE.name: "3kb",
    OPTIMIZE_BATCH_SIZE.name: "2kb",
    AUTO_COMPACT_MIN_FILES.name: "3",
}
SESSION = Session(SETTINGS)
ON_SPARK = Session({**SETTINGS, OPTIMIZE_LOCAL_BYTES.name: "0"})
"""Where OPTIMIZE leaves rows to Spark, which is `LittlePlane`."""


def delete(command: Command, facts: Facts) -> None:
    delete_rows(_target(command, facts), command.predicate)


def update(command: Command, facts: Facts) -> None:
    update_rows(_target(command, facts), command.predicate, {"id": f"(id + {MOVED}) % {IDS}"})


def merge(command: Command, facts: Facts) -> None:
    table = arrow(command.source(facts))
    source: Any = SESSION.frame(table, from_arrow_schema(table.schema)).alias("s")
    if _is_on_arrow(command):
        source = table
    insert = Clause("not_matched", "insert", values={n: f"s.{n}" for n in ("p", "id", "tag")})
    clauses = {
        "insert": (insert,),
        "upsert": (Clause("matched", "update", values={"tag": "s.tag"}), insert),
        "delete": (Clause("matched", "delete"),),
    }[command.option.partition(" ")[0]]
    condition = "t.p = s.p AND t.id = s.id"
    request = MergeRequest(source, condition, clauses, "t", source_alias="s")
    merge_rows(_target(command, facts, "t"), request)


def optimize(command: Command, facts: Facts) -> None:
    options = command.option.split()
    request = OptimizeRequest(
        where=f"p = {command.p}" if "partition" in options else None,
        zorder_by=(("id",),) if "z-order" in options else (),
        purge="purge" in options,
    )
    run_optimize(_target(command, facts), request)


def _is_on_arrow(command: Command) -> bool:
    return "arrow" in command.option.split()


def _target(command: Command, facts: Facts, alias: str | None = None) -> Any:
    options = command.option.split()
    row_level = "files" not in options
    store = facts.place(URL)
    log = TableLog(store)
    if _is_on_arrow(command):
        return TableTarget(log, log.snapshot(), alias, row_level)
    session: Any = ON_SPARK if "spark" in options else SESSION
    plane: Any = LittlePlane(session, store, tracks="twice" not in options)
    return FrameTarget(session, log, plane, alias, row_level=row_level)
