"""A process that commits to a shared table until it is done or killed; see test_commit_stress.py.

    python commit_worker.py <url> <options as JSON> <name> <commits> <file for acknowledgements>

Every commit adds one file and carries the number of the commit as a transaction version, so that
a worker that starts again knows where it was. A line in the acknowledgements, `number version`, is
written after `commit` has said that the commit is there.
"""

from __future__ import annotations

import json
import os
import sys

from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Add, Txn
from lakebed.storage import open_store
from lakebed.transaction import Operation, Transaction


def work(url: str, options: dict[str, str], name: str, commits: int, acknowledged: str) -> None:
    snapshot = TableLog(open_store(url, options)).snapshot()
    acknowledgements = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    last = snapshot.transactions.get(name)
    for number in range(0 if last is None else last.version + 1, commits):
        transaction = Transaction(snapshot, operation=Operation("WRITE", {"mode": "Append"}))
        transaction.stage(Txn(name, number), file(name, number))
        outcome = transaction.commit().unwrap()
        os.write(acknowledgements, f"{number} {outcome.version}\n".encode())
        snapshot = outcome.snapshot


def file(name: str, number: int) -> Add:
    stats = json.dumps({"numRecords": 1, "minValues": {"id": number}, "maxValues": {"id": number}})
    return Add(f"{name}-{number}.parquet", {}, 100, 1, True, stats=stats)


if __name__ == "__main__":
    url, options, name, commits, acknowledged = sys.argv[1:]
    work(url, json.loads(options), name, int(commits), acknowledged)
