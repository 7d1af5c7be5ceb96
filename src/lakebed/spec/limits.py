"""What Lakebed accepts at most, so that no file, log or statement takes time or memory without end.

No honest table meets these numbers. Whatever goes beyond one is refused with a Lakebed error.
docs/limits.md lists them; a test compares the page with this module.
"""

from __future__ import annotations

from typing import Final

FILE_ROWS: Final = 2**31
"""Rows of a data file that a deletion vector may mark, and that the change feed may derive."""

DATA_FILE_BYTES: Final = 2**44
"""The `size` of a data file that Spark is to read: it makes a task for each 128 MB of it."""

SMALLEST_FILE_BYTES: Final = 12
"""No Parquet file is smaller: with a `size` below, Spark would read no row and say nothing."""

CHECKED_FILES: Final = 500_000
"""Files of untrusted tables on object stores whose right sizes are remembered: 100 bytes each."""

HINT_BYTES: Final = 8 << 20
"""Bytes of `_last_checkpoint`. A larger one is not read; the log is listed instead."""

CHECKPOINT_PARTS: Final = 100_000
"""Parts of one checkpoint that `_last_checkpoint` may name; else the log is listed instead."""

MISSING_VERSIONS: Final = 10
"""Missing versions that an error lists. The search for gaps ends there."""

CATALOG_NAME: Final = 255
"""Characters in the name of a table or schema in an embedded catalog."""
