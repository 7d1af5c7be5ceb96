"""What a table holds after a job, told by a reader that is none of the writers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from suite.peer_process import PeerProcess
from suite.rounds import Check, Context


def table_facts(context: Context, expressions: Sequence[str]) -> Check:
    def check(peer: PeerProcess, arguments: dict[str, Any]) -> list[Any]:
        reader = context.peers.get("duckdb")
        if reader is None:
            return []
        path = arguments["path"]
        answer = reader.ask("facts", path=path, expressions=list(expressions))
        if "error" in answer:
            return [f"what {peer.name} made cannot be read: {answer['error']}"]
        facts: list[Any] = answer["facts"]
        return facts

    return check
