"""What OPTIMIZE and REORG are asked for, and what the session and the table say about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lakebed.errors import InvalidArgumentError
from lakebed.spec.iceberg_compat import IcebergCompat
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import Path

_DELTA = "spark.databricks.delta."
MIN_FILE_SIZE = f"{_DELTA}optimize.minFileSize"
MAX_FILE_SIZE = f"{_DELTA}optimize.maxFileSize"
MAX_DELETED = f"{_DELTA}optimize.maxDeletedRowsRatio"
BATCH_SIZE = f"{_DELTA}optimize.batchSize"
MAX_THREADS = f"{_DELTA}optimize.maxThreads"
CHECK_STATISTICS = f"{_DELTA}optimize.zorder.checkStatsCollection.enabled"
LOCAL_BYTES = "spark.lakebed.optimize.localBytes"
DEFAULT_BATCH = 10 << 30
_LOCAL, _LOCAL_OF_CLIENTS = 256 << 20, 32 << 20
_GIGABYTE = 1 << 30


@dataclass(frozen=True)
class Sizes:
    """Files below `min_file` bytes are put together up to `max_file` bytes, as are those with a
    greater share of deleted rows than `max_deleted`."""

    min_file: int = _GIGABYTE
    max_file: int = _GIGABYTE
    max_deleted: float = 0.05


@dataclass(frozen=True)
class OptimizeRequest:
    """`zorder_by` arranges rows, `purge` rewrites only files with deleted rows, `iceberg` only
    those that this version does not allow. `full` clusters also what is clustered. `is_auto` is
    compaction after a write."""

    where: str | None = None
    where_values: tuple[Any, ...] = ()
    """Of the parameters in it, in the order of their markers."""
    zorder_by: tuple[Path, ...] = ()
    full: bool = False
    purge: bool = False
    iceberg: IcebergCompat | None = None
    is_auto: bool = False
    sizes: Sizes = field(default_factory=Sizes)
    batch_bytes: int = DEFAULT_BATCH
    min_files: int = 2
    """Only partitions with so many files that are worth it."""
    threads: int = 8

    @property
    def is_reorg(self) -> bool:
        """Whether it is about what is in files, not about how rows are arranged."""
        return self.purge or self.iceberg is not None

    def with_settings(
        self, settings: Mapping[str, str], properties: TableProperties
    ) -> OptimizeRequest:
        """With the sizes that the table asks for, else the session."""
        target = properties.target_file_size
        most = target or number(settings, MAX_FILE_SIZE, self.sizes.max_file)
        least = number(settings, MIN_FILE_SIZE, most)
        sizes = Sizes(least, most, _share(settings, MAX_DELETED, self.sizes.max_deleted))
        return replace(
            self,
            sizes=sizes,
            batch_bytes=number(settings, BATCH_SIZE, self.batch_bytes),
            threads=number(settings, MAX_THREADS, self.threads),
        )


def local_bytes(settings: Mapping[str, str], *, is_connect: bool) -> int:
    """Up to how many bytes of files are put in order by this process; 0 is never.

    A client of Spark Connect may be far away from the files.
    """
    if settings.get(LOCAL_BYTES) == "0":
        return 0
    return number(settings, LOCAL_BYTES, _LOCAL_OF_CLIENTS if is_connect else _LOCAL)


def number(settings: Mapping[str, str], key: str, default: int) -> int:
    text = settings.get(key)
    if text is None:
        return default
    unit = next((name for name in _UNITS if text.lower().endswith(name)), "")
    digits = text[: len(text) - len(unit)].strip()
    if not digits.isdigit() or int(digits) < 1:
        raise InvalidArgumentError(f"{key} is {text!r}", hint="set it to a number from 1 on")
    return int(digits) * _UNITS.get(unit, 1)


def _share(settings: Mapping[str, str], key: str, default: float) -> float:
    text = settings.get(key)
    try:
        found = default if text is None else float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise InvalidArgumentError(f"{key} is {text!r}", hint="set it to a number from 0 to 1")
    return found


_UNITS = {"kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
