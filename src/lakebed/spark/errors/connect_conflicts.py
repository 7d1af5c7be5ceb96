"""Conflicts of commits as clients of Spark Connect raise them: `delta.connect.exceptions`.

A server says of which class its exception is, by the names of delta-spark's. That may be Lakebed's
server or delta-spark's own. Importing this module teaches PySpark the names; it needs the packages
of Spark Connect.
"""

from __future__ import annotations

from pyspark.errors.exceptions import connect
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

from lakebed.errors import ConflictError, LakebedError
from lakebed.spark.errors import conflict_names
from lakebed.spark.errors.conditions import conflict_class

__all__ = [
    "ConcurrentAppendException",
    "ConcurrentDeleteDeleteException",
    "ConcurrentDeleteReadException",
    "ConcurrentTransactionException",
    "ConcurrentWriteException",
    "DeltaConcurrentModificationException",
    "MetadataChangedException",
    "ProtocolChangedException",
]


class DeltaConcurrentModificationException(
    SparkConnectGrpcException, conflict_names.DeltaConcurrentModificationException
):
    """Another commit came first, and the server does not say more."""


class ConcurrentWriteException(SparkConnectGrpcException, conflict_names.ConcurrentWriteException):
    """Another commit wrote to the table after it was read."""


class MetadataChangedException(SparkConnectGrpcException, conflict_names.MetadataChangedException):
    """Another commit changed the schema or the properties of the table."""


class ProtocolChangedException(SparkConnectGrpcException, conflict_names.ProtocolChangedException):
    """Another commit changed the protocol of the table."""


class ConcurrentAppendException(
    SparkConnectGrpcException, conflict_names.ConcurrentAppendException
):
    """Another commit added files that the operation would have read."""


class ConcurrentDeleteReadException(
    SparkConnectGrpcException, conflict_names.ConcurrentDeleteReadException
):
    """Another commit removed files that the operation has read."""


class ConcurrentDeleteDeleteException(
    SparkConnectGrpcException, conflict_names.ConcurrentDeleteDeleteException
):
    """Another commit removed files that the operation removes."""


class ConcurrentTransactionException(
    SparkConnectGrpcException, conflict_names.ConcurrentTransactionException
):
    """Another commit has the same application transaction."""


def as_client_error(error: LakebedError) -> LakebedError:
    """The same error, a conflict also as one of the classes here."""
    if isinstance(error, ConflictError):
        kind = type(error)
        body = {"__module__": kind.__module__, "__doc__": kind.__doc__}
        error.__class__ = type(kind.__name__, (kind, globals()[conflict_class(kind)]), body)
    return error


# The names of delta-spark's module, which its own tests look at.
_DELTA_EXCEPTION_CLASS_MAPPING = {
    f"io.delta.exceptions.{name}": globals()[name] for name in __all__
}
connect.EXCEPTION_CLASS_MAPPING.update(_DELTA_EXCEPTION_CLASS_MAPPING)
_delta_exception_registered = True
