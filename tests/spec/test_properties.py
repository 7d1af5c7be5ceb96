"""Table properties: typed reading, and the checks on what a user sets."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import TablePropertyError
from lakebed.settings.value_kinds import parse_interval
from lakebed.spec.properties import (
    PROPERTIES,
    TableProperties,
    check_together,
    normalized_key,
    parse_column_list,
    validated,
)

DAY = 86_400_000


def test_an_empty_configuration_has_delta_spark_s_defaults() -> None:
    properties = TableProperties({})
    assert properties.checkpoint_interval == 10
    assert properties.checkpoint_policy == "classic"
    assert properties.checkpoint_write_stats_as_json is True
    assert properties.checkpoint_write_stats_as_struct is True
    assert properties.log_retention_ms == 30 * DAY
    assert properties.deleted_file_retention_ms == 7 * DAY
    assert properties.enable_expired_log_cleanup is True
    assert properties.set_transaction_retention_ms is None
    assert properties.isolation_level == "Serializable"
    assert properties.append_only is False
    assert properties.column_mapping_mode == "none"
    assert properties.data_skipping_num_indexed_cols == 32
    assert properties.data_skipping_stats_columns is None
    assert properties.random_prefix_length == 2
    assert properties.constraints == {}


@pytest.mark.parametrize(
    ("key", "text", "attribute", "value"),
    [
        ("delta.checkpointInterval", "100", "checkpoint_interval", 100),
        ("delta.checkpointPolicy", "v2", "checkpoint_policy", "v2"),
        ("delta.logRetentionDuration", "interval 1 week", "log_retention_ms", 7 * DAY),
        (
            "delta.setTransactionRetentionDuration",
            "2 hours",
            "set_transaction_retention_ms",
            7200000,
        ),
        ("delta.isolationLevel", "writeserializable", "isolation_level", "WriteSerializable"),
        ("delta.appendOnly", "TRUE", "append_only", True),
        ("delta.enableInCommitTimestamps", "true", "enable_in_commit_timestamps", True),
        (
            "delta.inCommitTimestampEnablementVersion",
            "4",
            "in_commit_timestamp_enablement_version",
            4,
        ),
        ("delta.columnMapping.maxColumnId", "7", "column_mapping_max_id", 7),
        ("delta.columnMapping.mode", "id", "column_mapping_mode", "id"),
        ("delta.parquet.compression.codec", "SNAPPY", "parquet_compression_codec", "snappy"),
        ("delta.parquet.format.version", "2.12.0", "parquet_format_version", "2.12.0"),
        ("delta.dataSkippingNumIndexedCols", "-1", "data_skipping_num_indexed_cols", -1),
        ("delta.targetFileSize", "128mb", "target_file_size", 128 * 1024 * 1024),
        ("delta.targetFileSize", "1000", "target_file_size", 1000),
        ("delta.enableChangeDataCapture", "true", "enable_change_data_feed", True),
        (
            "delta.universalFormat.enabledFormats",
            "iceberg,hudi",
            "universal_formats",
            ("iceberg", "hudi"),
        ),
        (
            "delta.rowTracking.materializedRowIdColumnName",
            "_row-id-col",
            "materialized_row_id_column",
            "_row-id-col",
        ),
    ],
)
def test_properties_are_read_with_their_types(
    key: str, text: str, attribute: str, value: Any
) -> None:
    assert getattr(TableProperties({key: text}), attribute) == value


def test_the_new_name_of_a_property_wins_over_the_old_one() -> None:
    configuration = {"delta.enableChangeDataFeed": "false", "delta.enableChangeDataCapture": "true"}
    assert TableProperties(configuration).enable_change_data_feed is False


def test_reading_is_by_the_exact_key_and_leaves_unknown_keys_alone() -> None:
    properties = TableProperties({"delta.APPENDONLY": "true", "delta.someFutureThing": "x"})
    assert properties.append_only is False


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("delta.checkpointInterval", "0"),
        ("delta.checkpointInterval", "ten"),
        ("delta.checkpointInterval", "1.0"),
        ("delta.checkpointPolicy", "v3"),
        ("delta.appendOnly", "yes"),
        ("delta.logRetentionDuration", "1 month"),
        ("delta.logRetentionDuration", "-1 days"),
        ("delta.logRetentionDuration", ""),
        ("delta.deletedFileRetentionDuration", "7"),
        ("delta.isolationLevel", "SnapshotIsolation"),
        ("delta.columnMapping.mode", "physical"),
        ("delta.parquet.compression.codec", "rar"),
        ("delta.parquet.format.version", "3.0.0"),
        ("delta.dataSkippingNumIndexedCols", "-2"),
        ("delta.dataSkippingStatsColumns", "a,,b"),
        ("delta.randomPrefixLength", "0"),
        ("delta.targetFileSize", "big"),
        ("delta.minReaderVersion", "4"),
        ("delta.minWriterVersion", "8"),
        ("delta.universalFormat.enabledFormats", "iceberg,iceberg"),
    ],
)
def test_a_bad_value_is_an_error_that_names_key_value_and_rule(key: str, text: str) -> None:
    entry = PROPERTIES[key]
    with pytest.raises(TablePropertyError) as caught:
        entry.read({key: text})
    assert key in str(caught.value)
    assert repr(text) in str(caught.value)
    assert entry.rule in str(caught.value)
    with pytest.raises(TablePropertyError):
        validated({key: text})


def test_setting_takes_keys_in_any_case_and_spells_them_as_delta_spark() -> None:
    assert validated(
        {
            "DELTA.appendonly": "true",
            "delta.checkpointpolicy": "V2",
            "delta.feature.DeletionVectors": "supported",
            "delta.constraints.Positive": "x > 0",
            "delta.universalFormat.config.iceberg.x": "1",
            "Team": "lake",
        }
    ) == {
        "delta.appendOnly": "true",
        "delta.checkpointPolicy": "v2",
        "delta.feature.deletionvectors": "supported",
        "delta.constraints.Positive": "x > 0",
        "delta.universalformat.config.iceberg.x": "1",
        "Team": "lake",
    }


def test_setting_one_property_under_two_spellings_is_refused() -> None:
    with pytest.raises(TablePropertyError, match=r"delta\.appendOnly is set twice"):
        validated({"delta.appendOnly": "true", "delta.APPENDONLY": "false"})


@pytest.mark.parametrize(
    ("key", "suggestion"),
    [
        ("delta.apendOnly", "delta.appendOnly"),
        ("delta.enableDeletionVector", "delta.enableDeletionVectors"),
        ("delta.logretentionduraton", "delta.logRetentionDuration"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_name(key: str, suggestion: str) -> None:
    with pytest.raises(TablePropertyError, match=key) as caught:
        validated({key: "true"})
    assert suggestion in (caught.value.hint or "")


def test_an_unknown_key_that_resembles_nothing_is_refused_too() -> None:
    with pytest.raises(TablePropertyError, match=r"delta\.zzz"):
        validated({"delta.zzz": "1"})


@pytest.mark.parametrize(
    "key", ["delta.columnMapping.maxColumnId", "delta.rowTracking.materializedRowIdColumnName"]
)
def test_what_belongs_to_writers_cannot_be_set(key: str) -> None:
    with pytest.raises(TablePropertyError, match="cannot be set"):
        validated({key: "1"})


def test_constraints_need_a_name_and_a_condition() -> None:
    with pytest.raises(TablePropertyError, match="needs a name and a condition"):
        validated({"delta.constraints.": "x > 0"})
    with pytest.raises(TablePropertyError, match="needs a name and a condition"):
        validated({"delta.constraints.c": " "})


def test_values_that_are_not_strings_are_refused() -> None:
    with pytest.raises(TablePropertyError, match="strings") as caught:
        validated({"delta.appendOnly": True})  # type: ignore[dict-item]
    assert "'true'" in (caught.value.hint or "")


def test_constraints_are_read_by_name() -> None:
    configuration = {"delta.constraints.a": "x > 0", "Delta.Constraints.B": "y < 1", "other": "z"}
    assert TableProperties(configuration).constraints == {"a": "x > 0", "B": "y < 1"}


def test_the_log_must_be_kept_as_long_as_deleted_files() -> None:
    check_together({})
    check_together({"delta.logRetentionDuration": "1 week"})
    with pytest.raises(TablePropertyError, match="shorter"):
        check_together({"delta.logRetentionDuration": "6 days"})
    with pytest.raises(TablePropertyError, match="shorter"):
        check_together({"delta.deletedFileRetentionDuration": "31 days"})


def test_row_tracking_cannot_be_enabled_and_suspended() -> None:
    with pytest.raises(TablePropertyError, match="both true"):
        check_together({"delta.enableRowTracking": "true", "delta.rowTrackingSuspended": "true"})


def test_keys_are_unique_whatever_their_case_and_defaults_are_valid() -> None:
    assert len({key.lower() for key in PROPERTIES}) == len(PROPERTIES) > 50
    assert all(normalized_key(key.upper()) == key for key in PROPERTIES)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", ()),
        ("a", (("a",),)),
        (" a , b.c ", (("a",), ("b", "c"))),
        ("`a,b`.c,`d.e`", (("a,b", "c"), ("d.e",))),
        ("`tick``ed`", (("tick`ed",),)),
        ("größe", (("größe",),)),
    ],
)
def test_lists_of_columns_are_read(text: str, columns: tuple[tuple[str, ...], ...]) -> None:
    assert parse_column_list(text) == columns


@pytest.mark.parametrize("text", [",", "a,", "a.", ".a", "a b", "a-b", "`a", "a`b`", "``"])
def test_broken_lists_of_columns_are_refused(text: str) -> None:
    with pytest.raises(TablePropertyError, match="dataSkippingStatsColumns"):
        PROPERTIES["delta.dataSkippingStatsColumns"].parse(text)


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@settings(deadline=None)
@given(st.lists(st.lists(NAMES, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3))
def test_any_column_survives_quoting(columns: list[tuple[str, ...]]) -> None:
    def quoted(name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    text = ", ".join(".".join(map(quoted, path)) for path in columns)
    assert parse_column_list(text) == tuple(columns)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("interval 30 days", 30 * DAY),
        ("INTERVAL 1 WEEK", 7 * DAY),
        ("1 day 12 hours", DAY + DAY // 2),
        ("2 hours -30 minutes", 90 * 60_000),
        ("1.5 seconds", 1500),
        ("1500 microseconds", 1),
        ("0 seconds", 0),
    ],
)
def test_intervals_are_read_as_spark_reads_them(text: str, milliseconds: int) -> None:
    assert parse_interval(text) == milliseconds


@pytest.mark.parametrize(
    "text",
    ["", "interval", "interval ", "5", "days", "1 fortnight", "1.5 days", "1 year", "-1 day"],
)
def test_broken_intervals_are_refused(text: str) -> None:
    with pytest.raises(TablePropertyError, match="interval"):
        PROPERTIES["delta.logRetentionDuration"].parse(text)


@settings(deadline=None)
@given(st.sampled_from(sorted(PROPERTIES)), st.text())
def test_no_value_ever_gives_another_exception(key: str, text: str) -> None:
    with suppress(TablePropertyError):
        PROPERTIES[key].read({key: text})
