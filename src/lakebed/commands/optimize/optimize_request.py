"""What OPTIMIZE and REORG are asked for, and what the session and the table say about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lakebed.settings.setting_table import (
    OPTIMIZE_BATCH_SIZE,
    OPTIMIZE_LOCAL_BYTES,
    OPTIMIZE_MAX_DELETED,
    OPTIMIZE_MAX_FILE_SIZE,
    OPTIMIZE_MAX_THREADS,
    OPTIMIZE_MIN_FILE_SIZE,
)
from lakebed.spec.iceberg_compat import IcebergCompat
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import Path

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
        sizes = self.sizes
        target = properties.target_file_size
        most = target or OPTIMIZE_MAX_FILE_SIZE.read(settings) or sizes.max_file
        least = OPTIMIZE_MIN_FILE_SIZE.read(settings) or most
        deleted = OPTIMIZE_MAX_DELETED.read(settings)
        return replace(
            self,
            sizes=Sizes(least, most, sizes.max_deleted if deleted is None else deleted),
            batch_bytes=OPTIMIZE_BATCH_SIZE.read(settings) or self.batch_bytes,
            threads=OPTIMIZE_MAX_THREADS.read(settings) or self.threads,
        )


def local_bytes(settings: Mapping[str, str], *, is_connect: bool) -> int:
    """Up to how many bytes of files are put in order by this process; 0 is never.

    A client of Spark Connect may be far away from the files.
    """
    given = OPTIMIZE_LOCAL_BYTES.read(settings)
    if given is not None:
        return given
    return _LOCAL_OF_CLIENTS if is_connect else _LOCAL
