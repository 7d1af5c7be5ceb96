"""Descriptors of deletion vectors: Z85, UUIDs, paths and inline data."""

from __future__ import annotations

import contextlib
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import LogCorruptedError
from lakebed.spec.actions import DeletionVector
from lakebed.spec.vector_descriptors import (
    check,
    decode_uuid,
    decode_z85,
    encode_uuid,
    encode_z85,
    inline_data,
    inline_vector,
    is_inline,
    log_path,
    new_file,
    prefix_and_uuid,
    relative_path,
    stored_vector,
)

# The descriptors of the protocol's own examples.
UUID_OF_EXAMPLE = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
RELATIVE = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 40, 6, 4)
ABSOLUTE = DeletionVector("p", f"s3://mytable/deletion_vector_{UUID_OF_EXAMPLE}.bin", 40, 6, 4)
INLINE = DeletionVector("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 40, 6)


def test_relative_path_has_prefix_folder_and_canonical_uuid():
    assert relative_path(RELATIVE) == f"ab/deletion_vector_{UUID_OF_EXAMPLE}.bin"
    assert prefix_and_uuid(RELATIVE) == ("ab", UUID_OF_EXAMPLE)


def test_relative_path_without_prefix_is_in_the_root():
    vector = DeletionVector("u", "^-aqEH.-t@S}K{vb[*k^", 40, 6, 4)
    assert relative_path(vector) == f"deletion_vector_{UUID_OF_EXAMPLE}.bin"


def test_log_path_is_what_add_path_would_be():
    assert log_path(ABSOLUTE) == ABSOLUTE.path_or_inline_dv
    assert log_path(RELATIVE) == relative_path(RELATIVE)
    assert log_path(INLINE) is None


def test_log_path_url_encodes_a_strange_prefix():
    vector = DeletionVector("u", "a b%" + encode_uuid(UUID_OF_EXAMPLE), 40, 6, 4)
    assert relative_path(vector).startswith("a b%/")
    assert log_path(vector) == f"a%20b%25/deletion_vector_{UUID_OF_EXAMPLE}.bin"


def test_inline_data_has_the_size_of_the_descriptor():
    assert len(inline_data(INLINE)) == 40
    assert is_inline(INLINE)
    assert not is_inline(RELATIVE)


def test_known_z85_vector_of_the_rfc():
    data = bytes([0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B])
    assert encode_z85(data) == "HelloWorld"
    assert decode_z85("HelloWorld") == data


@pytest.mark.parametrize(
    ("text", "data"), [("HelloWorld##093", b"\x03\x00"), ("#0093", b"\0\x03\0"), ("###01", b"\1")]
)
def test_unpadded_last_block_of_rust_writers_is_read(text, data):
    assert decode_z85(text) == decode_z85(text[:-5]) + data


@pytest.mark.parametrize("text", ["####1", "#####", "##z00", "##093World", "###zz"])
def test_unpadded_block_that_does_not_fit_is_refused(text):
    with pytest.raises(LogCorruptedError, match="Z85"):
        decode_z85(text)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_z85_round_trip_keeps_the_bytes_and_pads_to_four(data):
    decoded = decode_z85(encode_z85(data))
    assert decoded[: len(data)] == data
    assert decoded[len(data) :] == bytes(-len(data) % 4)


@settings(deadline=None)
@given(st.uuids(), st.text("abcXYZ019", max_size=5), st.integers(1, 2**31 - 1))
def test_stored_vector_round_trips_prefix_and_uuid(uuid, prefix, offset):
    vector = stored_vector(prefix, uuid, offset, 10, 3)
    assert prefix_and_uuid(vector) == (prefix, uuid)
    assert decode_uuid(encode_uuid(uuid)) == uuid
    assert (vector.offset, vector.size_in_bytes, vector.cardinality) == (offset, 10, 3)


@settings(deadline=None)
@given(st.binary(max_size=100))
def test_inline_vector_round_trips(data):
    assert inline_data(inline_vector(data, 7)) == data


def test_new_file_has_the_prefix_length_asked_for():
    prefix, uuid = new_file(3)
    assert len(prefix) == 3
    assert prefix.isalnum()
    assert new_file()[0] == ""
    assert new_file()[1] != uuid


@pytest.mark.parametrize(
    "vector",
    [
        pytest.param(DeletionVector("x", "abc", 1, 1), id="unknown storage type"),
        pytest.param(DeletionVector("u", "short", 1, 1), id="uuid too short"),
        pytest.param(DeletionVector("u", "~" * 20, 1, 1), id="not z85"),
        pytest.param(DeletionVector("u", "é" * 20, 1, 1), id="not ascii"),
        pytest.param(DeletionVector("u", "#" * 20, 1, 1), id="block over 32 bits"),
        pytest.param(DeletionVector("u", "0" * 15 + "##093", 1, 1), id="short uuid"),
        pytest.param(DeletionVector("i", "HelloWorld", 8, 1), id="inline has no path"),
        pytest.param(ABSOLUTE, id="absolute is not relative"),
        pytest.param(DeletionVector("u", "0" * 20, -1, 1), id="negative size"),
        pytest.param(DeletionVector("u", "0" * 20, 1, -1), id="negative cardinality"),
        pytest.param(DeletionVector("u", "0" * 20, 1, 1, -4), id="negative offset"),
    ],
)
def test_relative_path_of_an_invalid_descriptor_is_a_corrupted_log(vector):
    with pytest.raises(LogCorruptedError, match="deletion vector"):
        relative_path(vector)


@pytest.mark.parametrize(
    "vector",
    [
        pytest.param(DeletionVector("i", "Hello", 8, 1), id="fewer bytes than the size"),
        pytest.param(DeletionVector("i", "HelloWorld", 4, 1), id="more than padding left over"),
        pytest.param(DeletionVector("i", "HelloWorl", 8, 1), id="no multiple of five"),
        pytest.param(DeletionVector("i", "Hello World", 8, 1), id="a blank"),
        pytest.param(DeletionVector("i", "HelloWorld", 8, 1, 1), id="an offset"),
        pytest.param(RELATIVE, id="stored in a file"),
    ],
)
def test_inline_data_of_an_invalid_descriptor_is_a_corrupted_log(vector):
    with pytest.raises(LogCorruptedError, match="deletion vector"):
        inline_data(vector)


def test_absolute_vector_without_path_is_refused():
    with pytest.raises(LogCorruptedError, match="no path"):
        check(DeletionVector("p", "", 1, 1))


@settings(deadline=None)
@given(st.text(max_size=30), st.sampled_from("uipx"), st.integers(-5, 50))
def test_any_text_gives_a_path_or_a_lakebed_error(text, kind, size):
    vector = DeletionVector(kind, text, size, 1)
    for read in (log_path, relative_path, inline_data):
        with contextlib.suppress(LogCorruptedError):
            assert read(vector) is not None or kind == "i"
