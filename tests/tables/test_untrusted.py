"""`lakebed.open(..., untrusted=True)`: tables from strangers, without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import ExternalPathError, LakebedError


def test_no_class_is_loaded_for_an_untrusted_table(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lakebed.write(path, pa.table({"id": [1]}))
    log = path / "_delta_log"
    lines = (log / f"{0:020}.json").read_text().splitlines()
    [metadata] = [each["metaData"] for each in map(json.loads, lines) if "metaData" in each]
    udt = {"type": "udt", "class": "a.B", "pyClass": "a.b.C", "sqlType": "long"}
    field = {"name": "id", "type": udt, "nullable": True, "metadata": {}}
    metadata["schemaString"] = json.dumps({"type": "struct", "fields": [field]})
    (log / f"{1:020}.json").write_text(json.dumps({"metaData": metadata}))
    assert "udt" in str(lakebed.open(path).schema)
    with pytest.raises(LakebedError, match="user-defined type"):
        _ = lakebed.open(path, untrusted=True).schema


def test_a_shallow_clone_is_read_unless_it_is_untrusted(tmp_path: Path) -> None:
    source = lakebed.write(tmp_path / "source", pa.table({"id": [1, 2]}))
    source.clone(tmp_path / "clone", shallow=True)
    assert lakebed.open(tmp_path / "clone").to_arrow().num_rows == 2
    table = lakebed.open(tmp_path / "clone", untrusted=True)
    with pytest.raises(ExternalPathError, match="outside of the table's folder"):
        table.to_arrow()
    # Its own folder is as good as any.
    own = lakebed.write(tmp_path / "clone", pa.table({"id": [3]}))
    assert lakebed.open(tmp_path / "source", untrusted=True).to_arrow().num_rows == 2
    assert own.version == 1


def test_clones_that_could_not_be_read_are_not_made(tmp_path: Path) -> None:
    source = lakebed.write(tmp_path / "source", pa.table({"id": [1, 2]}))
    with pytest.raises(ExternalPathError):
        source.clone(tmp_path / "clone", shallow=True, storage_options={"untrusted": "true"})
    assert not (tmp_path / "clone").exists()
