"""Whether a provider is given credentials, before a request is made.

Without any, obstore asks the metadata address of cloud machines for those of the machine. Elsewhere
that address does not answer, which takes minutes, and where it does, the rights are those of the
machine and not of the user. So it is asked only if `instance_credentials` is true, or if an option
or a variable is given that means nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lakebed.errors import StoreCredentialsError
from lakebed.storage.locations import Location
from lakebed.storage.options import Options, known_name

INSTANCE = "instance_credentials"


@dataclass(frozen=True)
class _CredentialOptions:
    """Each of `complete` is enough; `pairs` need one another. All are names without a prefix."""

    complete: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    missing: str


_CREDENTIALS = {
    "s3": _CredentialOptions(
        (
            "skip_signature",
            "web_identity_token_file",
            "container_credentials_relative_uri",
            "container_credentials_full_uri",
            "metadata_endpoint",
            "imdsv1_fallback",
        ),
        (("access_key_id", "secret_access_key"),),
        "aws_access_key_id and aws_secret_access_key, or skip_signature=true for a public bucket",
    ),
    "az": _CredentialOptions(
        (
            "account_key",
            "access_key",
            "master_key",
            "sas_key",
            "sas_token",
            "token",
            "bearer_token",
            "federated_token_file",
            "use_azure_cli",
            "use_emulator",
            "skip_signature",
            "msi_endpoint",
            "identity_endpoint",
            "object_id",
            "msi_resource_id",
            "credential_type",
            "fabric_session_token",
        ),
        (("client_id", "client_secret"),),
        "azure_storage_account_key or azure_storage_sas_token, or skip_signature=true for a public "
        "container",
    ),
    "gs": _CredentialOptions(
        (
            "service_account",
            "service_account_path",
            "service_account_key",
            "application_credentials",
            "bearer_token",
            "skip_signature",
        ),
        (),
        "google_service_account (the path of a key file), or skip_signature=true for a public "
        "bucket",
    ),
}
_GOOGLE_USER = Path(".config", "gcloud", "application_default_credentials.json")


def require_whole_pairs(location: Location, options: Options) -> None:
    """`StoreCredentialsError` if a name is given without its secret, or the other way round."""
    known = _CREDENTIALS.get(location.scheme)
    if known is None:
        return
    given = _given(location.scheme, options.config(location.scheme))
    for pair in known.pairs:
        absent = [name for name in pair if not given.get(name)]
        if len(absent) == 1:
            raise StoreCredentialsError(
                f"the credentials for {location.root.url} are incomplete: {absent[0]} is missing",
                hint=f"Set the storage option {_PREFIXES[location.scheme]}{absent[0]} too.",
            )


def require_credentials(location: Location, options: Options) -> None:
    """`StoreCredentialsError` if there are none."""
    known = _CREDENTIALS.get(location.scheme)
    if known is None or options.instance_credentials:
        return
    given = _given(location.scheme, options.config(location.scheme))
    if any(given.get(name, "").lower() not in ("", "false") for name in known.complete):
        return
    if any(given.get(name) for pair in known.pairs for name in pair):
        return
    if location.scheme == "gs" and (Path.home() / _GOOGLE_USER).is_file():
        return
    raise StoreCredentialsError(
        f"there are no credentials for {location.root.url}",
        hint=f"Set the storage options {known.missing}. For those of the machine that this runs "
        f"on, set {INSTANCE}=true.",
    )


_PREFIXES = {"s3": "aws_", "az": "azure_", "gs": "google_"}


def _given(kind: str, config: Mapping[str, str]) -> dict[str, str]:
    """Options, and what obstore takes from the environment where there is no option."""
    variables = {}
    for name, value in os.environ.items():
        known = known_name(kind, name.lower())
        if known is not None and (name.startswith(_PREFIXES[kind].upper()) or kind == "gs"):
            variables[known] = value
    return {**variables, **config}
