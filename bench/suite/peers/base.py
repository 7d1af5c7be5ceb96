"""A peer in its own process: does jobs that it is asked for, and says how long they took.

Requests come as lines of JSON on the standard input, answers go as lines to the standard output.
A job that fails is an answer too. The other end is `suite/peer_process.py`.
"""

from __future__ import annotations

import gc
import json
import os
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, TextIO

Facts = list[Any]
After = Callable[[], Facts]
"""What a job may return: tells facts about its result, when the clock has stopped."""


class Peer:
    """Subclasses have a method for each job that they can do."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self.settings = settings

    def about(self) -> dict[str, Any]:
        """Versions, and the processes that do the work."""
        return {"pids": {"python": os.getpid()}}

    def settle(self) -> None:
        """Before the clock starts: nobody pays for what was left behind."""
        gc.collect()

    def close(self) -> None:
        """Nothing to close, unless a peer says otherwise."""


def serve(make: Callable[[], Peer]) -> None:
    """Does what it is asked for until nobody asks any more."""
    # Java and its libraries print what they like: only answers go where answers are read.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    peer = make()
    _tell(answers, peer.about())
    while line := _next_request():
        _tell(answers, _done(peer, json.loads(line)))
    peer.close()


def _next_request() -> str:
    import sys

    return sys.stdin.readline()


def _done(peer: Peer, request: dict[str, Any]) -> dict[str, Any]:
    job = getattr(peer, request.pop("do"))
    if request.pop("settle", True):
        peer.settle()
    start = time.perf_counter()
    try:
        after = job(**request)
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "facts": after() if callable(after) else None}
    except Exception as error:  # noqa: BLE001  whatever it is, the report tells it
        traceback.print_exc()
        text = str(error).strip().splitlines() or [""]
        return {"error": f"{type(error).__name__}: {text[0]}"[:300]}


def _tell(answers: TextIO, content: Mapping[str, Any]) -> None:
    answers.write(json.dumps(content, default=str) + "\n")
    answers.flush()
