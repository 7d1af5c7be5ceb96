"""Table properties: the `delta.` keys of a table's configuration (PROTOCOL: Table Properties).

Reading is by the exact key, as in delta-spark, and leaves alone what it does not know. Setting is
stricter: `validated` takes keys in any case, spells them as delta-spark does, and refuses values
that are not valid and `delta.` keys that no one knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Generic, TypeVar, overload

from lakebed.errors import TablePropertyError
from lakebed.settings import value_kinds as kinds
from lakebed.settings.value_kinds import Kind

T = TypeVar("T")
FEATURE_PREFIX = "delta.feature."
CONSTRAINT_PREFIX = "delta.constraints."
UNIVERSAL_FORMAT_PREFIX = "delta.universalformat.config."


class Property(Generic[T]):
    """One table property; on an instance of `TableProperties` it reads itself as a value."""

    def __init__(
        self,
        name: str,
        default: T,
        kind: Kind[T],
        *,
        settable: bool = True,
        formerly: str | None = None,
    ) -> None:
        self.key = f"delta.{name}"
        self.default = default
        self.rule = f"must be {kind.allowed}"
        self.settable = settable
        self._kind = kind
        self._keys = (self.key,) if formerly is None else (self.key, f"delta.{formerly}")

    @overload
    def __get__(self, instance: None, owner: type) -> Property[T]: ...
    @overload
    def __get__(self, instance: TableProperties, owner: type) -> T: ...
    def __get__(self, instance: TableProperties | None, owner: type) -> Property[T] | T:
        return self if instance is None else self.read(instance.configuration)

    def read(self, configuration: Mapping[str, str]) -> T:
        """The value in a configuration, or the default. A bad value is an error, never ignored."""
        for key in self._keys:
            text = configuration.get(key)
            if text is not None:
                return self.parse(text)
        return self.default

    def parse(self, text: str) -> T:
        try:
            return self._kind.parse(text)
        except ValueError as error:
            raise TablePropertyError(
                f"The table property {self.key} is {text!r}, but it {self.rule}: {error}",
                hint=f"Set {self.key} to a valid value.",
            ) from error


# --- kinds of values ----------------------------------------------------------------------------


def _flag(name: str, default: bool, **options: Any) -> Property[bool]:
    return Property(name, default, kinds.FLAG, **options)


def _optional_flag(name: str) -> Property[bool | None]:
    return Property[bool | None](name, None, kinds.FLAG)


def _number(name: str, default: int, *, low: int, high: int | None = None) -> Property[int]:
    return Property(name, default, kinds.number(low, high))


def _optional_number(name: str, *, low: int) -> Property[int | None]:
    return Property[int | None](name, None, kinds.number(low))


def _interval(name: str, default: str) -> Property[int]:
    return Property(name, kinds.INTERVAL.parse(default), kinds.INTERVAL)


def _optional_interval(name: str) -> Property[int | None]:
    return Property[int | None](name, None, kinds.INTERVAL)


def _choice(name: str, default: str, choices: Sequence[str]) -> Property[str]:
    return Property(name, default, kinds.choice(*choices))


def _text(name: str, *, settable: bool = True) -> Property[str | None]:
    return Property[str | None](name, None, kinds.TEXT, settable=settable)


_COLUMN_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|(\w+))\s*")


def _parse_format_version(text: str) -> str:
    if text != "1.0.0" and not re.fullmatch(r"2\.[0-9]+\.[0-9]+", text):
        raise ValueError("not a known version")
    return text


def _parse_universal_formats(text: str) -> tuple[str, ...]:
    formats = tuple(text.split(",")) if text else ()
    if len(set(formats)) < len(formats) or not set(formats) <= {"iceberg", "hudi"}:
        raise ValueError("not a list of them")
    return formats


def parse_column_list(text: str) -> tuple[tuple[str, ...], ...]:
    """`` a, b.c, `x,y`.z `` as paths of names. Raises ValueError on anything else."""
    if not text.strip():
        return ()
    columns: list[tuple[str, ...]] = []
    path: tuple[str, ...] = ()
    position = 0
    while True:
        part = _COLUMN_PART.match(text, position)
        if part is None:
            raise ValueError(f"no column name at {text[position:]!r}")
        path = (*path, part[2] if part[1] is None else part[1].replace("``", "`"))
        position = part.end() + 1
        separator = text[part.end() : position]
        if separator in (",", ""):
            columns.append(path)
            path = ()
        elif separator != ".":
            raise ValueError(f"{separator!r} in a column name needs backticks around the name")
        if not separator:
            return tuple(columns)


# --- the properties -----------------------------------------------------------------------------


class TableProperties:
    """The properties of a table, typed: `TableProperties(configuration).checkpoint_interval`.

    Durations are milliseconds. Names follow delta-spark's keys.
    """

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self.configuration = configuration

    # The protocol; never stored in a table's configuration, see `spec.features`.
    min_reader_version = _number("minReaderVersion", 1, low=1, high=3)
    min_writer_version = _number("minWriterVersion", 2, low=1, high=7)
    ignore_protocol_defaults = _flag("ignoreProtocolDefaults", False)

    # The log.
    checkpoint_interval = _number("checkpointInterval", 10, low=1)
    checkpoint_policy = _choice("checkpointPolicy", "classic", ["classic", "v2"])
    checkpoint_write_stats_as_json = _flag("checkpoint.writeStatsAsJson", True)
    checkpoint_write_stats_as_struct = _flag("checkpoint.writeStatsAsStruct", True)
    checkpoint_retention_ms = _interval("checkpointRetentionDuration", "2 days")
    require_checkpoint_protection_before_version = _number(
        "requireCheckpointProtectionBeforeVersion", 0, low=0
    )
    log_retention_ms = _interval("logRetentionDuration", "30 days")
    sample_retention_ms = _interval("sampleRetentionDuration", "7 days")
    enable_expired_log_cleanup = _flag("enableExpiredLogCleanup", True)
    enable_full_retention_rollback = _flag("enableFullRetentionRollback", True)
    drop_feature_retention_ms = _interval(
        "dropFeatureTruncateHistory.retentionDuration", "24 hours"
    )
    deleted_file_retention_ms = _interval("deletedFileRetentionDuration", "1 week")
    set_transaction_retention_ms = _optional_interval("setTransactionRetentionDuration")
    isolation_level = _choice(
        "isolationLevel", "Serializable", ["Serializable", "WriteSerializable"]
    )
    enable_in_commit_timestamps = _flag("enableInCommitTimestamps", False)
    in_commit_timestamp_enablement_version = _optional_number(
        "inCommitTimestampEnablementVersion", low=0
    )
    in_commit_timestamp_enablement_timestamp = _optional_number(
        "inCommitTimestampEnablementTimestamp", low=0
    )

    # Rows and columns.
    append_only = _flag("appendOnly", False)
    enable_change_data_feed = _flag(
        "enableChangeDataFeed", False, formerly="enableChangeDataCapture"
    )
    enable_change_data_capture = _flag("enableChangeDataCapture", False)
    enable_deletion_vectors = _flag("enableDeletionVectors", False)
    enable_type_widening = _flag("enableTypeWidening", False)
    enable_variant_shredding = _flag("enableVariantShredding", False)
    enable_row_tracking = _flag("enableRowTracking", False)
    row_tracking_suspended = _flag("rowTrackingSuspended", False)
    materialized_row_id_column = _text("rowTracking.materializedRowIdColumnName", settable=False)
    materialized_row_commit_version_column = _text(
        "rowTracking.materializedRowCommitVersionColumnName", settable=False
    )
    column_mapping_mode = _choice("columnMapping.mode", "none", ["none", "name", "id"])
    column_mapping_max_id = Property(
        "columnMapping.maxColumnId", 0, kinds.number(0), settable=False
    )

    # Data files and their statistics.
    parquet_compression_codec = _choice(
        "parquet.compression.codec",
        "zstd",
        ["uncompressed", "none", "snappy", "gzip", "lz4", "lz4_raw", "zstd"],
    )
    parquet_format_version = Property(
        "parquet.format.version", "1.0.0", Kind(_parse_format_version, "1.0.0 or 2.x.y")
    )
    data_skipping_num_indexed_cols = _number("dataSkippingNumIndexedCols", 32, low=-1)
    data_skipping_stats_columns = Property[tuple[tuple[str, ...], ...] | None](
        "dataSkippingStatsColumns",
        None,
        Kind(
            parse_column_list,
            "a list of column names with commas between them, special characters in backticks",
        ),
    )
    data_skipping_string_prefix_length = _optional_number("dataSkippingStringPrefixLength", low=0)
    randomize_file_prefixes = _flag("randomizeFilePrefixes", False)
    random_prefix_length = _number("randomPrefixLength", 2, low=1)
    enable_materialize_partition_columns = _optional_flag(
        "enableMaterializePartitionColumnsFeature"
    )
    write_partition_columns_to_parquet = _optional_flag("writePartitionColumnsToParquet")
    target_file_size = Property[int | None]("targetFileSize", None, kinds.size())
    tune_file_sizes_for_rewrites = _optional_flag("tuneFileSizesForRewrites")
    auto_optimize = _optional_flag("autoOptimize")
    optimize_write = _optional_flag("autoOptimize.optimizeWrite")
    auto_compact = _optional_flag("autoOptimize.autoCompact")
    symlink_format_manifest = _flag("compatibility.symlinkFormatManifest.enabled", False)

    # Other table formats.
    universal_formats = Property[tuple[str, ...]](
        "universalFormat.enabledFormats",
        (),
        Kind(_parse_universal_formats, "a list of iceberg and hudi with commas between them"),
    )
    iceberg_atomic_conversion = _flag("universalFormat.iceberg.atomicConversion.supported", False)
    enable_iceberg_compat_v1 = _optional_flag("enableIcebergCompatV1")
    enable_iceberg_compat_v2 = _optional_flag("enableIcebergCompatV2")
    enable_iceberg_compat_v3 = _optional_flag("enableIcebergCompatV3")
    enable_iceberg_writer_compat_v1 = _optional_flag("enableIcebergWriterCompatV1")
    enable_iceberg_writer_compat_v3 = _optional_flag("enableIcebergWriterCompatV3")
    cast_iceberg_time_type = _flag("castIcebergTimeType", False)
    ignore_iceberg_bucket_partition = _flag("ignoreIcebergBucketPartition", False)

    # Who commits, and where the table went.
    commit_coordinator = _text("coordinatedCommits.commitCoordinator-preview")
    commit_coordinator_conf = _text("coordinatedCommits.commitCoordinatorConf-preview")
    commit_coordinator_table_conf = _text("coordinatedCommits.tableConf-preview")
    redirect_reader_writer = _text("redirectReaderWriter-preview")
    redirect_writer_only = _text("redirectWriterOnly-preview")

    @property
    def constraints(self) -> dict[str, str]:
        """CHECK constraints by name (PROTOCOL: CHECK Constraints)."""
        return {
            key[len(CONSTRAINT_PREFIX) :]: sql
            for key, sql in self.configuration.items()
            if key.lower().startswith(CONSTRAINT_PREFIX)
        }


PROPERTIES: Mapping[str, Property[Any]] = {
    entry.key: entry for entry in vars(TableProperties).values() if isinstance(entry, Property)
}


# --- setting ------------------------------------------------------------------------------------


def validated(changes: Mapping[str, str]) -> dict[str, str]:
    """Properties that a user sets, with their keys spelled as delta-spark does, or an error.

    Keys outside `delta.` are the user's own. `delta.feature.` keys are checked by `spec.features`.
    """
    result: dict[str, str] = {}
    for key, value in changes.items():
        spelled = normalized_key(key)
        if spelled in result:
            raise TablePropertyError(
                f"The table property {spelled} is set twice",
                hint="The case of a property's name makes no difference; keep one of them.",
            )
        result[spelled] = _checked(key, spelled, value)
    return result


def check_together(configuration: Mapping[str, str]) -> None:
    """The rules between properties of one table, for its configuration as it will be."""
    properties = TableProperties(configuration)
    log, files = properties.log_retention_ms, properties.deleted_file_retention_ms
    if log < files:
        raise TablePropertyError(
            f"delta.logRetentionDuration ({log} ms) is shorter than "
            f"delta.deletedFileRetentionDuration ({files} ms)",
            hint="Keep the log at least as long as the files that it has deleted.",
        )
    if properties.enable_row_tracking and properties.row_tracking_suspended:
        raise TablePropertyError(
            "delta.enableRowTracking and delta.rowTrackingSuspended are both true",
            hint="Remove delta.rowTrackingSuspended.",
        )
    if properties.enable_deletion_vectors and properties.symlink_format_manifest:
        raise TablePropertyError(
            f"{TableProperties.symlink_format_manifest.key} and delta.enableDeletionVectors are "
            "both true",
            hint="Readers of manifests do not know deletion vectors; turn one of them off.",
        )


def normalized_key(key: str) -> str:
    """The key as delta-spark spells it; keys that it does not know stay as they are."""
    lowered = key.lower()
    if lowered.startswith(_OPEN_PREFIXES):
        return lowered
    if lowered.startswith(CONSTRAINT_PREFIX):
        return CONSTRAINT_PREFIX + key[len(CONSTRAINT_PREFIX) :]
    return _SPELLING.get(lowered, key)


_SPELLING = {key.lower(): key for key in PROPERTIES}
_OPEN_PREFIXES = (FEATURE_PREFIX, UNIVERSAL_FORMAT_PREFIX)


def _checked(key: str, spelled: str, value: str) -> str:
    if not isinstance(value, str):
        raise TablePropertyError(
            f"The table property {key} is {value!r}, but the values of properties are strings",
            hint=f"Pass {str(value).lower()!r}.",
        )
    known = PROPERTIES.get(spelled)
    if known is not None:
        _check_settable(known)
        parsed = known.parse(value)
        # Other engines compare words such as v2 by the letter.
        return parsed if isinstance(parsed, str) else value
    if spelled.startswith(CONSTRAINT_PREFIX):
        _check_constraint(key, spelled, value)
    elif spelled.lower().startswith("delta.") and not spelled.startswith(_OPEN_PREFIXES):
        raise _unknown(key)
    return value


def _check_settable(known: Property[Any]) -> None:
    if not known.settable:
        raise TablePropertyError(
            f"The table property {known.key} belongs to the table's writers and cannot be set",
            hint=f"Leave {known.key} out.",
            condition="DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
        )


def _check_constraint(key: str, spelled: str, value: str) -> None:
    if not value.strip() or spelled == CONSTRAINT_PREFIX:
        raise TablePropertyError(
            f"The constraint {key} needs a name and a condition",
            hint="Write it as delta.constraints.<name> = <SQL condition>.",
        )


def _unknown(key: str) -> TablePropertyError:
    near = get_close_matches(key.lower(), _SPELLING, n=1)
    hint = f"Did you mean {_SPELLING[near[0]]}?" if near else "Names of your own need no 'delta.'."
    return TablePropertyError(
        f"There is no table property {key}", hint=hint, condition="DELTA_UNKNOWN_CONFIGURATION"
    )
