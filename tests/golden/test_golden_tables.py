"""Every golden table gives the expected rows, or the expected refusal, at each listed version."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import LakebedError, VersionNotFoundError
from testkit.tables.golden_tables import (
    COUNTS,
    GOLDEN,
    golden_entries,
    is_allowed_refusal,
    judge,
    name_of,
    needs_golden,
)

ENTRIES = golden_entries()
pytestmark = needs_golden


@pytest.mark.parametrize("entry", ENTRIES, ids=name_of)
def test_newest_version_is_read_or_refused_as_expected(entry: dict[str, Any]) -> None:
    judge(entry, None, read_arrow)
    COUNTS[f"{entry['kind']} at the newest version"] += 1


VERSIONS = [(entry, int(version)) for entry in ENTRIES for version in entry.get("versions") or ()]


@pytest.mark.parametrize(
    ("entry", "version"), VERSIONS, ids=[f"{name_of(each)}@{version}" for each, version in VERSIONS]
)
def test_older_version_is_read_or_refused_as_expected(entry: dict[str, Any], version: int) -> None:
    judge(entry, version, read_arrow)
    COUNTS["single versions"] += 1


@pytest.mark.parametrize(
    "entry", [e for e in ENTRIES if e.get("snapshot") and e["kind"] != "refuse"], ids=name_of
)
def test_snapshot_lists_exactly_the_live_files(entry: dict[str, Any]) -> None:
    wanted = entry["snapshot"]
    try:
        table = lakebed.open(GOLDEN / entry["path"])
    except LakebedError as error:
        if not is_allowed_refusal(entry, entry["expected"], error):
            raise
        return
    files = table.files(stats=True)
    assert table.version == entry["latest_version"]
    assert files.num_rows == wanted["active_files"]
    assert table.num_files == wanted["active_files"]
    if wanted.get("paths_sha256"):
        assert paths_hash(files) == wanted["paths_sha256"]
    assert table.partition_columns == tuple(entry["partition_columns"])
    assert table.properties == entry["properties"]
    transactions = {name: txn.version for name, txn in table.snapshot.transactions.items()}
    assert transactions == wanted.get("txns", {})
    domains = {name: domain.configuration for name, domain in table.snapshot.domains.items()}
    assert domains == wanted.get("domain_metadata", {})


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.get("timestamp_travel")], ids=name_of)
def test_time_travel_by_timestamp(entry: dict[str, Any], tmp_path: Path) -> None:
    copy = tmp_path / "table"
    shutil.copytree(GOLDEN / entry["path"], copy)
    travel = entry["timestamp_travel"]
    for version, moment in travel["commit_mtime_ms"].items():
        commit = copy / "_delta_log" / f"{int(version):020d}.json"
        commit.chmod(0o644)
        os.utime(commit, ns=(moment * 10**6, moment * 10**6))
    for query in travel["queries"]:
        if "error" in query:
            with pytest.raises(VersionNotFoundError):
                lakebed.open(copy, timestamp=query["ts_ms"])
        else:
            assert lakebed.open(copy, timestamp=query["ts_ms"]).version == query["version"]


def read_arrow(path: Path, version: int | None) -> Callable[[], pa.Table]:
    return lakebed.open(path, version=version).to_arrow


def paths_hash(files: pa.Table) -> str:
    lines = []
    for path, vector in zip(
        files.column("path").to_pylist(), files.column("deletionVector").to_pylist(), strict=True
    ):
        line = unquote(path)
        if line.startswith("file:"):
            line = "/" + line[len("file:") :].lstrip("/")
        if vector is not None:
            offset = vector["offset"]
            line += f"\t{vector['storageType']}{vector['pathOrInlineDv']}"
            line += "" if offset is None else f"@{offset}"
        lines.append(line)
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()
