"""How obstore reaches the store of a table on Spark: credentials, endpoints and regions.

Three places say it, the first one wins: options of the read or write under the names of
`storage_options`; options under Hadoop's names; the session's settings for Hadoop
(`spark.hadoop.fs.s3a...`). What none of them says comes from the environment, as always.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from lakebed.settings.setting_table import EXTERNAL_PATHS, SINGLE_WRITER, UNTRUSTED
from lakebed.spark.session.session_kind import is_connect
from lakebed.storage.locations import Location, parse_location
from lakebed.storage.options import is_storage_option


def storage_options(
    session: SparkSession, location: str, options: Mapping[str, str]
) -> dict[str, str]:
    """What `open_store` is to be given for a location, on a session, with options of a read."""
    where = parse_location(location)
    limits = _limits(session)
    asked = {key.lower(): value for key, value in options.items() if is_storage_option(key)}
    if UNTRUSTED.read(limits):
        asked.pop(str(UNTRUSTED.option), None)
    given = {str(each.option): limits[each.name] for each in _LIMITS if each.name in limits} | asked
    rules = _RULES.get(where.scheme)
    if rules is None:
        return given
    names = [name for rule in rules for name in rule.names(where)]
    names.append(SINGLE_WRITER.name)
    settings = {**_settings(session, names), **_hadoop_options(options)}
    found = translated(where, settings)
    if SINGLE_WRITER.name in settings:
        found[str(SINGLE_WRITER.option)] = settings[SINGLE_WRITER.name]
    # A name of the user's own may be any of several spellings; ours are prefixed.
    names_given = {_unprefixed(key) for key in given}
    return {**{k: v for k, v in found.items() if _unprefixed(k) not in names_given}, **given}


def translated(where: Location, settings: Mapping[str, str]) -> dict[str, str]:
    """Hadoop's settings for a location as options of `open_store`."""
    found: dict[str, str] = {}
    for rule in _RULES.get(where.scheme, ()):
        value = next((settings[name] for name in rule.names(where) if settings.get(name)), None)
        if value is not None:
            found.update(rule.translate(value))
    return _with_account(where, found) if where.scheme == "az" else _with_scheme(found)


@dataclass(frozen=True)
class _Rule:
    """One of Hadoop's settings; `{bucket}` and the like in its names are those of the location."""

    hadoop: tuple[str, ...]
    translate: Callable[[str], dict[str, str]]

    def names(self, where: Location) -> list[str]:
        container, _, host = where.authority.partition("@")
        return [
            each.format(bucket=where.authority, container=container, host=host)
            for each in self.hadoop
            if host or "{host}" not in each
        ]


def _limits(session: SparkSession) -> dict[str, str]:
    """What the session says of all tables; a limit that is on cannot be taken off by an option."""
    names = [each.name for each in _LIMITS]
    if is_connect(session):
        known: dict[str, Any] = session.conf.getAll
        return {name: known[name] for name in names if name in known}
    from lakebed.spark.internals.jvm import Jvm

    return Jvm.of(session).own_settings(names)


def _settings(session: SparkSession, names: list[str]) -> dict[str, str]:
    if not is_connect(session):
        from lakebed.spark.internals.jvm import Jvm

        return Jvm.of(session).hadoop_settings(names)
    known: dict[str, Any] = session.conf.getAll
    both = {name: known.get(name, known.get(f"spark.hadoop.{name}")) for name in names}
    return {name: value for name, value in both.items() if value is not None}


def _hadoop_options(options: Mapping[str, str]) -> dict[str, str]:
    """Spark takes Hadoop's settings among the options of a read, with their prefix or without."""
    found = {}
    for key, value in options.items():
        name = key.removeprefix("spark.hadoop.")
        if name.startswith("fs."):
            found[name] = value
    return found


def _unprefixed(key: str) -> str:
    for prefix in ("aws_", "google_", "azure_storage_", "azure_"):
        key = key.removeprefix(prefix)
    return {"endpoint_url": "endpoint", "default_region": "region", "token": "session_token"}.get(
        key, key
    )


def _s3(name: str, translate: Callable[[str], dict[str, str]]) -> _Rule:
    return _Rule((f"fs.s3a.bucket.{{bucket}}.{name}", f"fs.s3a.{name}"), translate)


def _as(name: str) -> Callable[[str], dict[str, str]]:
    return lambda value: {name: value}


def _with_scheme(found: dict[str, str]) -> dict[str, str]:
    """Hadoop's endpoints may be host names, and another setting says whether with TLS."""
    tls = found.pop(_TLS, "true").lower() == "true"
    endpoint = found.get(_ENDPOINT)
    if endpoint is None:
        return found
    if "://" not in endpoint:
        endpoint = f"{'https' if tls else 'http'}://{endpoint}"
    allowed = {"aws_allow_http": "true"} if endpoint.lower().startswith("http:") else {}
    return {**found, _ENDPOINT: endpoint, **allowed}


def _with_account(where: Location, found: dict[str, str]) -> dict[str, str]:
    """Hadoop's endpoint of Azure is an emulator's host and port; the account is in the path."""
    tls, address = found.pop(_TLS, "true").lower() == "true", found.pop(_ADDRESS, "")
    if ":" not in address:  # Hadoop takes no notice of it either.
        return found
    account = where.authority.partition("@")[2].partition(".")[0]
    endpoint = {"azure_endpoint": f"{'https' if tls else 'http'}://{address}/{account}"}
    return {**found, **endpoint, **({} if tls else {"azure_allow_http": "true"})}


def _path_style(value: str) -> dict[str, str]:
    """Hadoop's default is false, which says nothing of the store: obstore then knows best."""
    return {"aws_virtual_hosted_style_request": "false"} if value.lower() == "true" else {}


def _by_provider(value: str) -> dict[str, str]:
    """What a class of credentials means; most look at keys, which have settings of their own."""
    if "Anonymous" in value or value == "UNAUTHENTICATED":
        return {"skip_signature": "true"}
    if any(name in value for name in _OF_THE_MACHINE):
        return {"instance_credentials": "true"}
    return {}


_OF_THE_MACHINE = (
    *("IAMInstance", "InstanceProfile", "EC2Container", "MsiTokenProvider", "COMPUTE_ENGINE"),
)


def _tenant(value: str) -> dict[str, str]:
    """https://login.microsoftonline.com/tenant/oauth2/token."""
    parts = value.partition("://")[2].split("/")
    return {"azure_tenant_id": parts[1]} if len(parts) > 1 and parts[1] else {}


_LIMITS = (EXTERNAL_PATHS, UNTRUSTED)
_ENDPOINT, _ADDRESS, _TLS = "aws_endpoint_url", "address", "tls"
_RULES: Mapping[str, tuple[_Rule, ...]] = {
    "s3": (
        _s3("access.key", _as("aws_access_key_id")),
        _s3("secret.key", _as("aws_secret_access_key")),
        _s3("session.token", _as("aws_session_token")),
        _s3("endpoint.region", _as("aws_region")),
        _s3("endpoint", _as(_ENDPOINT)),
        _s3("connection.ssl.enabled", _as(_TLS)),
        _s3("path.style.access", _path_style),
        _s3("aws.credentials.provider", _by_provider),
    ),
    "az": (
        _Rule(("fs.azure.account.key.{host}", "fs.azure.account.key"), _as("azure_account_key")),
        _Rule(
            ("fs.azure.sas.fixed.token.{host}", "fs.azure.sas.fixed.token"), _as("azure_sas_token")
        ),
        _Rule(("fs.azure.abfs.endpoint.{host}", "fs.azure.abfs.endpoint"), _as(_ADDRESS)),
        _Rule(("fs.azure.always.use.https",), _as(_TLS)),
        _Rule(
            ("fs.azure.account.oauth2.client.id.{host}", "fs.azure.account.oauth2.client.id"),
            _as("azure_client_id"),
        ),
        _Rule(
            (
                "fs.azure.account.oauth2.client.secret.{host}",
                "fs.azure.account.oauth2.client.secret",
            ),
            _as("azure_client_secret"),
        ),
        _Rule(
            (
                "fs.azure.account.oauth2.client.endpoint.{host}",
                "fs.azure.account.oauth2.client.endpoint",
            ),
            _tenant,
        ),
        _Rule(
            (
                "fs.azure.account.oauth.provider.type.{host}",
                "fs.azure.account.oauth.provider.type",
            ),
            _by_provider,
        ),
    ),
    "gs": (
        _Rule(
            (
                "fs.gs.auth.service.account.json.keyfile",
                "google.cloud.auth.service.account.json.keyfile",
            ),
            _as("google_service_account"),
        ),
        _Rule(("fs.gs.auth.type", "google.cloud.auth.type"), _by_provider),
    ),
}
