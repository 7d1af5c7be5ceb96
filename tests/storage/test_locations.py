"""Paths and URLs as users and logs write them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import StorageUrlError
from lakebed.storage import open_store
from lakebed.storage.locations import Location, parse_location

NAMES = ["plain", "with space", "per%cent", "a%20b", "ha#sh", "que?ry", "日本 ü", "a:b", "~tilde"]


@pytest.mark.parametrize("name", NAMES)
def test_plain_paths_are_taken_letter_by_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "x").write_bytes(b"1")
    monkeypatch.chdir(tmp_path)

    given = [tmp_path / name, str(tmp_path / name), f"{tmp_path}/{name}/", f"./{name}"]
    for location in [*given, Path(name), (tmp_path / name).as_uri()]:
        store = open_store(location)
        assert store.get("x") == b"1"
        assert store.url == (tmp_path / name).as_uri().replace("%3A", ":")
        assert open_store(store.url).get("x") == b"1"


def test_relative_paths_are_fixed_when_the_store_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store("table")
    monkeypatch.chdir("/")
    store.put("x", b"1")

    assert (tmp_path / "table" / "x").read_bytes() == b"1"


def test_a_tilde_is_the_home_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert parse_location("~/t") == parse_location(tmp_path / "t")
    assert parse_location(Path("~/t")) == parse_location(tmp_path / "t")


@pytest.mark.parametrize(
    "url",
    [
        "file:/a/b%20c",
        "file:///a/b%20c",
        "file:///a/b c",
        "file://localhost/a/b%20c/",
        "FILE:///a//b%20c",
        "file:///a/x/../b%20c",
        "/a/b c",
        "//a/b c",
    ],
)
def test_every_form_of_a_local_url_means_the_same_file(url: str) -> None:
    assert parse_location(url) == Location("file", "", "a/b c")
    assert parse_location(url).url == "file:///a/b%20c"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("s3://bucket/a/b", Location("s3", "bucket", "a/b")),
        ("s3a://bucket/a/b/", Location("s3", "bucket", "a/b")),
        ("S3://bucket", Location("s3", "bucket", "")),
        ("s3://bucket/", Location("s3", "bucket", "")),
        ("s3://bucket/a%20b/c%23", Location("s3", "bucket", "a b/c#")),
        ("s3://bucket/a b#c?d", Location("s3", "bucket", "a b#c?d")),
        ("s3://bucket/100%", Location("s3", "bucket", "100%")),
        ("gs://bucket/x", Location("gs", "bucket", "x")),
        ("gcs://bucket/x", Location("gs", "bucket", "x")),
        ("az://container/x", Location("az", "container", "x")),
        ("memory://m/x", Location("memory", "m", "x")),
        ("memory:///x", Location("memory", "", "x")),
        (
            "abfss://c@account.dfs.core.windows.net/x",
            Location("az", "c@account.dfs.core.windows.net", "x"),
        ),
    ],
)
def test_urls_are_taken_apart(url: str, expected: Location) -> None:
    assert parse_location(url) == expected
    assert parse_location(expected.url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "",
        "\0",
        "\ud800",
        "s3://",
        "s3:///key",
        "s3:/bucket/key",
        "s3:bucket/key",
        "s3://buc ket/x",
        "s3://user@bucket/x",
        "s3://bucket/a//b",
        "s3://bucket/../x",
        "s3://bucket/%FF",
        "gs://",
        "az://",
        "abfss://c@/x",
        "file:x",
        "file://otherhost/x",
        "file://",
        "hdfs://host/x",
        "dbfs:/mnt/x",
        "https://host/x",
    ],
)
def test_bad_urls_are_refused_with_the_url_in_the_message(url: str) -> None:
    with pytest.raises(StorageUrlError, match=re.escape(repr(url))):
        open_store(url)


def test_a_bad_url_is_in_the_message_without_its_password() -> None:
    with pytest.raises(StorageUrlError, match=re.escape("'s3://***@bucket/x'")):
        open_store("s3://user:pass@bucket/x")


@pytest.mark.parametrize("value", [None, 5, b"/x", ["/x"]])
def test_only_strings_and_paths_are_locations(value: object) -> None:
    with pytest.raises(StorageUrlError, match="string or a pathlib"):
        open_store(value)  # type: ignore[arg-type]


def test_a_misspelt_scheme_is_corrected() -> None:
    with pytest.raises(StorageUrlError, match="Did you mean memory://"):
        open_store("memry://x/y")


HOME = Location("s3", "bucket", "tables/t")


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("part-0.parquet", "s3://bucket/tables/t/part-0.parquet"),
        ("p=a%20b/x", "s3://bucket/tables/t/p=a%20b/x"),
        ("p=a%2520b/x", "s3://bucket/tables/t/p=a%2520b/x"),
        ("p=a:b/x", "s3://bucket/tables/t/p=a:b/x"),
        ("s3a://other/x%20y", "s3://other/x%20y"),
        ("/absolute/x", "s3://bucket/absolute/x"),
        ("file:/tmp/x%20y", "file:///tmp/x%20y"),
    ],
)
def test_references_are_decoded_once(uri: str, expected: str) -> None:
    assert HOME.reference(uri).url == expected


def test_what_is_inside_a_location_has_a_relative_path() -> None:
    assert HOME.relative(Location("s3", "bucket", "tables/t/x/y")) == "x/y"
    assert HOME.relative(Location("s3", "bucket", "tables/t2/x")) is None
    assert HOME.relative(Location("s3", "bucket2", "tables/t/x")) is None
    assert HOME.root.relative(Location("s3", "bucket", "tables/t/x")) == "tables/t/x"


@pytest.mark.parametrize("uri", ["../x", "a//b", "./x", "", "nope://x/y"])
def test_impossible_references_are_refused(uri: str) -> None:
    with pytest.raises(StorageUrlError):
        HOME.reference(uri)


segments = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(
    lambda s: "/" not in s and s not in (".", "..")
)


@given(st.sampled_from(["s3", "gs", "az", "memory"]), st.lists(segments, max_size=4))
def test_any_object_store_location_survives_its_url(scheme: str, parts: list[str]) -> None:
    location = Location(scheme, "bucket", "/".join(parts))

    assert parse_location(location.url) == location
    assert HOME.reference(location.url) == location


@given(st.lists(segments.filter(lambda s: not s.startswith("~")), min_size=1, max_size=4))
def test_any_local_path_survives_its_url(parts: list[str]) -> None:
    path = "/" + "/".join(parts)

    assert parse_location(path).path == path.strip("/")
    assert parse_location(parse_location(path).url) == parse_location(path)
    assert parse_location(Path(path)) == parse_location(path)


@given(st.text())
def test_any_text_is_a_location_or_a_lakebed_error(text: str) -> None:
    try:
        location = parse_location(text)
    except StorageUrlError:
        return
    assert parse_location(location.url) == location
