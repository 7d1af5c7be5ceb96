"""obstore's exceptions as Lakebed's errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from lakebed.errors import (
    BucketNotFoundError,
    InvalidArgumentError,
    LakebedError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
    StoreCredentialsError,
    StoreNotSafeError,
)
from lakebed.storage.obstore.obstore_library import Library


@contextmanager
def translated(library: Library, action: str, url: str) -> Iterator[None]:
    try:
        yield
    except (library.errors.BaseError, OSError, ValueError, NotImplementedError) as error:
        raise _translate(library, error, action, url) from error


def reason(error: BaseException) -> str:
    """The first part of obstore's text; the rest is a dump of its structures."""
    text = str(error).partition("\n\nDebug source")[0]
    # Queries of Azure carry the signature of a shared access token.
    text = re.sub(r"(https?://[^\s?]+)\?\S+", r"\1?...", text)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


_LONGEST = 600
_NO_BUCKET = re.compile("NoSuchBucket|ContainerNotFound|The specified bucket does not exist")
_UNKNOWN = "501 Not Implemented"


def _translate(library: Library, error: Exception, action: str, url: str) -> LakebedError:
    text = reason(error)
    failed = f"cannot {action} {url}: {text}"
    if isinstance(error, library.errors.AlreadyExistsError):
        return ObjectExistsError(f"{url} exists already")
    if isinstance(error, FileNotFoundError) or _NO_BUCKET.search(text):
        return _missing(action, url, text)
    if action == "create" and (isinstance(error, NotImplementedError) or _UNKNOWN in text):
        return StoreNotSafeError(
            f"{failed}: the store has no conditional puts",
            hint="Use a server that implements conditional puts (If-None-Match).",
        )
    if isinstance(error, UnicodeError) or "parse path" in text:
        return InvalidArgumentError(
            failed, hint="Names in object stores are Unicode without control characters."
        )
    refused = (library.errors.PermissionDeniedError, library.errors.UnauthenticatedError)
    if isinstance(error, refused) or "credential" in text.lower() or _REFUSED.search(text):
        return StoreCredentialsError(
            f"{url} refused to {action}: {text}",
            hint="Check the credentials and their rights: the storage options "
            f"{_OPTIONS.get(url.partition('://')[0], _OPTIONS['abfss'])}, settings of Hadoop "
            "(spark.hadoop.fs...) or the environment.",
        )
    return StorageError(failed, hint=_hint(text))


def _missing(action: str, url: str, text: str) -> StorageError:
    if _NO_BUCKET.search(text) or action in ("create", "write"):
        return BucketNotFoundError(
            f"cannot {action} {url}: {text}",
            hint="Create the bucket or container first, or correct its name, the endpoint or the "
            "region.",
        )
    return ObjectNotFoundError(f"there is no object {url}")


_REFUSED = re.compile(r"InvalidAccessKeyId|SignatureDoesNotMatch|AuthenticationFailed|ExpiredToken")
_OPTIONS = {
    "s3": "aws_access_key_id, aws_secret_access_key and aws_session_token",
    "gs": "google_service_account",
    "abfss": "azure_storage_account_key or azure_storage_sas_token",
}


def _hint(text: str) -> str | None:
    if "builder error" in text:
        return "An http:// endpoint needs the storage option allow_http=true."
    if "error sending request" in text:
        return "The store cannot be reached: check the endpoint, the region and the network."
    return None
