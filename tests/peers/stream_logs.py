"""What a stream leaves behind: an answer, the files of its checkpoint, its transactions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engines import Answer


def outcome(answer: Answer) -> dict[str, Any]:
    """Of `stream_programs`: answers have members as pairs."""
    return dict(answer.value)


def source_offsets(checkpoint: Path) -> dict[int, str]:
    """By batch, where each of the sources is: the lines after the version and the settings."""
    folder = checkpoint / "offsets"
    numbers = sorted(int(file.name) for file in folder.glob("[0-9]*")) if folder.exists() else []
    return {
        number: "\n".join((folder / str(number)).read_text().splitlines()[2:]) for number in numbers
    }


def batch_count(checkpoint: Path) -> int:
    """How many batches have begun."""
    return len(source_offsets(checkpoint))


def rewind(checkpoint: Path, sink: Path, batches: int, moment: str) -> None:
    """As if the stream had been killed when so many batches were done, and at this moment of the
    next: `between` batches, when it was `planned`, or when it was `stored` and not yet noted."""
    begun = batches if moment == "between" else batches + 1
    _keep(checkpoint / "offsets", begun)
    _keep(checkpoint / "commits", batches)
    stored = batches + 1 if moment == "stored" else batches
    versions = transactions(sink)
    last = max(version for version, number in versions.items() if number < stored)
    for file in (sink / "_delta_log").iterdir():
        # Also the files with checksums, of both engines and of Hadoop.
        name = file.name.lstrip(".").partition(".")[0]
        if name.isdigit() and int(name) > last:
            file.unlink()


def transactions(sink: Path) -> dict[int, int]:
    """By version of a table, the number of the batch that it stored."""
    found = {}
    for file in sorted((sink / "_delta_log").glob("[0-9]*.json")):
        for line in file.read_text().splitlines():
            action = json.loads(line)
            if "txn" in action:
                found[int(file.stem)] = int(action["txn"]["version"])
    return found


def schema_log(checkpoint: Path, name: str) -> dict[str, object]:
    """By the name of a file, its content; without the folder of the checkpoint, which is in it."""
    found: dict[str, object] = {}
    for file in sorted((checkpoint / name).rglob("[0-9]*")):
        text = file.read_text().replace(str(checkpoint), "")
        version, _, content = text.partition("\n")
        found[f"{file.parent.name}/{file.name}"] = (version, json.loads(content))
    return found


def _keep(folder: Path, count: int) -> None:
    for file in folder.iterdir():
        number = file.name.lstrip(".").partition(".")[0]
        if number.isdigit() and int(number) >= count:
            file.unlink()
