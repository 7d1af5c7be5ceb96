"""How Hadoop reaches the store of a table: which connector, and with which settings.

Users give either kind of names, those of `storage_options` or Hadoop's. `store_options` translates
them to the first kind for obstore, and this module to the second for Spark's reader and writer.

Hadoop keeps one connection for each scheme and bucket, with the settings of the first use: a
read with a wrong password would spoil all later ones. So settings that come with a single read or
write get a scheme of their own, with a digest of them in its name and the same connector.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lakebed.spark.plane.plane_options import hadoop_options
from lakebed.storage.locations import SCHEMES, Location, parse_location
from lakebed.storage.options import is_storage_option, parse_options


@dataclass(frozen=True)
class HadoopAccess:
    """Hadoop reaches the store. `root` is the folder of the table as Hadoop names it."""

    root: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class NoHadoopAccess:
    """`reason` is why Hadoop does not reach the store, `advice` what would help."""

    reason: str
    advice: str


def hadoop_access(
    root: str, options: Mapping[str, str], has_connector: Callable[[str], bool]
) -> HadoopAccess | NoHadoopAccess:
    """`has_connector` says whether Hadoop knows a scheme; `options` are those of one operation."""
    scheme, _, rest = root.partition("://")
    given = hadoop_options(options)
    kind = SCHEMES.get(scheme.lower())
    if kind not in _CONNECTORS:
        if kind == "file" or has_connector(scheme):
            return HadoopAccess(root, given)
        return NoHadoopAccess(f"Hadoop has no connector for {scheme}://", "Use another store.")
    connector = _CONNECTORS[kind]
    names = (*connector.schemes, scheme) if options else (scheme, *connector.schemes)
    known = next((name for name in names if has_connector(name)), None)
    if known is None:
        return NoHadoopAccess(
            f"Spark has no Hadoop connector for {scheme}://",
            f'Start the session with lakebed.session(..., stores=["{connector.store}"]).',
        )
    where = parse_location(f"{scheme}://{rest.partition('/')[0]}/")
    config = dict(parse_options(_storage(options)).configs[kind])
    if "instance_credentials" in {key.lower() for key in options}:
        config["instance_credentials"] = "true"
    unknown = sorted(name for name in config if name not in connector.names | _HARMLESS)
    if unknown:
        return NoHadoopAccess(
            f"Hadoop's connector has no setting for {', '.join(unknown)}",
            "Give credentials that the connector knows as well; docs/object_stores.md lists them.",
        )
    return connector.access(
        known, scheme, where, rest, {**given, **connector.translate(where, config)}
    )


def _storage(options: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in options.items() if is_storage_option(key)}


# --- the connectors ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Connector:
    """`names` are the options that `translate` knows, without their prefixes."""

    store: str
    schemes: tuple[str, ...]
    names: frozenset[str]
    translate: Callable[[Location, Mapping[str, str]], dict[str, str]]
    access: Callable[[str, str, Location, str, dict[str, str]], HadoopAccess | NoHadoopAccess]


def _s3_settings(where: Location, config: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for name, setting in _S3_NAMES.items():
        if name in config:
            found[setting] = config[name]
    endpoint = found.get("endpoint", "")
    if endpoint and config.get("virtual_hosted_style_request", "false").lower() != "true":
        # obstore's default; most servers but Amazon's know no other style.
        found["path.style.access"] = "true"
    if endpoint.lower().startswith("http:"):
        found["connection.ssl.enabled"] = "false"
    provider = _s3_provider(config)
    if provider is not None:
        found["aws.credentials.provider"] = provider
    # Settings of a bucket go before those of all; files of a clone are in other buckets.
    bucket = f"fs.s3a.bucket.{where.authority}."
    return {f"{prefix}{k}": v for prefix in ("fs.s3a.", bucket) for k, v in found.items()}


def _s3_provider(config: Mapping[str, str]) -> str | None:
    """One provider, so that Hadoop does not go on to the metadata address of the machine."""
    if config.get("skip_signature", "").lower() == "true":
        return f"{_S3A}.AnonymousAWSCredentialsProvider"
    if "access_key_id" in config:
        temporary = "session_token" in config or "token" in config
        return f"{_S3A}.{'Temporary' if temporary else 'Simple'}AWSCredentialsProvider"
    if "instance_credentials" in config:
        return f"{_S3A}.auth.IAMInstanceCredentialsProvider"
    return None


def _s3_access(
    known: str, scheme: str, where: Location, rest: str, settings: dict[str, str]
) -> HadoopAccess:
    del where
    if known != "s3a":
        # Another connector for s3://, which does not know the settings of this one.
        return HadoopAccess(f"{known}://{rest}", _uncached(settings, known))
    if settings:
        scheme = f"{known}-{_digest(settings)}"
        settings = _uncached(settings, "s3a", "s3")
    if scheme != known:
        # Clones refer to files by s3:// too.
        system = f"{_S3A}.S3AFileSystem"
        settings = {**settings, f"fs.{scheme}.impl": system, "fs.s3.impl": system}
    return HadoopAccess(f"{scheme}://{rest}", settings)


def _azure_settings(where: Location, config: Mapping[str, str]) -> dict[str, str]:
    host = _azure_host(where, config)
    found = {}
    account = "fs.azure.account"
    key = next(
        (config[n] for n in ("account_key", "access_key", "master_key") if n in config), None
    )
    token = next((config[n] for n in ("sas_token", "sas_key") if n in config), None)
    if key is not None:
        found = {f"{account}.auth.type.{host}": "SharedKey", f"{account}.key.{host}": key}
    elif token is not None:
        found = {
            f"{account}.auth.type.{host}": "SAS",
            f"fs.azure.sas.fixed.token.{host}": token.removeprefix("?"),
        }
    elif "client_id" in config:
        tenant = config.get("tenant_id") or config.get("authority_id", "")
        authority = config.get("authority_host", "https://login.microsoftonline.com").rstrip("/")
        found = {
            f"{account}.auth.type.{host}": "OAuth",
            f"{account}.oauth.provider.type.{host}": _AZURE_OAUTH,
            f"{account}.oauth2.client.id.{host}": config["client_id"],
            f"{account}.oauth2.client.secret.{host}": config.get("client_secret", ""),
            f"{account}.oauth2.client.endpoint.{host}": f"{authority}/{tenant}/oauth2/token",
        }
    return {**found, _ACCOUNT: host} if host else found


def _azure_host(where: Location, config: Mapping[str, str]) -> str:
    host = where.authority.partition("@")[2]
    if not host and "account_name" in config:
        return f"{config['account_name']}.dfs.core.windows.net"
    return host


def _azure_access(
    known: str, scheme: str, where: Location, rest: str, settings: dict[str, str]
) -> HadoopAccess | NoHadoopAccess:
    # Both come with one connector, and abfs without TLS is the user's choice.
    known = scheme if scheme in ("abfs", "abfss") else known
    host = settings.pop(_ACCOUNT, where.authority.partition("@")[2])
    if not host:
        return NoHadoopAccess(
            "the URL does not name the storage account",
            "Write abfss://container@account.dfs.core.windows.net/path.",
        )
    container, _, path = rest.partition("/")
    root = f"{known}://{container.partition('@')[0]}@{host}/{path}".rstrip("/")
    return HadoopAccess(root, _uncached(settings, "abfs", "abfss"))


def _google_settings(where: Location, config: Mapping[str, str]) -> dict[str, str]:
    del where
    found = {}
    names = ("service_account", "service_account_path", "application_credentials")
    key_file = next((config[name] for name in names if name in config), None)
    if key_file is not None:
        found["fs.gs.auth.type"] = "SERVICE_ACCOUNT_JSON_KEYFILE"
        found["fs.gs.auth.service.account.json.keyfile"] = key_file
    elif config.get("skip_signature", "").lower() == "true":
        found["fs.gs.auth.type"] = "UNAUTHENTICATED"
    elif "instance_credentials" in config:
        found["fs.gs.auth.type"] = "COMPUTE_ENGINE"
    return found


def _google_access(
    known: str, scheme: str, where: Location, rest: str, settings: dict[str, str]
) -> HadoopAccess:
    del scheme, where
    return HadoopAccess(f"{known}://{rest}", _uncached(settings, "gs"))


def _uncached(settings: dict[str, str], *schemes: str) -> dict[str, str]:
    """A connection for each use: slower, but not one with the settings of another use."""
    if not settings:
        return settings
    return {**settings, **{f"fs.{scheme}.impl.disable.cache": "true" for scheme in schemes}}


def _digest(settings: Mapping[str, str]) -> str:
    text = "\0".join(f"{key}\0{value}" for key, value in sorted(settings.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


_S3A = "org.apache.hadoop.fs.s3a"
_AZURE_OAUTH = "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider"
_ACCOUNT = "lakebed.account"
_S3_NAMES = {
    "access_key_id": "access.key",
    "secret_access_key": "secret.key",
    "session_token": "session.token",
    "token": "session.token",
    "region": "endpoint.region",
    "default_region": "endpoint.region",
    "endpoint": "endpoint",
    "endpoint_url": "endpoint",
    "aws_endpoint_url_s3": "endpoint",
}
_HARMLESS = frozenset(
    {
        *("timeout", "connect_timeout", "read_timeout", "pool_idle_timeout", "user_agent"),
        *("pool_max_idle_per_host", "http1_only", "http2_only", "randomize_addresses"),
        *("conditional_put", "disable_tagging", "checksum_algorithm", "unsigned_payload"),
        *("copy_if_not_exists", "disable_bulk_delete", "allow_http", "default_content_type"),
    }
)
"""What makes no difference to which objects are read and written."""
_CONNECTORS = {
    "s3": _Connector(
        "s3",
        ("s3a", "s3"),
        frozenset(
            {*_S3_NAMES, "virtual_hosted_style_request", "skip_signature", "instance_credentials"}
        ),
        _s3_settings,
        _s3_access,
    ),
    "az": _Connector(
        "azure",
        ("abfss", "abfs"),
        frozenset(
            {
                *("account_name", "account_key", "access_key", "master_key", "sas_token"),
                *("sas_key", "client_id", "client_secret", "tenant_id", "authority_id"),
                "authority_host",
            }
        ),
        _azure_settings,
        _azure_access,
    ),
    "gs": _Connector(
        "gcs",
        ("gs",),
        frozenset(
            {
                *("service_account", "service_account_path", "application_credentials"),
                *("skip_signature", "instance_credentials"),
            }
        ),
        _google_settings,
        _google_access,
    ),
}
