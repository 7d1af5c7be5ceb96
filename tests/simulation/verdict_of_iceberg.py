"""Whether Iceberg's metadata names the files of the Delta version that it says, by fastavro."""

from __future__ import annotations

import io
import json
import re
from typing import Any
from urllib.parse import unquote

import fastavro
from simulated_store import Objects
from verdict import Verdict

_METADATA = re.compile(r"metadata/v(\d+)\.metadata\.json")
_DELETED = 2


def check_iceberg(verdict: Verdict, objects: Objects) -> None:
    """Every metadata file that ever was; the newest is of the newest version.

    Before it a client without faults has committed, which publishes what others did not.
    """
    found = {}
    for path, blobs in objects.written.items():
        match = _METADATA.fullmatch(path)
        if match:
            assert len(blobs) == 1, f"{path} was written {len(blobs)} times"
            found[int(match[1])] = json.loads(blobs[0].data)
    assert sorted(found) == list(range(1, len(found) + 1)), f"metadata files: {sorted(found)}"
    newest = -1
    for number in sorted(found):
        version = int(found[number]["properties"]["delta-version"])
        assert version >= newest, f"v{number} goes back from version {newest} to {version}"
        newest = version
        expected = {unquote(path) for path, _ in verdict.versions[version].files}
        files = _files(objects, found[number])
        assert files == expected, f"v{number} of version {version}: {files ^ expected} is wrong"
    assert newest == max(verdict.versions), f"version {newest} is published as the newest"
    hint = objects.found["metadata/version-hint.text"].data
    assert int(hint) == len(found), f"the hint says {hint!r} of {len(found)}"


def _files(objects: Objects, document: dict[str, Any]) -> set[str]:
    snapshots = {each["snapshot-id"]: each for each in document["snapshots"]}
    current = snapshots.get(document.get("current-snapshot-id"))
    if current is None:
        return set()
    found: list[str] = []
    for manifest in _records(objects, current["manifest-list"]):
        entries = _records(objects, manifest["manifest_path"])
        live = [each for each in entries if each["status"] != _DELETED]
        found += [_path(objects, each["data_file"]["file_path"]) for each in live]
    assert len(set(found)) == len(found), f"a file is there twice: {sorted(found)}"
    return set(found)


def _records(objects: Objects, location: str) -> list[Any]:
    data = objects.ever(_path(objects, location))
    return list(fastavro.reader(io.BytesIO(data)))


def _path(objects: Objects, location: str) -> str:
    assert location.startswith(f"{objects.url}/"), location
    return unquote(location[len(objects.url) + 1 :])
