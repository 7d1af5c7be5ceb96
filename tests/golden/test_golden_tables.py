"""Every golden table gives the expected rows, or the expected refusal, at each listed version."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest
from golden_tables import COUNTS, GOLDEN, golden_entries

import lakebed
from lakebed.errors import LakebedError, UnsupportedFeatureError, VersionNotFoundError

ENTRIES = golden_entries()
pytestmark = pytest.mark.skipif(not ENTRIES, reason="the golden tables are not beside this clone")


def name_of(entry: dict[str, Any]) -> str:
    return f"{entry['source']}/{entry['name']}"


@pytest.mark.parametrize("entry", ENTRIES, ids=name_of)
def test_newest_version_is_read_or_refused_as_expected(
    entry: dict[str, Any], hashing: ModuleType
) -> None:
    columns = (entry.get("snapshot") or {}).get("columns")
    judge(entry, entry["expected"], columns, None, hashing)
    COUNTS[f"{entry['kind']} at the newest version"] += 1


VERSIONS = [
    (entry, int(version), wanted)
    for entry in ENTRIES
    for version, wanted in (entry.get("versions") or {}).items()
]


@pytest.mark.parametrize(
    ("entry", "version", "wanted"),
    VERSIONS,
    ids=[f"{name_of(entry)}@{version}" for entry, version, _ in VERSIONS],
)
def test_older_version_is_read_or_refused_as_expected(
    entry: dict[str, Any], version: int, wanted: dict[str, Any], hashing: ModuleType
) -> None:
    columns = wanted.get("columns") or (entry.get("snapshot") or {}).get("columns")
    if wanted.get("oracle") == "unsure":
        wanted = {**wanted, "accept_error": True}
    judge(entry, wanted, columns, version, hashing)
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


def judge(
    entry: dict[str, Any],
    wanted: dict[str, Any],
    columns: list[str] | None,
    version: int | None,
    hashing: ModuleType,
) -> None:
    try:
        table = lakebed.open(GOLDEN / entry["path"], version=version)
    except LakebedError as error:
        if not is_allowed_refusal(entry, wanted, error):
            raise
        return
    assert wanted.get("stage") != "open", f"must be refused: {wanted['error']}"
    try:
        rows = table.to_arrow()
    except LakebedError:
        if wanted.get("stage") != "scan" and not wanted.get("accept_error"):
            raise
        return
    assert "error" not in wanted, f"must fail: {wanted['error']}"
    assert rows.num_rows == wanted["rows"]
    assert rows.column_names == (wanted.get("columns") or columns)
    assert hashing.content_hash(rows) == wanted["content_hash"]


def is_allowed_refusal(entry: dict[str, Any], wanted: dict[str, Any], error: LakebedError) -> bool:
    if wanted.get("stage") == "open" or wanted.get("accept_error"):
        return True
    named = set(error.features) if isinstance(error, UnsupportedFeatureError) else set()
    return bool(named & set(entry["requires"]))


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
