"""Messages of errors go to terminals and logs: no password, and nothing that steers a terminal."""

from __future__ import annotations

import pytest

import lakebed
from lakebed.catalog.embedded import EmbeddedCatalog
from lakebed.errors import DataFileError, LakebedError

SECRET = "s3cr:e@t"
CLIENT = {"max_retries": "0", "region": "x", "allow_http": "true"}


@pytest.mark.parametrize(
    ("url", "options"),
    [
        (f"s3://user:{SECRET}@bucket/t", {}),
        (f"https://user:{SECRET}@host/t", {}),
        (f"azure://user:{SECRET}@host/t", {}),
        (f"foo://user:{SECRET}@host/t?password={SECRET}&X-Amz-Signature={SECRET}", {}),
        ("s3://bucket/t", {"endpoint": f"http://user:{SECRET}@127.0.0.1:1", **CLIENT}),
        ("s3://bucket/t", {"aws_endpoint_url": f"http://{SECRET}@127.0.0.1:1", **CLIENT}),
        ("s3://bucket/t", {"endpoint": "http://user:s3cr@127.0.0.1:1", **CLIENT}),
    ],
)
def test_no_password_of_a_url_or_an_endpoint_is_in_an_error(
    url: str, options: dict[str, str]
) -> None:
    with pytest.raises(LakebedError) as caught:
        lakebed.open(url, storage_options=options)
    error: BaseException | None = caught.value
    while error is not None:
        assert "s3cr" not in str(error)
        error = error.__cause__


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://user:{SECRET}@127.0.0.1:1/db",
        f"postgresql://user:{SECRET}@127.0.0.1:port/db?password={SECRET}",
        f"postgresql://user:{SECRET}@[::1/db",
        f"mysql://user:{SECRET}@127.0.0.1/db",
    ],
)
def test_no_password_of_a_catalog_is_in_an_error(url: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(LakebedError) as caught:
        EmbeddedCatalog(url, "/w")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("name", ["region", "aws_access_key_id", "user_agent", "endpoint"])
def test_a_line_break_in_an_option_is_an_error_that_names_it(name: str) -> None:
    options = {**CLIENT, "aws_access_key_id": "a", "aws_secret_access_key": "b", name: "x\ny"}
    with pytest.raises(LakebedError, match=name):
        lakebed.open("s3://bucket/t", storage_options=options)


def test_characters_that_steer_a_terminal_are_escapes_in_errors() -> None:
    error = DataFileError("a\x1b[31mb\x9bc\r\u202ed", file="x\x07", hint="\x7fé ü 漢\tt\nline")
    assert error.file == "x\x07"
    # Where a session is enabled, errors also have delta-spark's name for what happened.
    assert str(error).partition("\n  condition: ")[0] == (
        "[DATA_FILE] x\\x07: a\\x1b[31mb\\x9bc\\r\\u202ed\n  hint: \\x7fé ü 漢\tt\nline"
    )
    with pytest.raises(LakebedError) as caught:
        lakebed.open("/no/such\x1b[2J/table")
    assert "\x1b" not in str(caught.value)


def test_containers_and_words_like_those_of_secrets_stay_as_they_are() -> None:
    for text in (
        "abfss://container@account.dfs.core.windows.net/t",
        "a token = b",
        "s3://b/part=1/x",
        "CHECK (a:b = 'c@d')",
    ):
        assert LakebedError(text).message == text
