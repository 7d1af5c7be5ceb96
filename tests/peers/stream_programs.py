"""Streams that both engines run, each as a function of the session and of what is given.

What a stream did before it failed is compared too, so these answer with the error of a stream
instead of raising it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_SECONDS = 900


def batches(
    spark: Any,
    path: str,
    checkpoint: str,
    options: dict[str, str],
    columns: Sequence[str],
    once: bool = False,
) -> dict[str, Any]:
    """The sorted rows of each batch, by its number, from a `foreachBatch`."""
    found: list[list[Any]] = []

    def note(frame: Any, number: int) -> None:
        rows = [list(row) for row in frame.select(*columns).collect()]
        found.append([number, sorted(rows, key=repr)])

    reader = spark.readStream.format("delta").options(**options)
    error = None
    try:
        # The table itself may be refused before there is a query.
        writer = reader.load(path).writeStream.option("checkpointLocation", checkpoint)
        error = _end_of(_triggered(writer, once=once).foreachBatch(note).start())
    except Exception as failure:  # noqa: BLE001  which errors there are is compared
        error = _named(str(failure))
    return {"batches": found, "error": error}


def copy(
    spark: Any,
    path: str,
    target: str,
    checkpoint: str,
    options: dict[str, str],
    sink_options: dict[str, str] | None = None,
    once: bool = False,
) -> dict[str, Any]:
    """All that a Delta table has to come, into another one."""
    frame = spark.readStream.format("delta").options(**options).load(path)
    writer = frame.writeStream.format("delta").options(**(sink_options or {}))
    writer = _triggered(writer.option("checkpointLocation", checkpoint), once=once)
    return {"error": _end_of(writer.start(target))}


def _triggered(writer: Any, *, once: bool) -> Any:
    return writer.trigger(once=True) if once else writer.trigger(availableNow=True)


def _end_of(query: Any) -> str | None:
    """Why the query ended, if not because all is done."""
    try:
        if not query.awaitTermination(_SECONDS):
            query.stop()
            return f"not done after {_SECONDS} s"
    except Exception as failure:  # noqa: BLE001  which errors there are is compared
        return _named(str(failure))
    return None


def _named(message: str) -> str:
    """The innermost condition, behind those of the stream and of the call, and the message."""
    names = re.findall(r"\[([A-Z][A-Z0-9_.]+)\]", message)
    names = [name for name in names if name not in ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION")]
    first = next(iter(names), "")
    return f"{first} | {message[:700]}"
