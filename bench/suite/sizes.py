"""How much is measured: in minutes, in an hour or more, or only whether everything runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    name: str
    minutes: float
    """When this is over no further case begins."""
    scales: tuple[float, ...]
    """Scale factors of TPC-H, growing; the last one counts."""
    query_rounds: int
    loads: int
    """How often the last scale is loaded."""
    rounds: int
    warm_up: int
    merge_rows: tuple[int, ...]
    merge_fractions: tuple[float, ...]
    log_lengths: tuple[int, ...]
    appends: int
    writers: tuple[int, ...]
    file_counts: tuple[int, ...]
    vector_rows: int
    dead_shares: tuple[float, ...]
    small_files: tuple[int, ...]
    zorder_rows: tuple[int, ...]
    stream_batches: int
    stream_rows: int
    stream_files: int
    stream_commits: int
    job_seconds: float
    """A job that takes longer is ended."""


TINY = Sizes(
    name="tiny",
    minutes=15,
    scales=(0.01,),
    query_rounds=1,
    loads=1,
    rounds=1,
    warm_up=1,
    merge_rows=(5_000, 20_000),
    merge_fractions=(0.001, 0.5),
    log_lengths=(10, 50),
    appends=2,
    writers=(1, 8),
    file_counts=(100, 1_000),
    vector_rows=20_000,
    dead_shares=(0.0, 0.1),
    small_files=(10, 30),
    zorder_rows=(10_000,),
    stream_batches=4,
    stream_rows=20_000,
    stream_files=1_000,
    stream_commits=100,
    job_seconds=120,
)
QUICK = Sizes(
    name="quick",
    minutes=20,
    scales=(0.1, 1),
    query_rounds=1,
    loads=1,
    rounds=2,
    warm_up=1,
    merge_rows=(250_000, 1_000_000, 4_000_000),
    merge_fractions=(0.0001, 0.01, 0.5),
    log_lengths=(10, 100, 1_000),
    appends=4,
    writers=(1, 8),
    file_counts=(1_000, 10_000, 100_000),
    vector_rows=2_000_000,
    dead_shares=(0.0, 0.001, 0.01, 0.1, 0.5),
    small_files=(100, 1_000),
    zorder_rows=(250_000, 1_000_000),
    stream_batches=20,
    stream_rows=4_000_000,
    stream_files=100_000,
    stream_commits=10_000,
    job_seconds=180,
)
FULL = Sizes(
    name="full",
    minutes=90,
    scales=(0.1, 0.3, 1),
    query_rounds=3,
    loads=3,
    rounds=4,
    warm_up=2,
    merge_rows=(1_000_000, 4_000_000, 16_000_000),
    merge_fractions=(0.0001, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5),
    log_lengths=(10, 100, 1_000, 10_000),
    appends=10,
    writers=(1, 8),
    file_counts=(1_000, 10_000, 100_000, 1_000_000),
    vector_rows=8_000_000,
    dead_shares=(0.0, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5),
    small_files=(100, 1_000, 10_000),
    zorder_rows=(1_000_000, 4_000_000, 10_000_000),
    stream_batches=40,
    stream_rows=16_000_000,
    stream_files=1_000_000,
    stream_commits=10_000,
    job_seconds=900,
)
BY_NAME = {sizes.name: sizes for sizes in (TINY, QUICK, FULL)}
