"""Writes of a session, to a path or to a name."""

from __future__ import annotations

from pyspark.sql import DataFrame

from lakebed.commands.create.named_tables import Place, create_named, refuse_foreign
from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.write.write_frame import FrameWrite, write_frame
from lakebed.log.snapshot import Snapshot
from lakebed.sessions import settings as names
from lakebed.sessions.settings import SessionSettings
from lakebed.sessions.write_request import WriteRequest
from lakebed.spark.catalog.session_catalog import name_taken


def save(
    frame: DataFrame, request: WriteRequest, location: str, options: WriteOptions | None = None
) -> Snapshot:
    """`options` replace those of the request."""
    session = frame.sparkSession
    settings = SessionSettings.of(session)
    write = FrameWrite(
        frame,
        location,
        request.options(settings) if options is None else options,
        request.file_settings(settings),
        request.optimize(settings),
        request.others(),
    )
    written = write_frame(write, settings.values)
    if settings.flag(names.TXN_RESET, False) and settings.text(names.TXN_VERSION) is not None:
        session.conf.unset(names.TXN_VERSION)
    return written


def save_at(frame: DataFrame, request: WriteRequest, place: Place) -> None:
    """What `saveAsTable` does, at the place of its table."""
    options = request.options(SessionSettings.of(frame.sparkSession))
    if options.mode == "ignore" and (place.is_foreign or place.has_table()):
        return
    refuse_foreign(place)
    if options.mode == "errorifexists" and place.entry is not None and place.has_table():
        raise name_taken(place.shown)
    create_named(place, lambda: save(frame, request, place.location, options))
