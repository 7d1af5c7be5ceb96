"""A process that commits to one table until it is killed; see bench/stores.py.

    python _store_writer.py <url> <options as JSON> <name> <seconds> <file for acknowledgements>

Each acknowledgement is a line: the number of the commit, its version, and the attempts it took.
"""

from __future__ import annotations

import json
import os
import sys
import time

from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Add, Txn
from lakebed.storage import open_store
from lakebed.transaction import Operation, Transaction


def work(url: str, options: dict[str, str], name: str, until: float, acknowledged: str) -> None:
    snapshot = TableLog(open_store(url, options)).snapshot()
    lines = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    last = snapshot.transactions.get(name)
    number = 0 if last is None else last.version + 1
    while time.time() < until:
        transaction = Transaction(snapshot, operation=Operation("WRITE", {"mode": "Append"}))
        stats = json.dumps({"numRecords": 1})
        file = Add(f"{name}-{number}.parquet", {}, 100, 1, True, stats=stats)
        transaction.stage(Txn(name, number), file)
        outcome = transaction.commit().unwrap()
        os.write(lines, f"{number} {outcome.version} {outcome.attempts}\n".encode())
        snapshot, number = outcome.snapshot, number + 1


if __name__ == "__main__":
    url, options, name, until, acknowledged = sys.argv[1:]
    work(url, json.loads(options), name, float(until), acknowledged)
