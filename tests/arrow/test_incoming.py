"""Rows of Python and pandas as Arrow."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from lakebed.arrow.write.incoming import to_arrow_table

LATER = datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
MICROS = 1_704_067_200_000_000


@pytest.mark.parametrize("ignored", [False, True], ids=["zones", "zones ignored by pyarrow"])
@pytest.mark.parametrize(
    "data",
    [
        {"t": [LATER, None]},
        [{"t": LATER}, {"t": None}],
        pd.DataFrame({"t": pd.Series([LATER, None], dtype=object)}),
    ],
    ids=["columns", "rows", "pandas"],
)
def test_times_with_a_zone_stay_the_same_moments(
    monkeypatch: pytest.MonkeyPatch, ignored: bool, data: Any
) -> None:
    """Importing pyspark.pandas makes pyarrow ignore zones in the whole process."""
    if ignored:
        monkeypatch.setenv("PYARROW_IGNORE_TIMEZONE", "1")
    times = to_arrow_table(data)["t"]
    assert pa.types.is_timestamp(times.type)
    assert times.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist() == [MICROS, None]


def test_times_inside_of_lists_and_dicts_stay_the_same_moments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYARROW_IGNORE_TIMEZONE", "1")
    table = to_arrow_table([{"l": [LATER], "s": {"t": LATER}}])
    assert table["l"].to_pylist() == [[LATER]]
    assert table["s"].to_pylist() == [{"t": LATER}]
