"""Where the paths in a log may lead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lakebed.errors import ExternalPathError, InvalidArgumentError, StorageUrlError
from lakebed.storage import Store, open_store

S3 = {"aws_region": "eu-west-1", "aws_skip_signature": "true"}
AZURE = "abfss://data@mine.dfs.core.windows.net/t"


def opened(url: str, **options: Any) -> Store:
    known = S3 if url.startswith("s3") else {}
    if url.startswith("abfss"):
        known = {"azure_skip_signature": "true"}
    return open_store(url, {**known, **options})


@pytest.mark.parametrize("home", ["/data/t", "memory://m/t", "s3://mine/t"])
@pytest.mark.parametrize(
    "uri",
    [
        "../other/x.parquet",
        "a/../../other/x.parquet",
        "a/%2e%2e/%2E%2E/x.parquet",
        "%2e%2e%2fother/x.parquet",
        "./x.parquet",
        "/data/t/../other/x.parquet",
        "file:///data/t/../other/x.parquet",
        "file:/data/t/%2e%2e/other/x.parquet",
        "file:///data/t/a%2f..%2f..%2fother/x.parquet",
        "s3://mine/t/../other/x.parquet",
        "s3://mine/%2e%2e/other/x.parquet",
        "http://169.254.169.254/latest/x.parquet",
        "jar:file:/data/t.jar!/x.parquet",
        "hdfs://host/x.parquet",
        "file://host/x.parquet",
    ],
)
def test_ways_out_of_a_folder_and_unknown_stores_are_refused(home: str, uri: str) -> None:
    with pytest.raises((StorageUrlError, ExternalPathError)):
        opened(home).resolve(uri)


@pytest.mark.parametrize(
    ("home", "uri", "path"),
    [
        ("/data/t", "a=1/x%20y.parquet", "a=1/x y.parquet"),
        ("/data/t", "a..b/..x.parquet", "a..b/..x.parquet"),
        ("/data/t", "file:///data/t/x.parquet", "x.parquet"),
        ("/data/t", "file:/data/source/x.parquet", "data/source/x.parquet"),
        ("/data/t", "/data/source/x.parquet", "data/source/x.parquet"),
        ("memory://m/t", "memory://other/x.parquet", "x.parquet"),
        ("s3://mine/t", "s3a://mine/t/x.parquet", "x.parquet"),
        ("s3://mine/t", "s3a://mine/source/x.parquet", "source/x.parquet"),
        ("s3://mine/t", "/source/x.parquet", "source/x.parquet"),
        (AZURE, "abfss://data@mine.dfs.core.windows.net/s/x.parquet", "s/x.parquet"),
    ],
)
def test_what_shallow_clones_need_is_found(home: str, uri: str, path: str) -> None:
    assert opened(home).resolve(uri)[1] == path


@pytest.mark.parametrize(
    ("home", "uri", "place"),
    [
        ("s3://mine/t", "s3://other/x.parquet", "s3://other"),
        ("s3://mine/t", "gs://other/x.parquet", "gs://other"),
        ("s3://mine/t", "file:///etc/x.parquet", "file://"),
        ("/data/t", "s3://other/x.parquet", "s3://other"),
        ("memory://m/t", "s3://other/x.parquet", "s3://other"),
        (
            AZURE,
            "abfss://data@other.dfs.core.windows.net/x.parquet",
            "abfss://data@other.dfs.core.windows.net",
        ),
        (
            AZURE,
            "abfss://more@mine.dfs.core.windows.net/x.parquet",
            "abfss://more@mine.dfs.core.windows.net",
        ),
    ],
)
def test_credentials_go_to_places_that_the_user_named(home: str, uri: str, place: str) -> None:
    with pytest.raises(ExternalPathError, match=place) as error:
        opened(home).resolve(uri)
    assert "spark.lakebed.externalPaths" in str(error.value)
    with pytest.raises(ExternalPathError):
        opened(home, external_paths="s3://unlike,gs://unlike").resolve(uri)
    options = {"google_skip_signature": "true", **S3, "azure_skip_signature": "true"}
    for external in ("allow", f"s3://unlike, {place}", [place]):
        store = open_store(home, {**options, "external_paths": external})
        assert store.resolve(uri)[1].endswith("x.parquet")


def test_places_must_be_places() -> None:
    for wrong in (1, {"s3://a": 1}, "not a place://x"):
        with pytest.raises((InvalidArgumentError, StorageUrlError)):
            open_store("/data/t", {"external_paths": wrong})


def test_an_untrusted_table_has_no_file_outside_of_its_folder() -> None:
    store = opened("/data/t", untrusted=True, external_paths="allow")
    assert store.resolve("file:///data/t/x.parquet")[1] == "x.parquet"
    for uri in ("file:///data/source/x.parquet", "/data/x.parquet", "s3://other/x.parquet"):
        with pytest.raises(ExternalPathError, match="untrusted"):
            store.resolve(uri)


def test_an_untrusted_table_has_no_links_out_of_its_folder(tmp_path: Path) -> None:
    root, outside = tmp_path / "t", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    (root / "own").write_bytes(b"own")
    (root / "link").symlink_to(outside / "secret")
    (root / "folder").symlink_to(outside)
    (root / "inner").symlink_to(root / "own")
    # The user's own way to the table may be a link.
    (tmp_path / "way").symlink_to(root)
    trusting, store = open_store(root), open_store(tmp_path / "way", {"untrusted": "true"})
    assert store.get("own") == store.get("inner") == b"own"
    for path in ("link", "folder/secret"):
        assert trusting.get(path) == b"secret"
        for use in (
            store.get,
            store.head,
            store.exists,
            store.open_input,
            store.check_link,
            lambda path: store.get_many([path]),
            lambda path: store.get_range(path, 0, 1),
            lambda path: store.put(path, b"x"),
            lambda path: store.put_if_absent(path, b"x"),
            store.delete,
        ):
            with pytest.raises(ExternalPathError, match="link"):
                use(path)
    with pytest.raises(ExternalPathError):
        store.put_if_absent("folder/new", b"x")
    with pytest.raises(ExternalPathError):
        store.list_from("folder/")
    assert [each.name for each in outside.iterdir()] == ["secret"]
