"""The versions of Spark that Lakebed knows, and what differs between them in its Java classes."""

from __future__ import annotations

from lakebed.errors import UnsupportedSparkError

KNOWN = ((4, 0), (4, 1), (4, 2), (4, 3))
"""Versions whose internals were looked at, and that the tests run on."""

_COMMON = "all_versions"
_SINCE = {(4, 0): "spark_4_0", (4, 1): "spark_4_1"}
"""Folders of Java sources by the first version that they are for."""


def parsed(version: str) -> tuple[int, int]:
    major, minor, *_ = version.split(".")
    return int(major), int(minor)


def source_folders(version: str) -> tuple[str, str]:
    """The folders of Java sources for a version of Spark."""
    given = parsed(version)
    if given < KNOWN[0]:
        raise UnsupportedSparkError(
            f"Lakebed needs Spark {_shown(KNOWN[0])} or newer, and this is Spark {version}",
            hint=f"pip install 'pyspark>={_shown(KNOWN[0])},<{KNOWN[-1][0]}.{KNOWN[-1][1] + 1}'",
        )
    newest = max(each for each in _SINCE if each <= given)
    return _COMMON, _SINCE[newest]


def _shown(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
