"""The sink of a stream, which `DeltaSink.java` is for Spark."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from lakebed.commands.write.write_frame import FrameWrite
from lakebed.sessions.native.question import Question
from lakebed.sessions.native.writes import write_request
from lakebed.sessions.write_request import WriteRequest
from lakebed.settings.setting_table import CHECKPOINT_LOCATION
from lakebed.spark.native.file_index import find_index
from lakebed.spark.session.session_settings import all_settings
from lakebed.spark.stores.location import open_location
from lakebed.streaming.sink import Batch, BatchRead, write_batch
from lakebed.streaming.sink_request import SinkRequest, check_mode


def check_sink(asked: Question) -> None:
    """Before a query starts: what its batches could only fail with."""
    request, settings = _request(asked), all_settings(asked.session)
    check_mode(str(asked.request["mode"]), request.get("replaceWhere"))
    request.file_settings(settings)
    request.optimize(settings)
    names = {key.lower(): value for key, value in asked.options.items()}
    checkpoint = names.get("checkpointlocation") or CHECKPOINT_LOCATION.read(settings)
    SinkRequest(asked.path, request.options(settings), checkpoint).check(asked.session)


def add_batch(asked: Question) -> None:
    request, settings = _request(asked), all_settings(asked.session)
    batch = Batch(
        asked.request["query"],
        asked.request["batch"],
        asked.request["mode"],
        [_read(asked.session, each) for each in asked.request["reads"]],
    )
    write = FrameWrite(
        asked.frame(asked.given),
        asked.path,
        request.options(settings),
        request.file_settings(settings),
        request.optimize(settings),
        request.others(),
    )
    write_batch(batch, write)


def _request(asked: Question) -> WriteRequest:
    is_complete = asked.request["mode"] == "Complete"
    request = write_request(asked.options, "overwrite" if is_complete else "append")
    if asked.request["partition_by"]:
        request.partition_by = tuple(asked.request["partition_by"])
    # Each batch has the id of its query; and it replaces all rows or none.
    for name in ("txnAppId", "txnVersion", "partitionOverwriteMode"):
        request.set(name, None)
    return request


def _read(session: SparkSession, read: Mapping[str, str | None]) -> BatchRead:
    if read.get("url") is not None:
        return BatchRead(str(read["url"]))
    url = open_location(session, str(read["root"]), {})[0].url
    index = None if read["files"] is None else find_index(read["files"])
    return BatchRead(url, None if index is None else index.listing.snapshot.version)
