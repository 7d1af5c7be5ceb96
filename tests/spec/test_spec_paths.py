"""Paths in the log: what java.net.URI and Spark make of them."""

import re

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import LogCorruptedError, StorageUrlError
from lakebed.spec.paths import (
    AbsolutePath,
    absolute_reference,
    canonical_path,
    data_file_name,
    data_file_path,
    decode_path,
    decode_paths,
    encode_path,
    escape_name,
    is_absolute,
    partition_directory,
    split_absolute,
    unescape_name,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@settings(deadline=None)
@given(TEXT)
def test_any_path_survives_encoding_and_decoding(path: str) -> None:
    assert decode_path(encode_path(path)) == path


@settings(deadline=None)
@given(TEXT)
def test_any_name_survives_escaping_and_unescaping(name: str) -> None:
    assert unescape_name(escape_name(name)) == name
    assert not re.search(r"""[\x00-\x1f"#'*/:=?\\\x7f{\[\]^]""", escape_name(name))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a=1/part-0.parquet", "a=1/part-0.parquet"),
        ("a b", "a%20b"),
        ("100%", "100%25"),
        ("a+b&c=d@e:f,g;h$i!j~k*l'm(n)o", "a+b&c=d@e:f,g;h$i!j~k*l'm(n)o"),
        ('"<>?#[]^`{|}\\', "%22%3C%3E%3F%23%5B%5D%5E%60%7B%7C%7D%5C"),
        ("tab\tline\nzero\x00del\x7f", "tab%09line%0Azero%00del%7F"),
        ("größe/日本/😀", "größe/日本/😀"),
        ("no-break\xa0space\u2028\x85", "no-break%C2%A0space%E2%80%A8%C2%85"),
    ],
)
def test_encoding_is_that_of_java_net_uri(path: str, text: str) -> None:
    assert encode_path(path) == text
    assert decode_path(text) == path


def test_decoding_takes_a_plus_for_a_plus_and_escapes_in_any_case() -> None:
    assert decode_path("a+b%2fc%2F%e6%97%A5") == "a+b/c/日"


def test_decoding_accepts_characters_that_other_writers_left_raw() -> None:
    assert (
        decode_path("time=1971-07-22T03:06:40.000000Z/a b")
        == "time=1971-07-22T03:06:40.000000Z/a b"
    )


@pytest.mark.parametrize("text", ["100%", "a%2", "a%zzb", "%", "%ff%fe"])
def test_broken_escapes_are_refused(text: str) -> None:
    with pytest.raises(LogCorruptedError, match="cannot be decoded"):
        decode_path(text)


def test_a_column_of_paths_decodes_like_its_elements() -> None:
    texts = pa.array(["a%20b", None, "c"])
    assert decode_paths(texts).to_pylist() == ["a b", None, "c"]
    plain = pa.chunked_array([["a", "b"], ["c"]])
    assert decode_paths(plain) is plain


@pytest.mark.parametrize(
    ("text", "absolute"),
    [
        ("part-0.parquet", False),
        ("a=1/part-0.parquet", False),
        ("time=03:06/part-0.parquet", False),
        ("/data/part-0.parquet", True),
        ("file:/data/part-0.parquet", True),
        ("s3a://bucket/part-0.parquet", True),
        ("abfss://c@account.dfs.core.windows.net/x", True),
    ],
)
def test_absolute_paths_have_a_scheme_or_start_at_the_root(text: str, absolute: bool) -> None:
    assert is_absolute(text) is absolute


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("/a%20b", AbsolutePath("file", "", "/a b")),
        ("file:/a%20b", AbsolutePath("file", "", "/a b")),
        ("file:///a%20b", AbsolutePath("file", "", "/a b")),
        ("S3://bucket/a%2Bb+c", AbsolutePath("s3", "bucket", "/a+b+c")),
        ("s3://bucket", AbsolutePath("s3", "bucket", "/")),
        (
            "abfss://c@account.dfs.core.windows.net/x/y",
            AbsolutePath("abfss", "c@account.dfs.core.windows.net", "/x/y"),
        ),
    ],
)
def test_absolute_paths_are_taken_apart(text: str, parts: AbsolutePath) -> None:
    assert split_absolute(text) == parts


def test_a_uri_without_a_path_is_refused() -> None:
    with pytest.raises(StorageUrlError, match="mailto:x"):
        split_absolute("mailto:x")


@pytest.mark.parametrize(
    ("text", "root", "canonical"),
    [
        ("part-0.parquet", "file:///t", "part-0.parquet"),
        ("/some/p@%23h", "file:///t", "file:///some/p@%23h"),
        ("/some/p@%23h", "/t", "file:///some/p@%23h"),
        ("file:/some/p@%23h", "file:///t", "file:///some/p@%23h"),
        ("file:///some/p@%23h", "file:///t", "file:///some/p@%23h"),
        ("/x", "s3://bucket/t", "s3://bucket/x"),
        ("s3://bucket/x", "s3://bucket/t", "s3://bucket/x"),
        ("file:/x", "s3://bucket/t", "file:///x"),
    ],
)
def test_every_spelling_of_a_file_has_one_canonical_path(
    text: str, root: str, canonical: str
) -> None:
    assert canonical_path(text, root) == canonical


def test_partition_directories_are_named_as_spark_names_them() -> None:
    values = {"a b": "x/y z", "ts": "2024-01-01 10:00:00", "n": None, "e": "", "c:d": "ü{}"}
    assert partition_directory(values) == (
        "a b=x%2Fy z/ts=2024-01-01 10%3A00%3A00/n=__HIVE_DEFAULT_PARTITION__"
        "/e=__HIVE_DEFAULT_PARTITION__/c%3Ad=ü%7B}"
    )
    # In the log the escapes of the directory are escaped once more.
    assert encode_path(partition_directory({"x": "A/A"})) == "x=A%252FA"


def test_a_stray_percent_survives_unescaping() -> None:
    assert unescape_name("100%") == "100%"
    assert unescape_name("a%zz%2F") == "a%zz/"


@pytest.mark.parametrize(
    ("codec", "suffix"),
    [
        ("snappy", ".snappy.parquet"),
        ("ZSTD", ".zstd.parquet"),
        ("gzip", ".gz.parquet"),
        ("lz4_raw", ".lz4raw.parquet"),
        ("none", ".parquet"),
        ("uncompressed", ".parquet"),
    ],
)
def test_data_files_are_named_as_spark_names_them(codec: str, suffix: str) -> None:
    name = data_file_name(codec, task=7, counter=2)
    assert re.fullmatch(r"part-00007-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-c002(\.\w+)+", name)
    assert name.split("-c002")[1] == suffix


def test_no_two_data_files_share_a_name() -> None:
    assert len({data_file_name("snappy") for _ in range(1000)}) == 1000


def test_new_files_go_to_the_directory_of_their_partition_or_to_a_random_prefix() -> None:
    assert data_file_path("f") == "f"
    assert data_file_path("f", {"a": "1", "b": None}) == "a=1/b=__HIVE_DEFAULT_PARTITION__/f"
    assert re.fullmatch(
        r"[A-Za-z0-9]{3}/f", data_file_path("f", {"a": "1"}, random_prefix_length=3)
    )


@pytest.mark.parametrize(
    ("text", "root", "expected"),
    [
        ("file:///a%20b/part-0.parquet", "file:///t", "file:/a%20b/part-0.parquet"),
        ("file:/a%20b/part-0.parquet", "file:///t", "file:/a%20b/part-0.parquet"),
        ("/a%20b/part-0.parquet", "file:///t", "file:/a%20b/part-0.parquet"),
        ("file:///%C3%BC%20%2541/p=a%2525", "file:///t", "file:/ü%20%2541/p=a%2525"),
        ("s3://bucket/%C3%BC%20x", "s3://bucket/t", "s3://bucket/%C3%BC%20x"),
        ("abfss://c@a.host/t/x", "file:///t", "abfss://c@a.host/t/x"),
        ("/t/x", "s3a://bucket/t", "s3a://bucket/t/x"),
        ("file:///x", "s3://bucket/t", "file:/x"),
    ],
)
def test_absolute_references_are_spelled_as_hadoop_does(
    text: str, root: str, expected: str
) -> None:
    assert absolute_reference(text, root) == expected
    assert absolute_reference(expected, root) == expected
