"""Compaction after a write: the write is committed, so nothing that fails now may be its error."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import lakebed
from lakebed.commands.optimize.auto_compaction import auto_compact
from lakebed.log.table_log import TableLog
from lakebed.settings.setting_table import AUTO_COMPACT, AUTO_COMPACT_MIN_FILES
from lakebed.storage import open_store
from testkit.faults import Fault, FaultStore


@pytest.mark.parametrize(
    ("settings", "faults"),
    [
        ({}, [Fault(None, 1, "before")]),
        ({AUTO_COMPACT_MIN_FILES.name: "none"}, []),
    ],
    ids=["the newest version cannot be read", "a setting makes no sense"],
)
def test_what_fails_after_a_commit_is_logged(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    faults: list[Fault],
) -> None:
    lakebed.write(tmp_path, pa.table({"id": [1]}))
    given = {AUTO_COMPACT.name: "true", **settings}
    monkeypatch.setattr("lakebed.commands.optimize.auto_compaction.all_settings", lambda _: given)
    store = FaultStore(open_store(tmp_path), *faults)
    target: Any = SimpleNamespace(session=SimpleNamespace(conf=given), log=TableLog(store))
    with caplog.at_level(logging.WARNING, "lakebed"):
        auto_compact(target)
    assert f"auto compaction of {store.url} failed" in caplog.text
