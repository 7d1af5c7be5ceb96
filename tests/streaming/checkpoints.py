"""Checkpoints as Spark writes them, without Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

QUERY = "975d0c79-c5bf-4c90-b275-8e45b430a36b"
NOTHING = "-"


def offset(table_id: str, version: int, index: int = -1, *, is_initial: bool = False) -> str:
    """In the letters of delta-spark."""
    source_version = 3 if index in (-19, -20) else 1
    return (
        f'{{"sourceVersion":{source_version},"reservoirId":"{table_id}",'
        f'"reservoirVersion":{version},"index":{index},'
        f'"isStartingVersion":{json.dumps(is_initial)}}}'
    )


def write_checkpoint(
    folder: Path, batches: Mapping[int, Sequence[str]], last: int | None, *, form: str = "v1"
) -> Path:
    """`batches` are the offsets of the sources, `last` is the newest batch that the sink has."""
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True)
    (folder / "metadata").write_text(json.dumps({"id": QUERY}))
    head = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {}})
    for number, sources in batches.items():
        lines = [form, head, *sources]
        (folder / "offsets" / str(number)).write_text("\n".join(lines))
        (folder / "offsets" / f".{number}.crc").write_bytes(b"crc")
        if last is not None and number <= last:
            (folder / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return folder
