"""Changes to a table: staging, conflict rules, the commit loop."""

from lakebed.transaction.conflicts.conflict_errors import is_retryable
from lakebed.transaction.isolation import IsolationLevel
from lakebed.transaction.operation import Operation
from lakebed.transaction.outcome import Committed, Conflict, Outcome, Unknown
from lakebed.transaction.read_set import Reads, already_committed
from lakebed.transaction.retries import Retries
from lakebed.transaction.transaction import Transaction

__all__ = [
    "Committed",
    "Conflict",
    "IsolationLevel",
    "Operation",
    "Outcome",
    "Reads",
    "Retries",
    "Transaction",
    "Unknown",
    "already_committed",
    "is_retryable",
]
