"""Any sequence of writes, read at every version, equals a list of rows in plain Python."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import lakebed
from testkit.readers.other_readers import read_elsewhere

SCHEMA = pa.schema(
    [
        ("n", pa.int64()),
        ("t", pa.string()),
        ("p", pa.int32()),
        ("q", pa.string()),
        ("s", pa.struct([("x", pa.float64()), ("l", pa.list_(pa.int16()))])),
    ]
)
# The protocol has no empty string as a partition value.
TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=4
)
ROW = st.fixed_dictionaries(
    {
        "n": st.none() | st.integers(-(2**63), 2**63 - 1),
        "t": st.none() | st.text(max_size=5),
        "p": st.none() | st.integers(-2, 2),
        "q": st.none() | TEXT | st.sampled_from(["a", "b/c", "d=e", "%25", " "]),
        "s": st.none()
        | st.fixed_dictionaries(
            {
                "x": st.none() | st.floats(allow_nan=False),
                "l": st.none() | st.lists(st.none() | st.integers(-5, 5), max_size=2),
            }
        ),
    }
)
WRITES = st.lists(
    st.tuples(
        st.lists(ROW, max_size=6),
        st.sampled_from(["append", "append", "overwrite"]),
        st.none() | st.integers(1, 3),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=25, deadline=None)
@given(
    writes=WRITES,
    partition_by=st.sampled_from([[], ["p"], ["q"], ["q", "p"]]),
    mapping=st.sampled_from(["none", "name", "id"]),
    threshold=st.integers(-3, 3),
)
def test_every_version_has_the_rows_of_the_model(
    writes: list[tuple[list[dict[str, Any]], Any, int | None]],
    partition_by: list[str],
    mapping: str,
    threshold: int,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        properties = {"delta.columnMapping.mode": mapping, "delta.checkpointInterval": "2"}
        model: list[list[dict[str, Any]]] = []
        for data, mode, limit in writes:
            table = pa.Table.from_pylist(data, SCHEMA)
            lakebed.write(
                path,
                table,
                mode=mode,
                partition_by=partition_by,
                properties=properties,
                max_rows_per_file=limit,
            )
            before = model[-1] if model and mode == "append" else []
            model.append([*before, *data])
        for version, expected in enumerate(model):
            found = lakebed.open(path, version=version)
            assert plain(found.to_arrow().to_pylist()) == plain(expected)
            kept = [row for row in expected if row["p"] is not None and row["p"] > threshold]
            assert plain(found.to_arrow(where=f"p > {threshold}").to_pylist()) == plain(kept)
        assert plain(read_elsewhere(path).to_pylist()) == plain(model[-1])


def plain(data: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(_sorted(row)) for row in data)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return [(name, _sorted(value[name])) for name in sorted(value)]
    return value
