"""Which files the log of a table may refer to (PROTOCOL: Add File and Remove File, `path`).

A path of the log is data that somebody wrote. What is below the table's folder is its own, however
it is spelled. What is elsewhere is read with the credentials of the user: a shallow clone needs
that for the files of its source, and a table from a stranger must not get it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lakebed.errors import ExternalPathError, InvalidArgumentError
from lakebed.settings.setting_table import EXTERNAL_PATHS as EXTERNAL_SETTING
from lakebed.storage.locations import Location, parse_location

EXTERNAL_PATHS = "external_paths"
UNTRUSTED = "untrusted"
ALLOW = "allow"
_WITHOUT_CREDENTIALS = ("file", "memory")


@dataclass(frozen=True)
class References:
    """What the user says of references that leave the table's folder.

    `external` are the other buckets that they may lead to, besides the table's own; None: to all.
    An `untrusted` table may have none.
    """

    external: frozenset[Location] | None = frozenset()
    untrusted: bool = False

    def check(self, home: Location, target: Location, uri: str) -> None:
        """Refuses a reference out of the folder `home`."""
        if self.untrusted:
            raise ExternalPathError(
                f"the log of {home.url} refers to {uri!r}, outside of the table's folder",
                hint="the table was opened as untrusted; open it without that if you trust it",
            )
        if target.root == home.root or self.external is None or target.root in self.external:
            return
        if home.scheme in _WITHOUT_CREDENTIALS and target.scheme in _WITHOUT_CREDENTIALS:
            return
        root = target.root.url.rstrip("/")
        raise ExternalPathError(
            f"the log of {home.url} refers to {uri!r}, in another store than the table",
            hint=f"if you trust the table, name {root!r} in external_paths of the storage options,"
            f" or in the setting {EXTERNAL_SETTING.name}",
        )


def external_locations(value: Any) -> frozenset[Location] | None:
    """`allow`, or buckets as URLs, separated by commas or as a list; None for all."""
    if isinstance(value, str):
        value = value.split(",")
    if isinstance(value, Mapping) or not isinstance(value, Sequence | set | frozenset):
        raise InvalidArgumentError(
            f"{EXTERNAL_PATHS}={value!r} names no stores",
            hint=f"give {ALLOW!r}, or URLs such as 's3://bucket,abfss://container@account.host'",
        )
    texts = [str(each).strip() for each in value]
    if ALLOW in (each.lower() for each in texts):
        return None
    return frozenset(_location(each) for each in texts if each)


def _location(url: str) -> Location:
    if _URL.match(url) is None:
        raise InvalidArgumentError(
            f"{EXTERNAL_PATHS} has {url!r}, which is not the URL of a store",
            hint="give a URL such as 's3://bucket'",
        )
    return parse_location(url if "/" in url.partition("://")[2] else f"{url}/").root


_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
