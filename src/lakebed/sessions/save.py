"""Writes of a session, to a path or to a name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from lakebed.commands.create.create_modes import CREATE, OR_REPLACE, REPLACE
from lakebed.commands.create.named_tables import Place, create_named, refuse_foreign
from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.write.write_frame import FrameWrite, write_frame
from lakebed.log.snapshot import Snapshot
from lakebed.sessions.write_request import WriteRequest
from lakebed.spark.catalog.session_catalog import name_taken
from lakebed.spark.session.session_settings import all_settings, reset_txn_version


def save(
    frame: DataFrame, request: WriteRequest, location: str, options: WriteOptions | None = None
) -> Snapshot:
    """`options` replace those of the request."""
    session = frame.sparkSession
    settings = all_settings(session)
    write = FrameWrite(
        frame,
        location,
        request.options(settings) if options is None else options,
        request.file_settings(settings),
        request.optimize(settings),
        request.others(),
    )
    written = write_frame(write, settings)
    reset_txn_version(session, settings)
    return written


def operation_of_rows(mode: str, place: Place) -> dict[str, Any]:
    """What the history calls a table that is made with rows."""
    name = {REPLACE: "REPLACE TABLE", OR_REPLACE: "CREATE OR REPLACE TABLE"}.get(
        mode, "CREATE TABLE"
    )
    return {"name": f"{name} AS SELECT", "isManaged": str(place.is_managed).lower()}


def _operation(options: WriteOptions, place: Place) -> dict[str, Any] | None:
    """None for rows that a table without the name gets: that is a plain write."""
    if options.mode == "overwrite":
        return {**operation_of_rows(OR_REPLACE, place), "isV1SaveAsTableOverwrite": True}
    return None if place.has_table() else operation_of_rows(CREATE, place)


def save_at(frame: DataFrame, request: WriteRequest, place: Place) -> None:
    """What `saveAsTable` does, at the place of its table."""
    options = request.options(all_settings(frame.sparkSession))
    options = replace(options, operation=_operation(options, place))
    if options.mode == "ignore" and (place.is_foreign or place.has_table()):
        return
    refuse_foreign(place)
    if options.mode == "errorifexists" and place.entry is not None and place.has_table():
        raise name_taken(place.shown)
    create_named(place, lambda: save(frame, request, place.location, options))
