"""Tables whose log leads out of their folder, on both data planes."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed.errors import ExpressionNotAllowedError, ExternalPathError, LakebedError
from lakebed.settings.setting_table import ALLOWED_FUNCTIONS, DATA_PLANE, EXTERNAL_PATHS, UNTRUSTED

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.fixture(params=["native", "workers"])
def session(spark: SparkSession, request: pytest.FixtureRequest) -> SparkSession:
    found = lakebed.enable(spark.newSession())
    found.conf.set(DATA_PLANE.name, request.param)
    return found


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A Parquet file beside the table, which is not its own."""
    table = lakebed.write(tmp_path / "secret", pa.table({"id": [42]}))
    return tmp_path / "secret" / str(table.files().column("path")[0])


def referring(folder: Path, path: str, size: int) -> str:
    """A table whose log has one more file, under any path."""
    lakebed.write(folder, pa.table({"id": [1]}))
    add = {
        "path": path,
        "partitionValues": {},
        "size": size,
        "modificationTime": 0,
        "dataChange": True,
    }
    (folder / "_delta_log" / f"{1:020}.json").write_text(json.dumps({"add": add}))
    return str(folder)


def rows(session: SparkSession, path: str, **options: str) -> list[int]:
    frame = session.read.format("delta").options(**options).load(path)
    return sorted(row.id for row in frame.collect())


@pytest.mark.parametrize(
    "way", ["../secret/{}", "a/%2e%2e/%2e%2e/secret/{}", "file://{root}/t/../secret/{}"]
)
def test_no_way_leads_up(session: SparkSession, tmp_path: Path, secret: Path, way: str) -> None:
    text = way.format(secret.name, root=tmp_path)
    path = referring(tmp_path / "t", text, secret.stat().st_size)
    with pytest.raises(Exception, match="is not a valid location"):
        rows(session, path)
    with pytest.raises(LakebedError, match="is not a valid location"):
        lakebed.open(path).to_arrow()


def test_files_of_clones_are_read_unless_the_table_is_untrusted(
    session: SparkSession, tmp_path: Path, secret: Path
) -> None:
    path = referring(tmp_path / "t", f"file://{secret}", secret.stat().st_size)
    assert rows(session, path) == [1, 42]
    assert lakebed.open(path).to_arrow().num_rows == 2
    with pytest.raises(Exception, match="EXTERNAL_PATH"):
        rows(session, path, untrusted="true")
    with pytest.raises(ExternalPathError):
        lakebed.open(path, untrusted=True).to_arrow()
    session.conf.set(UNTRUSTED.name, "true")
    for options in ({}, {"untrusted": "false"}, {"external_paths": "allow"}):
        with pytest.raises(Exception, match="EXTERNAL_PATH"):
            rows(session, path, **options)
    with pytest.raises(Exception, match="EXTERNAL_PATH"):
        session.sql(f"SELECT * FROM delta.`{path}`").collect()


def test_links_out_of_an_untrusted_table_are_refused(
    session: SparkSession, tmp_path: Path, secret: Path
) -> None:
    path = referring(tmp_path / "t", "link.parquet", secret.stat().st_size)
    (tmp_path / "t" / "link.parquet").symlink_to(secret)
    assert rows(session, path) == [1, 42]
    session.conf.set(UNTRUSTED.name, "true")
    with pytest.raises(Exception, match="EXTERNAL_PATH"):
        rows(session, path)
    with pytest.raises(ExternalPathError):
        lakebed.open(path, untrusted=True).to_arrow()


def test_files_in_other_stores_need_a_setting(session: SparkSession, tmp_path: Path) -> None:
    path = referring(tmp_path / "t", "s3://unnamed/x.parquet", 10)
    with pytest.raises(Exception, match=r"(?s)EXTERNAL_PATH.*s3://unnamed"):
        rows(session, path)
    with pytest.raises(ExternalPathError, match="s3://unnamed"):
        lakebed.open(path).to_arrow()
    session.conf.set(EXTERNAL_PATHS.name, "s3://another")
    with pytest.raises(Exception, match="EXTERNAL_PATH"):
        rows(session, path)


def test_an_untrusted_session_takes_no_more_functions(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    lakebed.write(path, pa.table({"id": [1]}))
    session = lakebed.enable(spark.newSession())
    session.conf.set(ALLOWED_FUNCTIONS.name, "version")
    session.conf.set(UNTRUSTED.name, "true")
    with pytest.raises(ExpressionNotAllowedError, match="version"):
        session.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT c CHECK (version() <> '')")
    session.sql(f"INSERT INTO delta.`{path}` VALUES (2)")
    assert rows(session, path) == [1, 2]
