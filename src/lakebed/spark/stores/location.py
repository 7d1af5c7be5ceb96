"""Where a table is: the path that a user gave, for Lakebed's stores and for Hadoop."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from urllib.parse import unquote

from pyspark.sql import SparkSession

from lakebed.settings.setting_table import DURABILITY
from lakebed.spark.stores.store_options import storage_options
from lakebed.storage import open_store
from lakebed.storage.durability import Durability
from lakebed.storage.local import LocalStore
from lakebed.storage.store import Store


def open_location(
    session: SparkSession, path: str, options: Mapping[str, str]
) -> tuple[Store, str]:
    """The store of a table, and the folder as Hadoop names it."""
    url = as_url(path)
    given = storage_options(session, url, options)
    store = open_store(url, given or None)
    if isinstance(store, LocalStore) and "durability" not in given:
        store.choose_durability(partial(_durability, session, store.durability))
    return store, hadoop_root(path, store.url)


def _durability(session: SparkSession, default: Durability) -> Durability:
    """By the session, which reads of local tables never ask."""
    chosen = DURABILITY.of(session)
    return default if chosen is None else Durability(chosen)


def hadoop_root(location: str, url: str) -> str:
    """The folder of the table for Hadoop: a URI whose characters are not escaped.

    The scheme stays as the user gave it: Hadoop knows s3a where others say s3.
    """
    scheme, _, rest = url.partition("://")
    given = _SCHEME.match(location)
    chosen = given[1] if given else scheme
    return f"{chosen}://{unquote(rest, errors='surrogateescape')}".rstrip("/")


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):/")


def as_url(location: str) -> str:
    """Spark takes paths letter by letter; in a URL a percent sign would begin an escape."""
    return location.replace("%", "%25") if _SCHEME.match(location) else location
