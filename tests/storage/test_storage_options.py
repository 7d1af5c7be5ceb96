"""`storage_options`: the names users know, and what happens to all others."""

from __future__ import annotations

from datetime import timedelta

import obstore.exceptions
import obstore.store
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import StorageUrlError
from lakebed.storage import open_store
from lakebed.storage.options import _PROVIDERS, parse_options


@pytest.mark.parametrize(
    "name", ["AWS_ACCESS_KEY_ID", "aws_access_key_id", "access_key_id", "Aws_Access_Key_Id"]
)
def test_names_are_known_in_any_case_and_with_or_without_prefix(name: str) -> None:
    assert parse_options({name: "x"}).config("s3") == {"access_key_id": "x"}


@pytest.mark.parametrize(
    ("name", "kind", "known"),
    [
        ("AWS_ENDPOINT_URL", "s3", "endpoint_url"),
        ("aws_endpoint_url_s3", "s3", "aws_endpoint_url_s3"),
        ("AWS_SESSION_TOKEN", "s3", "session_token"),
        ("region", "s3", "region"),
        ("azure_storage_account_name", "az", "account_name"),
        ("AZURE_STORAGE_SAS_TOKEN", "az", "sas_token"),
        ("azure_client_id", "az", "client_id"),
        ("google_service_account", "gs", "service_account"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "gs", "application_credentials"),
    ],
)
def test_each_provider_takes_its_own(name: str, kind: str, known: str) -> None:
    options = parse_options({name: "v"})

    assert options.config(kind) == {known: "v"}
    assert all(options.config(other) == {} for other in {"s3", "gs", "az"} - {kind})


def test_options_of_the_http_client_go_to_every_provider() -> None:
    options = parse_options({"timeout": "5s", "aws_allow_http": True})

    assert options.client("s3") == {"timeout": "5s", "allow_http": "true"}
    assert options.client("gs") == options.client("az") == {"timeout": "5s"}
    assert options.config("s3") == {}


@pytest.mark.parametrize(
    ("value", "text"),
    [("90s", "90s"), (90, "90s"), (1.5, "1.5s"), (timedelta(seconds=2), "2000ms")],
)
def test_durations_may_be_numbers_of_seconds(value: object, text: str) -> None:
    assert parse_options({"timeout": value}).client("s3") == {"timeout": text}


def test_retries_and_durability_are_options_of_lakebed() -> None:
    options = parse_options({"max_retries": "3", "retry_timeout": "500ms", "DURABILITY": "all"})

    assert (options.max_retries, options.durability.value) == (3, "all")
    assert options.retry_timeout == timedelta(milliseconds=500)
    assert parse_options({"retry_timeout": 20}).retry_timeout == timedelta(seconds=20)


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("aws_acess_key_id", "aws_access_key_id"),
        ("AWS_SECRET_ACCES_KEY", "aws_secret_access_key"),
        ("azure_storage_acount_name", "azure_storage_account_name"),
        ("google_service_acount", "google_service_account"),
        ("max_retry", "max_retries"),
        ("alow_http", "allow_http"),
    ],
)
@pytest.mark.parametrize("url", ["s3://bucket/x", "memory://m/x", "/local"])
def test_a_misspelt_name_is_refused_with_the_nearest(url: str, name: str, suggestion: str) -> None:
    with pytest.raises(StorageUrlError, match=f"Did you mean '{suggestion}'"):
        open_store(url, {name: "secret"})


@pytest.mark.parametrize(
    "options",
    [
        {"xyzzy": "secret"},
        {"max_retries": "secret"},
        {"max_retries": -1},
        {"retry_timeout": "secret"},
        {"durability": "secret"},
        {"aws_region": None},
        {"aws_region": ["secret"]},
        {5: "secret"},
        {"aws_bucket": "secret"},
        {"timeout": "secret"},
        {"aws_conditional_put": "secret"},
    ],
)
def test_wrong_options_are_refused_without_telling_their_values(options: dict[str, object]) -> None:
    with pytest.raises(StorageUrlError) as caught:
        open_store("s3://bucket/x", options)  # type: ignore[arg-type]
    text = str(caught.value)
    assert "secret" not in text or "conditional" in str(options) or "timeout" in options


def test_a_lock_table_is_refused_because_it_does_not_mix_with_conditional_puts() -> None:
    with pytest.raises(StorageUrlError, match="conditional put"):
        open_store("s3://bucket/x", {"AWS_S3_LOCKING_PROVIDER": "dynamodb"})


def test_options_that_only_delta_rs_needs_are_harmless() -> None:
    assert parse_options({"AWS_S3_ALLOW_UNSAFE_RENAME": "true"}).config("s3") == {}


def test_secrets_are_not_shown_by_repr() -> None:
    options = {"aws_secret_access_key": "hush", "aws_access_key_id": "hush"}

    assert "hush" not in repr(parse_options(options))
    assert "hush" not in repr(open_store("s3://bucket/x", options))


@pytest.mark.parametrize("kind", ["s3", "gs", "az"])
def test_obstore_knows_every_name_that_is_passed_on(kind: str) -> None:
    classes = {
        "s3": lambda **k: obstore.store.S3Store("b", **k),
        "gs": lambda **k: obstore.store.GCSStore("b", **k),
        "az": lambda **k: obstore.store.AzureStore("c", account_name="a", **k),
    }
    unknown = []
    for name in sorted(_PROVIDERS[kind].names):
        options = parse_options({name: "true"})
        given = {"config": options.config(kind), "client_options": options.client(kind)}
        try:
            classes[kind](**given)
        except obstore.exceptions.UnknownConfigurationKeyError:
            unknown.append(name)
        except (obstore.exceptions.BaseError, ValueError) as error:
            # A known name may still have a value that makes no sense.
            if "Invalid key" in str(error):
                unknown.append(name)
    assert unknown == []


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("s3://bucket/x", {"aws_access_key_id": "a", "aws_secret_access_key": "b"}),
        ("s3a://bucket/x", {"skip_signature": True}),
        ("gs://bucket/x", {"google_skip_signature": "true"}),
        ("az://container/x", {"azure_storage_account_name": "a", "azure_skip_signature": "true"}),
        ("abfss://container@account.dfs.core.windows.net/x", {"sas_token": "sv=1&sig=2"}),
        ("abfss://container@account.dfs.core.windows.net/x", {"token": "t", "timeout": 9}),
        ("abfss://ws@onelake.dfs.fabric.microsoft.com/lh/x", {"azure_storage_token": "t"}),
    ],
)
def test_every_provider_opens_without_a_request(url: str, options: dict[str, object]) -> None:
    store = open_store(url, options)

    assert not store.cheap_probes
    assert open_store(store.url, options).url == store.url


def test_a_store_that_cannot_be_opened_says_why() -> None:
    with pytest.raises(StorageUrlError, match=r"az://container.*Account must be specified"):
        open_store("az://container/x")
    with pytest.raises(StorageUrlError, match="service account"):
        open_store("gs://bucket/x", {"google_service_account": "/does/not/exist.json"})


@given(st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.booleans(), st.none())))
def test_any_options_are_accepted_or_refused_by_a_lakebed_error(raw: dict[str, object]) -> None:
    try:
        parse_options(raw)
    except StorageUrlError:
        return
    assert all(name.lower() == name.lower().strip() for name in raw)
