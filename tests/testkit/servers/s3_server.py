"""A real S3 API on a free port of this machine: moto's server in a process of its own.

    with running_s3_server() as server:
        store = open_store(server.new_bucket() + "/table", server.storage_options)

The `s3_server` fixture runs one for the whole session. The server process ends when its standard
input closes, so it never outlives the tests, even if they are killed.

moto looks whether the name is free and then writes, without a lock in between: with 8 writers and
a thread switch every 10 us, 5 names in 100 had two "winners". S3 itself decides atomically, so
this server handles one request at a time; requests still arrive and wait concurrently.

Buckets can be made that ignore the conditions of puts, as some servers of S3's API do.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LYING = "lying"


@dataclass(frozen=True)
class S3Server:
    endpoint: str

    @property
    def storage_options(self) -> dict[str, str]:
        return {
            "aws_access_key_id": "lakebed",
            "aws_secret_access_key": "lakebed",
            "aws_region": "us-east-1",
            "aws_endpoint_url": self.endpoint,
            "aws_allow_http": "true",
        }

    @property
    def hadoop_settings(self) -> dict[str, str]:
        return {
            "fs.s3a.access.key": "lakebed",
            "fs.s3a.secret.key": "lakebed",
            "fs.s3a.endpoint": self.endpoint,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.path.style.access": "true",
        }

    def new_bucket(self, *, ignores_conditions: bool = False) -> str:
        """The URL of a new, empty bucket, without a slash at the end."""
        name = f"{LYING if ignores_conditions else 'bucket'}-{uuid.uuid4().hex}"
        request = urllib.request.Request(f"{self.endpoint}/{name}", method="PUT")
        with urllib.request.urlopen(request, timeout=30) as answer:
            answer.read()
        return f"s3://{name}"


@contextmanager
def running_s3_server() -> Iterator[S3Server]:
    command = [sys.executable, str(Path(__file__).resolve())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, f"the S3 server did not start; it ended with {process.wait()}"
        try:
            yield S3Server(f"http://127.0.0.1:{int(port)}")
        finally:
            process.kill()


class OneAtATime:
    """A WSGI application that runs another one under a lock."""

    def __init__(self, application: Callable[..., Any]) -> None:
        self._application = application
        self._lock = threading.Lock()

    def __call__(self, environ: Any, start_response: Any) -> list[bytes]:
        if environ["PATH_INFO"].startswith(f"/{LYING}-"):
            environ.pop("HTTP_IF_NONE_MATCH", None)
        with self._lock:
            return list(self._application(environ, start_response))


def serve() -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        def log(self, *_: Any) -> None:
            pass

    application = OneAtATime(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve()
