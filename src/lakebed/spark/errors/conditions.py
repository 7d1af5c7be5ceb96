"""What delta-spark calls the errors that Lakebed raises: condition, SQL state and family.

An error with a `condition` of its own has that; the others have the one of their code, or the code
itself where delta-spark has no name for it. The names and states are those of delta-spark 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import lakebed.errors as errors
from lakebed.errors import LakebedError


class Family(Enum):
    """Which of PySpark's exceptions it is."""

    ANALYSIS = "analysis"
    PARSE = "parse"
    ARGUMENT = "argument"
    ANALYSIS_OR_ARGUMENT = "analysis or argument"
    """Where delta-spark has both, for cases that Lakebed has one code for."""
    UNSUPPORTED = "unsupported"
    ARITHMETIC = "arithmetic"
    OTHER = "other"
    """PySpark has no class for it."""


@dataclass(frozen=True)
class Condition:
    name: str
    sql_state: str


def condition_of(error: LakebedError) -> Condition:
    if error.condition is not None:
        return Condition(error.condition, _STATES.get(error.condition, _UNKNOWN_STATE))
    name, state, _ = _BY_CODE.get(error.code, (error.code, _UNKNOWN_STATE, None))
    return Condition(name, state)


def family_of(kind: type[LakebedError], condition: str | None) -> Family:
    if issubclass(kind, (errors.ArgumentTypeError, errors.ArgumentValueError)):
        # delta-spark checks these in Python, before Spark is asked.
        return Family.OTHER
    if condition is not None:
        # A server with a newer Lakebed may send one that is not here.
        return _FAMILIES.get(condition, Family.OTHER)
    return _BY_CODE[kind.code][2] if kind.code in _BY_CODE else Family.OTHER


def java_family(error: LakebedError) -> str:
    """The name by which `Errors.java` chooses a class."""
    if isinstance(error, errors.ConflictError):
        return conflict_class(type(error))
    family = family_of(type(error), error.condition)
    return (Family.ANALYSIS if family is Family.ANALYSIS_OR_ARGUMENT else family).value


def conflict_class(kind: type[errors.ConflictError]) -> str:
    """The name of delta-spark's class for a kind of conflict."""
    return _CONFLICTS.get(kind.code, "ConcurrentWriteException")


_CONFLICTS: Mapping[str, str] = {
    "METADATA_CHANGED": "MetadataChangedException",
    "PROTOCOL_CHANGED": "ProtocolChangedException",
    "CONCURRENT_APPEND": "ConcurrentAppendException",
    "CONCURRENT_DELETE_READ": "ConcurrentDeleteReadException",
    "CONCURRENT_DELETE_DELETE": "ConcurrentDeleteDeleteException",
    "ROW_CONFLICT": "ConcurrentDeleteDeleteException",
    "CONCURRENT_TRANSACTION": "ConcurrentTransactionException",
}
_UNKNOWN_STATE = "KD000"
_BY_CODE: Mapping[str, tuple[str, str, Family]] = {
    "APPEND_ONLY": ("DELTA_CANNOT_MODIFY_APPEND_ONLY", "42809", Family.UNSUPPORTED),
    "CONCURRENT_APPEND": ("DELTA_CONCURRENT_APPEND.WITHOUT_HINT", "2D521", Family.OTHER),
    "CONCURRENT_DELETE_DELETE": (
        "DELTA_CONCURRENT_DELETE_DELETE.WITHOUT_HINT",
        "2D521",
        Family.OTHER,
    ),
    "CONCURRENT_DELETE_READ": ("DELTA_CONCURRENT_DELETE_READ.WITHOUT_HINT", "2D521", Family.OTHER),
    "CONCURRENT_DOMAIN_METADATA": ("DELTA_CONCURRENT_WRITE", "2D521", Family.OTHER),
    "CONCURRENT_TRANSACTION": ("DELTA_CONCURRENT_TRANSACTION", "2D521", Family.OTHER),
    "CONCURRENT_WRITE": ("DELTA_CONCURRENT_WRITE", "2D521", Family.OTHER),
    "CONFLICT": ("DELTA_CONCURRENT_WRITE", "2D521", Family.OTHER),
    "CONSTRAINT_VIOLATION": ("DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "23001", Family.OTHER),
    "EVALUATION": ("CAST_INVALID_INPUT", "22018", Family.ARITHMETIC),
    "EXPRESSION_NOT_ALLOWED": (
        "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN",
        "42621",
        Family.ANALYSIS,
    ),
    "FEATURE_DROP_PENDING": (
        "DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD",
        "22KD0",
        Family.OTHER,
    ),
    "INVALID_ARGUMENT": ("INVALID_ARGUMENT", _UNKNOWN_STATE, Family.ANALYSIS_OR_ARGUMENT),
    "METADATA_CHANGED": ("DELTA_METADATA_CHANGED", "2D521", Family.OTHER),
    "MULTIPLE_MATCHES": (
        "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE",
        "21506",
        Family.UNSUPPORTED,
    ),
    "PARTITION_VALUE": ("DELTA_FAILED_CAST_PARTITION_VALUE", "22018", Family.ANALYSIS),
    "PREDICATE": ("PARSE_SYNTAX_ERROR", "42601", Family.PARSE),
    "PROTOCOL_CHANGED": ("DELTA_PROTOCOL_CHANGED", "2D521", Family.OTHER),
    "ROW_CONFLICT": ("DELTA_CONCURRENT_DELETE_DELETE.WITHOUT_HINT", "2D521", Family.OTHER),
    "SCHEMA": ("SCHEMA", _UNKNOWN_STATE, Family.ANALYSIS),
    "SCHEMA_CHANGED": ("DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS", "KD007", Family.ANALYSIS),
    "SCHEMA_MISMATCH": ("DELTA_METADATA_MISMATCH", "42KDG", Family.ANALYSIS),
    "SQL": ("PARSE_SYNTAX_ERROR", "42601", Family.PARSE),
    "TABLE_EXISTS": ("DELTA_TABLE_ALREADY_EXISTS", "42P07", Family.ANALYSIS),
    "TABLE_NOT_FOUND": ("DELTA_TABLE_NOT_FOUND", "42P01", Family.ANALYSIS),
    "TABLE_PROPERTY": ("TABLE_PROPERTY", _UNKNOWN_STATE, Family.ANALYSIS_OR_ARGUMENT),
    "UNSUPPORTED_FEATURE": ("UNSUPPORTED_FEATURE", _UNKNOWN_STATE, Family.ANALYSIS),
    "VERSION_NOT_FOUND": ("DELTA_VERSION_NOT_FOUND", "22003", Family.ANALYSIS),
}

# --- conditions of single cases: by family and SQL state --------------------------------------

_OTHERS: Mapping[Family, Mapping[str, tuple[str, ...]]] = {
    Family.ANALYSIS: {
        "0A000": (
            "DELTA_ADD_CONSTRAINTS",
            "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED",
            "INVALID_PARTITION_COLUMN_DATA_TYPE",
        ),
        "0AKDC": (
            "DELTA_CREATE_TABLE_IDENTIFIER_LOCATION_MISMATCH",
            "DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA",
            "DELTA_OPERATION_NOT_ALLOWED",
            "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP",
            "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP",
            "DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN",
            "DELTA_UNSUPPORTED_DROP_COLUMN",
            "DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN",
            "DELTA_UNSUPPORTED_RENAME_COLUMN",
            "WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED",
        ),
        "0AKDE": ("DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE",),
        "22000": ("DELTA_CLUSTERING_COLUMN_MISSING_STATS",),
        "23512": ("DELTA_NEW_CHECK_CONSTRAINT_VIOLATION",),
        "42000": (
            "DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED",
            "DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE",
            "DELTA_INVALID_INVENTORY_SCHEMA",
        ),
        "42601": (
            "DELTA_CREATE_TABLE_MISSING_TABLE_NAME_OR_LOCATION",
            "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION",
            "DELTA_IDENTITY_COLUMNS_PARTITION_NOT_SUPPORTED",
            "DELTA_MERGE_MISSING_WHEN",
            "DELTA_MERGE_UNRESOLVED_EXPRESSION",
        ),
        "42613": (
            "DELTA_CLUSTERING_WITH_ZORDER_BY",
            "DELTA_CLUSTER_BY_WITH_PARTITIONED_BY",
            "DELTA_TABLE_LOCATION_MISMATCH",
            "DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS",
        ),
        "42616": ("DELTA_UNSET_NON_EXISTENT_PROPERTY",),
        "42621": (
            "DELTA_INVALID_GENERATED_COLUMN_REFERENCES",
            "DELTA_NON_DETERMINISTIC_EXPRESSION_IN_GENERATED_COLUMN",
        ),
        "42701": ("DELTA_CONFLICT_SET_COLUMN",),
        "42703": (
            "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA",
            "DELTA_PARTITION_COLUMN_NOT_FOUND",
            "UNRESOLVED_COLUMN.WITH_SUGGESTION",
        ),
        "42704": ("DELTA_CONSTRAINT_DOES_NOT_EXIST",),
        "42710": ("DELTA_CONSTRAINT_ALREADY_EXISTS",),
        "42711": ("DELTA_DUPLICATE_COLUMNS_FOUND",),
        "42802": ("DELTA_INSERT_COLUMN_ARITY_MISMATCH",),
        "42808": (
            "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED",
            "DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED",
        ),
        "42816": ("DELTA_TIMESTAMP_INVALID",),
        "42846": (
            "CANNOT_UP_CAST_DATATYPE",
            "DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION",
        ),
        "428GU": ("DELTA_EMPTY_DATA",),
        "429BQ": (
            "DELTA_CANNOT_UPDATE_STRUCT_FIELD",
            "DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED",
            "DELTA_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN",
        ),
        "42K04": ("DELTA_PATH_EXISTS",),
        "42K05": ("DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES",),
        "42K09": ("DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH",),
        "42K0E": ("INVALID_NON_DETERMINISTIC_EXPRESSIONS",),
        "42KD7": (
            "DELTA_CREATE_TABLE_SCHEME_MISMATCH",
            "DELTA_CREATE_TABLE_WITH_DIFFERENT_PARTITIONING",
            "DELTA_CREATE_TABLE_WITH_DIFFERENT_PROPERTY",
            "DELTA_SET_LOCATION_SCHEMA_MISMATCH",
        ),
        "42P01": (
            "DELTA_CANNOT_REPLACE_MISSING_TABLE",
            "DELTA_MISSING_DELTA_TABLE",
        ),
        "42P07": ("DELTA_TABLE_ALREADY_EXISTS",),
        "42P10": (
            "DELTA_CLUSTERING_COLUMNS_MISMATCH",
            "DELTA_NON_PARTITION_COLUMN_REFERENCE",
        ),
        "44000": ("DELTA_REPLACE_WHERE_MISMATCH",),
        "54000": ("DELTA_CLUSTER_BY_INVALID_NUM_COLUMNS",),
        "F0000": ("DELTA_UNKNOWN_CONFIGURATION",),
        "KD005": ("ALL_PARTITION_COLUMNS_NOT_ALLOWED",),
        "KD009": (
            "DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME",
            "DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME",
        ),
        "KD00D": ("DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS",),
    },
    Family.PARSE: {
        "42601": ("PARSE_SYNTAX_ERROR",),
    },
    Family.ARGUMENT: {
        "0AKDC": (
            "DELTA_MODE_NOT_SUPPORTED",
            "DELTA_TABLE_FOR_PATH_UNSUPPORTED_HADOOP_CONF",
        ),
        "22003": (
            "DELTA_VACUUM_RETENTION_PERIOD_NEGATIVE",
            "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT",
        ),
        "42601": ("DELTA_ONEOF_IN_TIMETRAVEL",),
        "42613": ("DELTA_REPLACE_WHERE_WITH_DYNAMIC_PARTITION_OVERWRITE",),
        "42616": ("DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS",),
        "42P10": ("DELTA_ZORDERING_ON_PARTITION_COLUMN",),
    },
    Family.UNSUPPORTED: {
        "0AKDC": (
            "DELTA_CONVERSION_UNSUPPORTED_COLUMN_MAPPING",
            "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE",
        ),
        "42601": ("DELTA_OPTIMIZE_FULL_NOT_SUPPORTED",),
        "428H2": ("DELTA_IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE",),
        "42939": ("DELTA_CANNOT_MODIFY_TABLE_PROPERTY",),
    },
    Family.OTHER: {
        "0AKDC": (
            "DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE",
            "DELTA_FEATURE_DROP_UNSUPPORTED_CLIENT_FEATURE",
        ),
        "22000": ("DELTA_CONVERT_TO_DELTA_ROW_TRACKING_WITHOUT_STATS",),
        "23502": ("DELTA_NOT_NULL_CONSTRAINT_VIOLATED",),
        "42000": ("DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED",),
        "42711": ("DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS",),
        "42K03": ("DELTA_EMPTY_DIRECTORY",),
        "42KDA": ("DELTA_FAILED_MERGE_SCHEMA_FILE",),
        "55000": (
            "DELTA_CANNOT_VACUUM_LITE",
            "DELTA_FEATURE_CAN_ONLY_DROP_CHECKPOINT_PROTECTION_WITH_HISTORY_TRUNCATION",
            "DELTA_FEATURE_DROP_DEPENDENT_FEATURE",
            "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT",
        ),
        "56038": ("DELTA_UNSUPPORTED_FEATURES_IN_CONFIG",),
        "KD00E": ("DELTA_ICEBERG_COMPAT_VIOLATION.FILES_NOT_ICEBERG_COMPAT",),
    },
}
_STATES: Mapping[str, str] = {
    name: state for each in _OTHERS.values() for state, names in each.items() for name in names
}
_FAMILIES: Mapping[str, Family] = {
    name: family for family, each in _OTHERS.items() for names in each.values() for name in names
}
