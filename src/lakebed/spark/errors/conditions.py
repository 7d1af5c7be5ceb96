"""What delta-spark calls the errors that Lakebed raises: condition, SQL state and family.

An error with a `condition` of its own has that; the others have the one of their code, or the code
itself where delta-spark has no name for it. The names and states are those of delta-spark 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from lakebed import errors
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
        return Condition(error.condition, _STATES[error.condition])
    name, state, _ = _BY_CODE.get(error.code, (error.code, _UNKNOWN_STATE, None))
    return Condition(name, state)


def family_of(kind: type[LakebedError], condition: str | None) -> Family:
    if issubclass(kind, (errors.ArgumentTypeError, errors.ArgumentValueError)):
        # delta-spark checks these in Python, before Spark is asked.
        return Family.OTHER
    if condition is not None:
        return _FAMILIES[condition]
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
    "DATA_FILE": ("DELTA_FILE_NOT_FOUND", "42K03", Family.OTHER),
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
    "TABLE_PROPERTY": ("TABLE_PROPERTY", _UNKNOWN_STATE, Family.ANALYSIS),
    "UNSUPPORTED_FEATURE": ("UNSUPPORTED_FEATURE", _UNKNOWN_STATE, Family.ANALYSIS),
    "VERSION_NOT_FOUND": ("DELTA_VERSION_NOT_FOUND", "22003", Family.ANALYSIS),
}
_STATES: Mapping[str, str] = {}
_FAMILIES: Mapping[str, Family] = {}
