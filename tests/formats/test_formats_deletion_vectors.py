"""Bytes of deletion vectors: both bitmap formats, files, masks, and damage."""

from __future__ import annotations

import contextlib
import json
import struct
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from lakebed.errors import DataFileError, InvalidArgumentError
from lakebed.formats.deletion_vectors import (
    NATIVE_MAGIC,
    RowIndexSet,
    decode_bitmap,
    encode_bitmap,
    read_stored,
    read_vector,
    write_vectors,
)
from lakebed.spec.actions import DeletionVector
from lakebed.spec.vector_descriptors import inline_vector, stored_vector
from testkit.tables.golden_tables import GOLDEN, needs_golden

EXAMPLE = DeletionVector("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 40, 6)
FILE = "ab/deletion_vector.bin"
UUID_ = UUID(int=7)

# Rows near zero, at the edges of the bitmap's containers and buckets, and in runs.
INDEXES = st.sets(
    st.one_of(
        st.integers(0, 300),
        st.integers(65_500, 65_600),
        st.integers(2**32 - 3, 2**32 + 3),
        st.integers(0, 2**40),
    ),
    max_size=200,
)


def native_bytes(buckets: list[set[int]]) -> bytes:
    """The legacy format, built by hand from its description."""
    parts = [struct.pack("<ii", NATIVE_MAGIC, len(buckets))]
    for bucket in buckets:
        data = BitMap(bucket).serialize()
        parts += [struct.pack("<i", len(data)), data]
    return b"".join(parts)


def descriptor(stored) -> DeletionVector:
    return stored_vector("", UUID_, stored.offset, stored.size_in_bytes, stored.cardinality)


def test_inline_example_of_the_protocol_deletes_its_six_rows():
    def never(_path):
        raise AssertionError("an inline vector has no file")

    rows = read_vector(EXAMPLE, never)
    assert rows.to_arrow().to_pylist() == [3, 4, 7, 11, 18, 29]
    assert rows.cardinality == len(rows) == 6


def test_native_format_places_buckets_by_their_position():
    data = native_bytes([{1, 5}, set(), {2}])
    rows = decode_bitmap(data, file=FILE)
    assert rows.to_arrow().to_pylist() == [1, 5, (2 << 32) + 2]


@settings(deadline=None)
@given(INDEXES)
def test_bitmap_round_trips(indexes):
    rows = RowIndexSet.from_indexes(indexes)
    again = decode_bitmap(encode_bitmap(rows), file=FILE)
    assert again == rows
    assert again.to_arrow().to_pylist() == sorted(indexes)


def test_a_run_of_rows_is_stored_small():
    rows = RowIndexSet.from_indexes(range(1_000_000))
    assert len(encode_bitmap(rows)) < 1_000
    assert rows.cardinality == 1_000_000


@settings(deadline=None)
@given(st.lists(INDEXES, max_size=5))
def test_a_file_packs_many_vectors_and_each_is_read_by_its_offset(sets):
    content, stored = write_vectors(RowIndexSet.from_indexes(rows) for rows in sets)
    for rows, entry in zip(sets, stored, strict=True):
        for source in (content, lambda start, length: content[start : start + length]):
            read = read_stored(descriptor(entry), source, file=FILE)
            assert read == RowIndexSet.from_indexes(rows)


def test_read_vector_opens_the_file_of_the_descriptor():
    content, (entry,) = write_vectors([RowIndexSet.from_indexes([4, 9])])
    opened = []

    def open_file(path):
        opened.append(path)
        return lambda start, length: content[start : start + length]

    rows = read_vector(descriptor(entry), open_file)
    assert rows.to_arrow().to_pylist() == [4, 9]
    assert opened == [f"deletion_vector_{UUID_}.bin"]


@settings(deadline=None)
@given(
    st.sets(st.integers(0, 400), max_size=60),
    st.integers(0, 450),
    st.integers(0, 450),
)
def test_keep_mask_is_false_exactly_for_the_deleted_rows(deleted, start, num_rows):
    mask = RowIndexSet.from_indexes(deleted).keep_mask(num_rows, start)
    assert mask.type == pa.bool_()
    assert mask.to_pylist() == [start + row not in deleted for row in range(num_rows)]


def test_keep_mask_works_beyond_32_bit_row_indexes():
    rows = RowIndexSet.from_indexes([2**33 + 1])
    assert rows.keep_mask(3, 2**33).to_pylist() == [True, False, True]


@settings(deadline=None)
@given(INDEXES, INDEXES)
def test_union_and_difference_are_those_of_sets(left, right):
    a, b = RowIndexSet.from_indexes(left), RowIndexSet.from_indexes(right)
    assert a.union(b) == RowIndexSet.from_indexes(left | right)
    assert a.difference(b) == RowIndexSet.from_indexes(left - right)
    assert a == RowIndexSet.from_indexes(left)


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint32(), pa.int32(), pa.uint64()])
def test_arrow_indexes_of_any_integer_type_and_slicing_are_taken(kind):
    values = pa.array([9, 7, 1, 3, 3, 8], kind)
    expected = RowIndexSet.from_indexes([7, 1, 3])
    assert RowIndexSet.from_indexes(values[1:5]) == expected
    assert RowIndexSet.from_indexes(pa.chunked_array([values[1:3], values[3:5]])) == expected


def test_membership():
    rows = RowIndexSet.from_indexes([5])
    assert 5 in rows
    assert 6 not in rows
    assert -1 not in rows
    assert 2**70 not in rows


@pytest.mark.parametrize(
    "indexes",
    [
        [-1],
        [2**63],
        [2**70],
        ["a"],
        pa.array([-1]),
        pa.array([1, None]),
        pa.array([2**63], pa.uint64()),
        pa.array(["a"]),
    ],
)
def test_indexes_that_are_no_row_numbers_are_refused(indexes):
    with pytest.raises(InvalidArgumentError):
        RowIndexSet.from_indexes(indexes)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param({"size_in_bytes": 3}, "size", id="size"),
        pytest.param({"cardinality": 3}, "rows", id="cardinality"),
        pytest.param({"offset": 10_000}, "ends before", id="beyond the end"),
        pytest.param({"offset": None}, "size", id="no offset means zero"),
    ],
)
def test_descriptor_that_does_not_fit_the_file_is_a_data_file_error(change, reason):
    content, (entry,) = write_vectors([RowIndexSet.from_indexes([1, 2])])
    fields = {"offset": entry.offset, "size_in_bytes": entry.size_in_bytes, "cardinality": 2}
    fields |= change
    vector = DeletionVector("u", "0" * 20, **fields)
    with pytest.raises(DataFileError, match=reason) as caught:
        read_stored(vector, content, file=FILE)
    assert caught.value.file == FILE


def test_unknown_file_version_and_magic_are_refused():
    content, (entry,) = write_vectors([RowIndexSet.from_indexes([1])])
    with pytest.raises(DataFileError, match="version"):
        read_stored(descriptor(entry), b"\x02" + content[1:], file=FILE)
    with pytest.raises(DataFileError, match="magic"):
        decode_bitmap(struct.pack("<i", 12345) + b"\0" * 8, file=FILE)


def test_row_index_over_63_bits_is_refused():
    data = encode_bitmap(RowIndexSet.from_indexes([2**62]))
    key = struct.pack("<I", 2**30)
    assert data.count(key) == 1
    with pytest.raises(DataFileError, match="63 bits"):
        decode_bitmap(data.replace(key, struct.pack("<I", 2**31)), file=FILE)


@settings(deadline=None)
@given(st.lists(INDEXES, min_size=1, max_size=3), st.data())
def test_damaged_file_gives_the_right_rows_or_a_data_file_error(sets, data):
    content, stored = write_vectors(RowIndexSet.from_indexes(rows) for rows in sets)
    which = data.draw(st.integers(0, len(sets) - 1))
    damaged = data.draw(damage(content))
    rows = None
    with contextlib.suppress(DataFileError):
        rows = read_stored(descriptor(stored[which]), damaged, file=FILE)
    assert rows in (None, RowIndexSet.from_indexes(sets[which]))


@settings(deadline=None)
@given(INDEXES, st.booleans(), st.data())
def test_damaged_bitmap_without_checksum_never_gives_another_exception(indexes, native, data):
    rows = RowIndexSet.from_indexes(indexes)
    low = {index for index in indexes if index < 2**32}
    content = native_bytes([low, {7}]) if native else encode_bitmap(rows)
    damaged = data.draw(damage(content))
    vector = inline_vector(damaged, len(indexes))
    with contextlib.suppress(DataFileError):
        read = read_vector(vector, lambda _: None, file="part-0.parquet")
        assert read.cardinality == len(indexes)
        assert len(read.keep_mask(70_000)) == 70_000


@settings(deadline=None)
@given(st.binary(max_size=80))
def test_random_bytes_are_a_data_file_error(data):
    with pytest.raises(DataFileError):
        decode_bitmap(struct.pack("<ii", NATIVE_MAGIC, 100) + data, file=FILE)


@st.composite
def damage(draw, content: bytes) -> bytes:
    """Some bytes changed, cut off or added."""
    changed = bytearray(content)
    for _ in range(draw(st.integers(1, 3))):
        if changed:
            position = draw(st.integers(0, min(len(changed) - 1, 60)))
            changed[position] = draw(st.integers(0, 255))
    if draw(st.booleans()):
        changed = changed[: draw(st.integers(0, len(changed)))]
    return bytes(changed)


# --- tables that other implementations wrote ----------------------------------------------------


def golden_vectors() -> list[tuple[Path, DeletionVector, dict]]:
    found = []
    for log in sorted(GOLDEN.glob("tables/*/*/_delta_log")):
        for commit in sorted(log.glob("0*.json")):
            for line in commit.read_bytes().splitlines():
                action = json.loads(line or b"{}")
                file = action.get("add") or action.get("remove") or {}
                if file.get("deletionVector"):
                    vector = DeletionVector.parse(file["deletionVector"])
                    found.append((log.parent, vector, file))
    return found


def open_in(table: Path):
    def open_file(path):
        content = (table / path).read_bytes()
        return lambda start, length: content[start : start + length]

    return open_file


@needs_golden
def test_every_vector_of_the_golden_tables_is_read():
    vectors = golden_vectors()
    assert len(vectors) > 50
    for table, vector, file in vectors:
        rows = read_vector(vector, open_in(table))
        assert rows.cardinality == vector.cardinality
        if file.get("stats"):
            num_records = json.loads(file["stats"])["numRecords"]
            kept = rows.keep_mask(num_records)
            assert pc.sum(kept).as_py() == num_records - vector.cardinality


@needs_golden
def test_rows_of_a_golden_table_with_a_vector_are_the_expected_ones():
    name = "kernel-rs/table-with-dv-small"
    (last,) = [each for each in golden_vectors() if each[0] == GOLDEN / "tables" / name]
    table, vector, file = last
    data = pq.read_table(table / file["path"])
    kept = data.filter(read_vector(vector, open_in(table)).keep_mask(data.num_rows))
    expected = (GOLDEN / "expected_rows" / f"{name}.jsonl").read_text().splitlines()
    values = [str(value) for value in kept["value"].to_pylist()]
    assert sorted(values) == sorted(str(json.loads(row)["value"]) for row in expected)
