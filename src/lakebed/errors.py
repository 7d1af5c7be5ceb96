"""Every error that Lakebed raises: one root, each with a stable code, a message and a hint."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


class LakebedError(Exception):
    """The root of all errors. `code` never changes; `hint` says what to do next.

    `condition` is delta-spark's name for this very case, where that is narrower than `code`, and
    `parameters` are what delta-spark tells of it.
    """

    code = "LAKEBED"
    condition: str | None = None
    parameters: Mapping[str, str] | None = None

    def __new__(cls, *given: Any, condition: str | None = None, **named: Any) -> Self:  # noqa: ARG004
        kind: type[Self] = _raised_kind(cls, condition)
        return super().__new__(kind, *given)

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        condition: str | None = None,
        parameters: Mapping[str, object] | None = None,
    ) -> None:
        self.message = presentable(message)
        self.hint = None if hint is None else presentable(hint)
        if condition is not None:
            self.condition = condition
        if parameters is not None:
            self.parameters = {name: presentable(str(each)) for name, each in parameters.items()}
        super().__init__(self.message)

    def __str__(self) -> str:
        text = f"[{self.code}] {self.message}"
        return f"{text}\n  hint: {self.hint}" if self.hint else text


Kind = Callable[[type[Any], "str | None"], type[Any]]


def choose_kinds(choose: Kind) -> None:
    """From now on an error is of the class that `choose` gives for its own class and condition.

    That is a subclass. Where PySpark is in use it is one of PySpark's exceptions too, which no
    class here can be: tables without Spark do without PySpark.
    """
    global _raised_kind
    _raised_kind = choose


def _same(kind: type[Any], condition: str | None) -> type[Any]:
    del condition
    return kind


_raised_kind: Kind = _same


def presentable(text: str) -> str:
    """The text without passwords of URLs, and with characters that steer terminals as escapes.

    Names of files, values of options and messages of other libraries may have either.
    """
    if "@" in text or "=" in text:
        text = _SECRET_PARAMETER.sub(r"\1***", _USER_AND_PASSWORD.sub(r"\1***@", text))
    return for_terminals(text)


def for_terminals(text: str) -> str:
    """The text with characters that steer terminals as escapes; tabs and line feeds stay."""
    return text if text.isprintable() else _STEERING.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


# A password may have an @ itself, but no slash. A colon must be there: abfss:// has containers.
_USER_AND_PASSWORD = re.compile(r"(://)[^/\s'\"@:]*:[^/\s'\"]*@")
_SECRET_PARAMETER = re.compile(
    r"((?:^|[?&;])(?:password|passwd|pwd|secret|sig|(?:[a-z-]*-)?(?:token|signature|credential))=)"
    r"[^&;\s'\"]*",
    re.IGNORECASE,
)
# All control characters but tab and line feed, and those that turn the direction of text.
_STEERING = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


class InvalidArgumentError(LakebedError):
    """An argument of a call is wrong; nothing was changed."""

    code = "INVALID_ARGUMENT"


class ArgumentTypeError(InvalidArgumentError, TypeError):
    """An argument of a call has a wrong type."""


class ArgumentValueError(InvalidArgumentError, ValueError):
    """An argument of a call is missing, or has a value that it cannot have."""


# --- storage -----------------------------------------------------------------------------------


class StorageError(LakebedError):
    """The store failed, and it is not known whether the operation took effect."""

    code = "STORAGE"


class ObjectNotFoundError(StorageError):
    code = "OBJECT_NOT_FOUND"


class ObjectExistsError(StorageError):
    """`put_if_absent` found an object: ours was certainly not written."""

    code = "OBJECT_EXISTS"


class NotWrittenError(StorageError):
    """The store refused to write, for want of room or permission: certainly nothing was written."""

    code = "NOT_WRITTEN"


class ExternalPathError(StorageError):
    """The log of a table refers to a file in a place that the user has not named."""

    code = "EXTERNAL_PATH"


class StorageUrlError(StorageError):
    """A URL or its storage options cannot be turned into a store."""

    code = "STORAGE_URL"


class StoreCredentialsError(StorageError):
    """Credentials for a store are missing, or the store refuses them."""

    code = "STORE_CREDENTIALS"


class BucketNotFoundError(StorageError):
    """The bucket or container of a URL does not exist."""

    code = "BUCKET_NOT_FOUND"


class NoConnectorError(StorageError):
    """Spark has no Hadoop connector for a store, and the native plane was asked for."""

    code = "NO_CONNECTOR"


class StoreNotSafeError(StorageError):
    """The store does not refuse to create what exists, so writers would overwrite commits.

    Nothing was committed.
    """

    code = "STORE_NOT_SAFE"


# --- reading the log ---------------------------------------------------------------------------


class TableNotFoundError(LakebedError):
    code = "TABLE_NOT_FOUND"


class CatalogError(LakebedError):
    """The database of an embedded catalog does not answer."""

    code = "CATALOG"


class LogCorruptedError(LakebedError):
    """A file of the log, or the log as a whole, breaks the protocol. `file` names it."""

    code = "LOG_CORRUPTED"

    def __init__(self, message: str, *, file: str | None = None, hint: str | None = None) -> None:
        self.file = file
        super().__init__(f"{file}: {message}" if file else message, hint=hint)


class DataFileError(LakebedError):
    """A data, change or deletion-vector file is missing or unreadable."""

    code = "DATA_FILE"

    def __init__(self, message: str, *, file: str | None = None, hint: str | None = None) -> None:
        self.file = file
        super().__init__(f"{file}: {message}" if file else message, hint=hint)


class VersionNotFoundError(LakebedError):
    """Time travel asks for a version or time that the log no longer has, or never had."""

    code = "VERSION_NOT_FOUND"


class UnsupportedFeatureError(LakebedError):
    """The table needs features or protocol versions that Lakebed does not have."""

    code = "UNSUPPORTED_FEATURE"

    def __init__(
        self,
        message: str,
        *,
        features: Sequence[str] = (),
        hint: str | None = None,
        condition: str | None = None,
        parameters: Mapping[str, object] | None = None,
    ) -> None:
        self.features = tuple(features)
        super().__init__(message, hint=hint, condition=condition, parameters=parameters)


class UnsupportedSparkError(LakebedError):
    """Spark, Java or Python are of a version that Lakebed does not work with."""

    code = "UNSUPPORTED_SPARK"


class FeatureDropPendingError(LakebedError):
    """The table no longer uses a feature, but older versions that can be read do: try later."""

    code = "FEATURE_DROP_PENDING"


# --- streams ------------------------------------------------------------------------------------


class StreamingError(LakebedError):
    """A stream from or into a table cannot go on."""

    code = "STREAMING"


class StreamOffsetError(StreamingError):
    """An offset in the checkpoint of a query is not one of a Delta table."""

    code = "STREAM_OFFSET"


class SourceReplacedError(StreamingError):
    """The table that a stream reads was replaced by another one."""

    code = "SOURCE_REPLACED"


class SourceChangedError(StreamingError):
    """A commit of the source deletes or updates rows, which a stream of appended rows lacks.

    `version` is that of the commit.
    """

    code = "SOURCE_CHANGED"

    def __init__(self, message: str, *, version: int, hint: str | None = None) -> None:
        self.version = version
        super().__init__(message, hint=hint)


class SourceSchemaChangedError(StreamingError):
    """The columns of the source changed. `is_retryable`: the query can simply be started again."""

    code = "SOURCE_SCHEMA_CHANGED"

    def __init__(
        self, message: str, *, is_retryable: bool = False, hint: str | None = None
    ) -> None:
        self.is_retryable = is_retryable
        super().__init__(message, hint=hint)


class SourceDataLossError(StreamingError):
    """Commits or files that a stream has not read yet were removed.

    `readable_from` is the first version from which on the source can be read, if it is known.
    """

    code = "SOURCE_DATA_LOSS"

    def __init__(
        self, message: str, *, readable_from: int | None = None, hint: str | None = None
    ) -> None:
        self.readable_from = readable_from
        super().__init__(message, hint=hint)


# --- schemas, values, predicates ---------------------------------------------------------------


class SchemaError(LakebedError):
    """A schema is not valid, or cannot be changed as asked."""

    code = "SCHEMA"


class SchemaMismatchError(SchemaError):
    """Data does not fit the schema of the table; the message shows both."""

    code = "SCHEMA_MISMATCH"


class SchemaChangedError(SchemaError):
    """A DataFrame is older than the schema of its table, and cannot read the newest version."""

    code = "SCHEMA_CHANGED"


class ConstraintViolationError(LakebedError):
    """A row breaks NOT NULL, an invariant or a CHECK constraint."""

    code = "CONSTRAINT_VIOLATION"


class ExpressionNotAllowedError(InvalidArgumentError):
    """The metadata of a table has an expression that may do more than compute a value."""

    code = "EXPRESSION_NOT_ALLOWED"


class TablePropertyError(LakebedError):
    """A table property has no such value, cannot be set, or does not exist."""

    code = "TABLE_PROPERTY"


class PartitionValueError(LakebedError):
    code = "PARTITION_VALUE"


class SqlTextError(LakebedError):
    """Something is wrong at a place in a SQL text. `position` is an offset in `sql`."""

    def __init__(
        self,
        message: str,
        *,
        sql: str | None = None,
        position: int | None = None,
        hint: str | None = None,
    ) -> None:
        self.sql = sql
        self.position = position
        if sql is not None and position is not None:
            message = f"{message}\n{excerpt(sql, position)}"
        super().__init__(message, hint=hint)


class PredicateError(SqlTextError):
    """A SQL predicate cannot be parsed, resolved or typed."""

    code = "PREDICATE"


class SqlError(SqlTextError):
    """A SQL statement cannot be parsed, or names what is not there."""

    code = "SQL"


def excerpt(sql: str, position: int) -> str:
    """The line of the SQL around the position, and a mark below it."""
    start = max(sql.rfind("\n", 0, position) + 1, position - 60)
    line = sql[start : position + 40].split("\n")[0].replace("\t", " ")
    return f"  {line}\n  {' ' * (position - start)}^"


class EvaluationError(LakebedError):
    """A value cannot be computed: overflow, division by zero, text that is no number."""

    code = "EVALUATION"


# --- writing -----------------------------------------------------------------------------------


class TableExistsError(LakebedError):
    code = "TABLE_EXISTS"


class JobFailedError(LakebedError):
    """A job of Spark failed for good, and with it what it was part of."""

    code = "JOB_FAILED"


class MultipleMatchesError(LakebedError):
    """Several rows of the source of a MERGE would change one row of the table."""

    code = "MULTIPLE_MATCHES"


class AppendOnlyError(LakebedError):
    code = "APPEND_ONLY"


class InvalidCommitError(LakebedError):
    """The staged actions would break the protocol; nothing was written."""

    code = "INVALID_COMMIT"


class CommitUnknownError(LakebedError):
    """The store failed and the commit could not be read back: it may or may not be there."""

    code = "COMMIT_UNKNOWN"


class ConflictError(LakebedError):
    """Another commit came first and cannot be reconciled with this one; nothing was written."""

    code = "CONFLICT"

    def __init__(
        self,
        message: str,
        *,
        version: int | None = None,
        operation: str | None = None,
        files: Sequence[str] = (),
        hint: str | None = None,
    ) -> None:
        self.version = version
        self.operation = operation
        self.files = tuple(files)
        super().__init__(message, hint=hint)


class ConcurrentWriteError(ConflictError):
    code = "CONCURRENT_WRITE"


class MetadataChangedError(ConflictError):
    code = "METADATA_CHANGED"


class ProtocolChangedError(ConflictError):
    code = "PROTOCOL_CHANGED"


class ConcurrentAppendError(ConflictError):
    code = "CONCURRENT_APPEND"


class ConcurrentDeleteReadError(ConflictError):
    code = "CONCURRENT_DELETE_READ"


class ConcurrentDeleteDeleteError(ConflictError):
    code = "CONCURRENT_DELETE_DELETE"


class RowConflictError(ConcurrentDeleteDeleteError):
    """Both commits delete or change the same rows. `rows` has some of their indexes by file, and
    `values` some of the rows as the operation read them.
    """

    code = "ROW_CONFLICT"

    def __init__(
        self,
        message: str,
        *,
        version: int | None = None,
        operation: str | None = None,
        files: Sequence[str] = (),
        rows: Mapping[str, list[int]] | None = None,
        values: Sequence[Mapping[str, object]] = (),
        hint: str | None = None,
    ) -> None:
        self.rows: Mapping[str, list[int]] = {} if rows is None else dict(rows)
        self.values = tuple(values)
        super().__init__(message, version=version, operation=operation, files=files, hint=hint)


class ConcurrentTransactionError(ConflictError):
    code = "CONCURRENT_TRANSACTION"


class ConcurrentDomainError(ConflictError):
    code = "CONCURRENT_DOMAIN_METADATA"
