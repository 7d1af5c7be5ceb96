"""Clients for one bucket, made at first use and again after a fork.

There are two, because of what a retry means. Reads and plain puts may be repeated by the client
at will. A conditional put may not: if the answer to the first try is lost, the second one finds
the first one's object and reports somebody else's. Its client never retries, so that "exists
already" is always true, and whoever commits decides what to do about a lost answer.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from lakebed.errors import StorageUrlError
from lakebed.storage.locations import Location
from lakebed.storage.obstore.credentials import require_credentials, require_whole_pairs
from lakebed.storage.obstore.obstore_errors import reason
from lakebed.storage.obstore.obstore_library import Library, installed_library, library
from lakebed.storage.options import Options

Settings = Mapping[str, Any]

CREATE_TIMEOUT = "2min"
"""A commit is one request, however large; obstore's 30 s would cut off a slow upload of 500 MB."""


class Clients(NamedTuple):
    library: Library
    retrying: Any
    once: Any


class Connection:
    """The clients of one bucket or container."""

    def __init__(self, location: Location, options: Options) -> None:
        self._location = location.root
        self._options = options
        self._clients: Clients | None = None
        self.place = (self._location, *options.endpoints(self._location.scheme), *_environment())

    @property
    def is_safe(self) -> bool | None:
        """Whether the store refuses to create what exists, as far as this process knows."""
        return _verdicts.get(self.place)

    @is_safe.setter
    def is_safe(self, verdict: bool) -> None:
        _verdicts[self.place] = verdict

    @property
    def single_writer(self) -> bool:
        return self._options.single_writer

    def clients(self) -> Clients:
        current, clients = library(), self._clients
        if clients is not None and clients.library is current:
            return clients
        if clients is not None:
            # Inherited by a fork, and kept: to drop one is to talk to the parent's runtime.
            _inherited.append(clients)
        self._clients = self._open(current)
        return self._clients

    def __getstate__(self) -> Settings:
        return {**self.__dict__, "_clients": None}

    def _open(self, current: Library) -> Clients:
        require_whole_pairs(self._location, self._options)
        scheme = self._location.scheme
        client = {**_http_allowed(scheme), **self._options.client(scheme)}
        retry = _retry(self._options)
        patient = {"timeout": CREATE_TIMEOUT, **client}
        try:
            retrying = self._client(current, client, retry)
            once = self._client(current, patient, {**retry, "max_retries": 0})
        except (current.errors.BaseError, OSError, ValueError, TypeError) as error:
            raise StorageUrlError(
                f"cannot open {self._location.url}: {reason(error)}",
                hint="Check storage_options and the provider's environment variables.",
            ) from error
        require_credentials(self._location, self._options)
        return Clients(current, retrying, once)

    def _client(self, current: Library, client: Settings, retry: Settings) -> Any:
        location = self._location
        config = self._options.config(location.scheme)
        arguments = {"config": config, "client_options": client, "retry_config": retry}
        if location.scheme == "s3":
            return current.stores.S3Store(location.authority, **arguments)
        if location.scheme == "gs":
            if config.get("skip_signature") == "true" and not _has_key(config):
                # obstore skips signatures only when it reads, and asks the metadata address else.
                config["service_account_key"] = _NO_ACCOUNT
            return current.stores.GCSStore(location.authority, **arguments)
        return current.stores.AzureStore.from_url(location.url, **arguments)


class MemoryConnection:
    """Objects of this process: whoever opens the same name gets the same objects."""

    is_safe: bool | None = True
    single_writer = False

    def __init__(self, name: str) -> None:
        self._name = name
        self.place = ("memory", name)

    def clients(self) -> Clients:
        found = _memories.get(self._name)
        if found is None:
            # No requests, so no threads: the installed library serves after a fork too.
            current = installed_library()
            store = current.stores.MemoryStore()
            found = _memories.setdefault(self._name, Clients(current, store, store))
        return found


def _has_key(config: Settings) -> bool:
    return any(name in config for name in _GOOGLE_KEYS)


_GOOGLE_KEYS = (
    *("service_account", "service_account_path", "service_account_key"),
    *("application_credentials", "bearer_token"),
)
_NO_ACCOUNT = '{"disable_oauth": true, "client_email": "", "private_key": "", "private_key_id": ""}'
_inherited: list[Clients] = []
_memories: dict[str, Clients] = {}
_verdicts: dict[tuple[object, ...], bool] = {}
"""By bucket and endpoint. A fork inherits it: the server is the same."""


def _environment() -> tuple[str | None, ...]:
    """Where obstore finds an endpoint that no option gives."""
    return tuple(os.environ.get(name) for name in _ENDPOINTS)


_ENDPOINTS = (
    *("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"),
    *("AZURE_ENDPOINT", "AZURE_STORAGE_ENDPOINT", "AZURITE_BLOB_STORAGE_URL", "GOOGLE_BASE_URL"),
)


def _http_allowed(scheme: str) -> dict[str, str]:
    """obstore takes all else from the environment by itself."""
    prefix = {"s3": "AWS", "az": "AZURE", "gs": "GOOGLE"}[scheme]
    found = os.environ.get(f"{prefix}_ALLOW_HTTP")
    return {} if found is None else {"allow_http": found}


def _retry(options: Options) -> dict[str, Any]:
    given = {"max_retries": options.max_retries, "retry_timeout": options.retry_timeout}
    return {name: value for name, value in given.items() if value is not None}
