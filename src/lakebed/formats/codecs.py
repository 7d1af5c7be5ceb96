"""Names of Parquet's codecs, as properties of tables have them and as pyarrow does."""

from __future__ import annotations

# pyarrow's "lz4" is LZ4_RAW in Parquet.
_ARROW = {"uncompressed": "none", "lz4_raw": "lz4"}


def arrow_codec(codec: str) -> str:
    """pyarrow's name for a value of `delta.parquet.compression.codec`."""
    name = codec.lower()
    return _ARROW.get(name, name)
