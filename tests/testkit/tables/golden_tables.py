"""The golden tables: real Delta tables of other implementations, beside the repository.

Every data plane that reads them is judged here alike. Where their folder is not there, tests that
need them are skipped, and the run says so at its end. Where it is, all of them must be there, or
`tests/golden` fails. `LAKEBED_GOLDEN` names another folder, which then must be there, or `none`.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from lakebed.errors import LakebedError, UnsupportedFeatureError

NONE = "none"
_NAMED = os.environ.get("LAKEBED_GOLDEN")
_BESIDE = Path(__file__).resolve().parents[4] / "shared" / "golden"
GOLDEN = Path(_NAMED or _BESIDE)
IS_ANNOUNCED = _NAMED != NONE if _NAMED else GOLDEN.exists()
ABSENT = f"there are no golden tables at {GOLDEN}"
needs_golden = pytest.mark.skipif(not IS_ANNOUNCED, reason=ABSENT)
COUNTS: Counter[str] = Counter()

Reader = Callable[[Path, int | None], Callable[[], pa.Table]]
"""Opens a table at a version, and gives what reads its rows."""


def golden_entries() -> list[dict[str, Any]]:
    catalogue = GOLDEN / "expected.json"
    return list(json.loads(catalogue.read_text())["tables"]) if catalogue.exists() else []


def missing() -> list[str]:
    """What the catalogue names and is not there, or the catalogue."""
    entries = golden_entries()
    paths = [each["path"] for each in entries] if entries else ["expected.json"]
    return [path for path in paths if not (GOLDEN / path).exists()]


def name_of(entry: dict[str, Any]) -> str:
    return f"{entry['source']}/{entry['name']}"


def judge(entry: dict[str, Any], version: int | None, open_table: Reader) -> None:
    """Fails unless the rows, or the refusal, are those that the catalogue expects."""
    wanted = _wanted(entry, version)
    try:
        read = open_table(GOLDEN / entry["path"], version)
    except LakebedError as error:
        if not is_allowed_refusal(entry, wanted, error):
            raise
        return
    assert wanted.get("stage") != "open", f"must be refused: {wanted['error']}"
    try:
        rows = read()
    except LakebedError:
        if wanted.get("stage") != "scan" and not wanted.get("accept_error"):
            raise
        return
    assert "error" not in wanted, f"must fail: {wanted['error']}"
    assert rows.num_rows == wanted["rows"]
    assert rows.column_names == wanted["columns"]
    assert _hashing().content_hash(rows) == wanted["content_hash"]


def is_allowed_refusal(entry: dict[str, Any], wanted: dict[str, Any], error: LakebedError) -> bool:
    if wanted.get("stage") == "open" or wanted.get("accept_error"):
        return True
    named = set(error.features) if isinstance(error, UnsupportedFeatureError) else set()
    return bool(named & set(entry["requires"]))


def _wanted(entry: dict[str, Any], version: int | None) -> dict[str, Any]:
    columns = (entry.get("snapshot") or {}).get("columns")
    wanted = entry["expected"] if version is None else entry["versions"][str(version)]
    is_unsure = version is not None and wanted.get("oracle") == "unsure"
    return {
        **wanted,
        "columns": wanted.get("columns") or columns,
        "accept_error": wanted.get("accept_error") or is_unsure,
    }


@cache
def _hashing() -> ModuleType:
    """The independent definition of a table's content that comes with the tables."""
    spec = importlib.util.spec_from_file_location("content_hash", GOLDEN / "content_hash.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
