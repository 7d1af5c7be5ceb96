"""Runs a server that ends when standard input closes: it never outlives the tests.

python keeper.py COMMAND...
"""

from __future__ import annotations

import subprocess
import sys
import threading


def keep(command: list[str]) -> int:
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as server:

        def end() -> None:
            sys.stdin.read()
            server.kill()

        threading.Thread(target=end, daemon=True).start()
        return server.wait()


if __name__ == "__main__":
    sys.exit(keep(sys.argv[1:]))
