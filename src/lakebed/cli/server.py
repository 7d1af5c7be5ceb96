"""`lakebed server`: a Spark Connect server whose JVM reads and writes Delta tables.

Clients of any language need nothing of Lakebed.
"""

from __future__ import annotations

import signal
import sys
import threading

from lakebed.cli.options import ServerOptions
from lakebed.sessions.enable import session

_PLUGIN = "org.apache.spark.sql.connect.SparkConnectPlugin"


def run(options: ServerOptions) -> int:
    """Serves until it is interrupted or told to end."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    settings = {
        **options.settings,
        "spark.plugins": _with_plugin(options.settings.get("spark.plugins")),
        "spark.connect.grpc.binding.address": options.host,
        "spark.connect.grpc.binding.port": str(options.port),
    }
    spark = session("lakebed-server", master=options.master, **settings)
    sys.stdout.write(f"Delta tables on Spark Connect: sc://{options.host}:{options.port}\n")
    sys.stdout.flush()
    ended.wait()
    spark.stop()
    return 0


def _with_plugin(others: str | None) -> str:
    return f"{others},{_PLUGIN}" if others else _PLUGIN
