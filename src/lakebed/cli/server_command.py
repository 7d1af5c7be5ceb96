"""`lakebed server`: a Spark Connect server whose JVM reads and writes Delta tables.

Clients of any language need nothing of Lakebed. Those that have it also have `DeltaTable`.
"""

from __future__ import annotations

import signal
import sys
import threading

from lakebed.cli.command_options import ServerOptions
from lakebed.errors import InvalidArgumentError, LakebedError
from lakebed.sessions.enable import session
from lakebed.settings.setting_table import SERVER
from lakebed.spark.internals.connect.connect_server import RELATIONS, TABLE_CALLS, start_service


def run(options: ServerOptions) -> int:
    """Serves until it is interrupted or terminated."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    others = options.settings.get(RELATIONS)
    settings = {
        **options.settings,
        RELATIONS: f"{others},{TABLE_CALLS}" if others else TABLE_CALLS,
        SERVER.name: "true",
        "spark.connect.grpc.binding.address": options.host,
        "spark.connect.grpc.binding.port": str(options.port),
        # Another port than the one that clients know would be of no use to them.
        "spark.connect.grpc.port.maxRetries": "0",
    }
    spark = session("lakebed-server", master=options.master, **settings)
    try:
        # Not by Spark's plugin, which listens before Lakebed can answer.
        port = start_service(spark)
    except LakebedError:
        spark.stop()
        raise
    except Exception as error:
        spark.stop()
        raise InvalidArgumentError(
            f"cannot listen on {options.host}:{options.port}: {error}",
            hint="choose another --port (0 takes a free one) or --host",
        ) from error
    sys.stdout.write(f"Delta tables on Spark Connect: sc://{options.host}:{port}\n")
    sys.stdout.flush()
    ended.wait()
    spark.stop()
    return 0
