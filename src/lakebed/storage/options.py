"""`storage_options` under the names that users know from delta-rs, obstore and the environment.

Names are case-insensitive, with the provider's prefix or without (`AWS_REGION`, `aws_region`,
`region`). One set of options may serve several providers: each takes what it knows. A name that
no provider knows is an error, because a misspelt credential is found out much later otherwise.
Values never appear in a message: they are secrets.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from lakebed.errors import StorageUrlError
from lakebed.settings.value_kinds import SWITCH
from lakebed.storage.durability import (
    DEFAULT,
    Durability,
    from_environment,
    parse_durability,
)
from lakebed.storage.file_references import (
    EXTERNAL_PATHS,
    UNTRUSTED,
    References,
    external_locations,
)
from lakebed.storage.locations import Location


@dataclass(frozen=True)
class Options:
    """Checked options by kind of store, under obstore's own names."""

    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    max_retries: int | None = None
    retry_timeout: timedelta | None = None
    durability: Durability = DEFAULT
    instance_credentials: bool = False
    """Whether the metadata address of a cloud machine may be asked for credentials."""

    single_writer: bool = False
    """Whether a store may be used that cannot decide between two writers."""

    external_paths: frozenset[Location] | None = frozenset()
    untrusted: bool = False

    @property
    def references(self) -> References:
        return References(self.external_paths, self.untrusted)

    def config(self, kind: str) -> dict[str, str]:
        """What is the provider's own: credentials, region, endpoint."""
        return {k: v for k, v in self.configs.get(kind, {}).items() if k not in _CLIENT_NAMES}

    def endpoints(self, kind: str) -> tuple[str | None, ...]:
        """What decides which server it is, apart from the bucket's name."""
        config = self.configs.get(kind, {})
        return tuple(config.get(name) for name in _SERVER_NAMES)

    def client(self, kind: str) -> dict[str, str]:
        """What concerns HTTP; obstore takes it apart from the rest."""
        return {k: v for k, v in self.configs.get(kind, {}).items() if k in _CLIENT_NAMES}


def parse_options(raw: Mapping[str, Any] | None) -> Options:
    configs: dict[str, dict[str, str]] = {kind: {} for kind in _PROVIDERS}
    own: dict[str, Any] = {}
    for key, value in (raw or {}).items():
        name = _name(key)
        if name in _OWN:
            own[name] = _OWN[name](name, value)
        elif name not in _IGNORED:
            _distribute(configs, name, _text(name, value))
    chosen = from_environment()
    if "durability" not in own and chosen is not None:
        own["durability"] = chosen
    return Options(configs, **own)


def is_storage_option(key: str) -> bool:
    """Whether `parse_options` takes an option of this name, where others may stand beside it."""
    name = key.lower()
    return name in _OWN or any(provider.known(name) for provider in _PROVIDERS.values())


def known_name(kind: str, name: str) -> str | None:
    """The name of an option of a kind of store, without its prefix."""
    return _PROVIDERS[kind].known(name)


class _Provider:
    def __init__(self, prefixes: tuple[str, ...], names: str) -> None:
        self.prefixes = prefixes
        self.names = frozenset(names.split())

    def known(self, name: str) -> str | None:
        """The name without its prefix, if this provider has such an option."""
        for prefix in ("", *self.prefixes):
            if name.startswith(prefix) and name[len(prefix) :] in self.names:
                return name[len(prefix) :]
        return None

    def spellings(self) -> Iterable[str]:
        return (prefix + name for prefix in ("", *self.prefixes) for name in self.names)


_CLIENT = """
    allow_http allow_invalid_certificates connect_timeout default_content_type http1_only http2_only
    http2_keep_alive_interval http2_keep_alive_timeout http2_keep_alive_while_idle
    pool_idle_timeout pool_max_idle_per_host proxy_url proxy_ca_certificate proxy_excludes
    randomize_addresses read_timeout timeout user_agent
"""
_CLIENT_NAMES = frozenset(_CLIENT.split())
_SERVER_NAMES = (
    *("endpoint", "endpoint_url", "aws_endpoint_url_s3", "base_url", "conditional_put"),
    *("account_name", "use_emulator", "use_fabric_endpoint", "proxy_url"),
)
_PROVIDERS = {
    "s3": _Provider(
        ("aws_",),
        _CLIENT
        + """
        access_key_id secret_access_key session_token token region default_region endpoint
        endpoint_url endpoint_url_s3 virtual_hosted_style_request conditional_put skip_signature
        unsigned_payload checksum_algorithm request_payer s3_express disable_tagging
        disable_bulk_delete copy_if_not_exists imdsv1_fallback metadata_endpoint role_arn
        role_session_name web_identity_token_file container_credentials_relative_uri
        container_credentials_full_uri container_authorization_token_file server_side_encryption
        sse_kms_key_id sse_bucket_key_enabled sse_customer_key_base64
        """,
    ),
    "gs": _Provider(
        ("google_",),
        _CLIENT
        + """
        service_account service_account_path service_account_key application_credentials
        bearer_token base_url skip_signature
        """,
    ),
    "az": _Provider(
        ("azure_storage_", "azure_"),
        _CLIENT
        + """
        account_name account_key access_key master_key sas_key sas_token token bearer_token
        client_id client_secret tenant_id authority_id authority_host credential_type endpoint
        msi_endpoint identity_endpoint object_id msi_resource_id federated_token_file
        use_azure_cli use_emulator use_fabric_endpoint skip_signature disable_tagging
        encryption_key fabric_token_service_url fabric_workload_host fabric_session_token
        fabric_cluster_identifier
        """,
    ),
}
# obstore knows this one only with its prefix.
_RENAMED = {"endpoint_url_s3": "aws_endpoint_url_s3"}
# Commits are conditional puts here, so nothing is renamed, safely or not.
_IGNORED = {"aws_s3_allow_unsafe_rename", "s3_allow_unsafe_rename"}
_IN_THE_URL = "The URL already says it: leave the option out."
_REFUSED = {
    "aws_s3_locking_provider": "Writers that coordinate through a lock table overwrite commits "
    "made by conditional put. Move every writer of the table to conditional puts.",
    **{
        prefix + name: _IN_THE_URL
        for prefix in ("", "aws_", "google_", "azure_", "azure_storage_")
        for name in ("bucket", "bucket_name", "container_name")
    },
}


def _name(key: Any) -> str:
    if not isinstance(key, str):
        raise StorageUrlError(f"the storage option {key!r} is not a name")
    return key.lower()


def _distribute(configs: dict[str, dict[str, str]], name: str, value: str) -> None:
    if name in _REFUSED:
        raise StorageUrlError(f"the storage option {name!r} has no place here", hint=_REFUSED[name])
    takers = {kind: known for kind, p in _PROVIDERS.items() if (known := p.known(name))}
    if not takers:
        raise _unknown(name)
    for kind, known in takers.items():
        configs[kind][_RENAMED.get(known, known)] = value


def _unknown(name: str) -> StorageUrlError:
    spellings = {s for p in _PROVIDERS.values() for s in p.spellings()} | set(_OWN)
    close = difflib.get_close_matches(name, sorted(spellings), n=1)
    guess = f"Did you mean {close[0]!r}?" if close else "Options are named as in delta-rs."
    return StorageUrlError(f"the storage option {name!r} is unknown", hint=guess)


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value}s" if name.endswith(("timeout", "interval")) else str(value)
    if isinstance(value, timedelta):
        return f"{int(value.total_seconds() * 1000)}ms"
    if isinstance(value, str):
        if not name.endswith(_OF_LINES) and _CONTROL.search(value):
            raise _unusable(name, "text without line breaks and other control characters")
        if name.endswith(_ADDRESSES) and "@" in value:
            raise _unusable(name, "an address without a user and a password, which are options")
        return value
    raise _unusable(name, "text, a number or a bool")


def _unusable(name: str, wanted: str) -> StorageUrlError:
    return StorageUrlError(f"the storage option {name!r} has a wrong value", hint=f"Give {wanted}.")


def _count(name: str, value: Any) -> int:
    text = _text(name, value)
    if not text.isdecimal():
        raise _unusable(name, "a whole number")
    return int(text)


def _duration(name: str, value: Any) -> timedelta:
    match = _DURATION.fullmatch(_text(name, value))
    if match is None:
        raise _unusable(name, "seconds, or a text such as '500ms', '30s' or '3min'")
    return float(match[1]) * _UNITS[match[2] or "s"]


def durability_of(name: str, value: Any) -> Durability:
    try:
        return parse_durability(_text(name, value))
    except ValueError as error:
        raise _unusable(name, "'none', 'log' or 'all'") from error


def _switch(name: str, value: Any) -> bool:
    try:
        return SWITCH.parse(_text(name, value))
    except ValueError as error:
        raise _unusable(name, SWITCH.allowed) from error


_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m)?")
# Keys and certificates, which have lines.
_OF_LINES = ("service_account", "service_account_key", "proxy_ca_certificate")
_ADDRESSES = ("endpoint", "endpoint_url", "endpoint_url_s3", "base_url", "authority_host")
_CONTROL = re.compile(r"[\0-\x1f\x7f]")
_UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "min": timedelta(minutes=1),
}
_OWN: dict[str, Callable[[str, Any], Any]] = {
    "max_retries": _count,
    "retry_timeout": _duration,
    "durability": durability_of,
    "single_writer": _switch,
    "instance_credentials": _switch,
    EXTERNAL_PATHS: lambda _, value: external_locations(value),
    UNTRUSTED: _switch,
}
