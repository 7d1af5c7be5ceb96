"""obstore's exceptions as Lakebed's errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from lakebed.errors import (
    InvalidArgumentError,
    LakebedError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
    StoreNotSafeError,
)
from lakebed.storage.obstore_library import Library


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
_UNKNOWN = "501 Not Implemented"


def _translate(library: Library, error: Exception, action: str, url: str) -> LakebedError:
    text = reason(error)
    failed = f"cannot {action} {url}: {text}"
    if isinstance(error, library.errors.AlreadyExistsError):
        return ObjectExistsError(f"{url} exists already")
    if isinstance(error, FileNotFoundError):
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
    return StorageError(failed, hint=_hint(library, error, text))


def _missing(action: str, url: str, text: str) -> StorageError:
    no_bucket = "NoSuchBucket" in text or "ContainerNotFound" in text
    if no_bucket or action in ("create", "write"):
        return StorageError(
            f"cannot {action} {url}: {text}", hint="Check that the bucket or container exists."
        )
    return ObjectNotFoundError(f"there is no object {url}")


def _hint(library: Library, error: Exception, text: str) -> str | None:
    refused = (library.errors.PermissionDeniedError, library.errors.UnauthenticatedError)
    if isinstance(error, refused) or "credential" in text.lower():
        return "Check the credentials in storage_options or the environment, and their rights."
    if "builder error" in text:
        return "An http:// endpoint needs the storage option allow_http=true."
    if "error sending request" in text:
        return "The store cannot be reached: check the endpoint, the region and the network."
    return None
