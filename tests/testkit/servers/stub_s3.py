"""An S3 API of a few lines, whose answers a test can script."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import pytest

_PAGE = 1000


class StubS3(ThreadingHTTPServer):
    """Keeps objects in a dict. `script` takes over the next PUTs, one entry each."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}
        self.script: list[str] = []
        self.requests: list[tuple[str, str, str | None]] = []
        self.ignores_conditions = False
        self.refuses_with: int | None = None

    def options(self, **more: object) -> dict[str, object]:
        return {
            "aws_access_key_id": "a",
            "aws_secret_access_key": "b",
            "aws_endpoint_url": f"http://127.0.0.1:{self.server_port}",
            "aws_allow_http": "true",
            "retry_timeout": "5s",
            **more,
        }


class _Handler(BaseHTTPRequestHandler):
    server: StubS3

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        condition = self.headers.get("If-None-Match")
        self.server.requests.append(("PUT", self.path, condition))
        step = self.server.script.pop(0) if self.server.script else "normal"
        if step == "refuse":
            return self._answer(503, b"SlowDown")
        if step == "conflict":
            return self._answer(409, b"ConditionalRequestConflict")
        if step == "unknown":
            return self._answer(501, b"NotImplemented")
        if self.server.ignores_conditions:
            condition = None
        if condition == "*" and self.path in self.server.objects:
            return self._answer(412, b"PreconditionFailed")
        self.server.objects[self.path] = data
        if step == "drop":
            return self.connection.close()
        return self._answer(500 if step == "fail" else 200, b"")

    def do_GET(self) -> None:
        self.server.requests.append((self.command, self.path, None))
        if "list-type=2" in self.path:
            self._list()
            return
        data = self.server.objects.get(self.path)
        status = 404 if data is None else 200
        self._answer(status, data or b"", body=self.command == "GET")

    do_HEAD = do_GET

    def _list(self) -> None:
        """At most 1,000 names in their order; a token is the last name of the page before."""
        url = urlsplit(self.path)
        asked = {key: values[0] for key, values in parse_qs(url.query).items()}
        bucket, prefix = f"{url.path.rstrip('/')}/", asked.get("prefix", "")
        after = asked.get("continuation-token", asked.get("start-after", ""))
        found = {
            unquote(key).removeprefix(bucket): data for key, data in self.server.objects.items()
        }
        names = sorted(name for name in found if name.startswith(prefix) and name > after)
        page = names[:_PAGE]
        shown = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>{len(found[name])}</Size>"
            '<LastModified>2015-10-21T07:28:00Z</LastModified><ETag>"x"</ETag></Contents>'
            for name in page
        )
        token = f"<NextContinuationToken>{page[-1]}</NextContinuationToken>" if page else ""
        more = len(names) > len(page)
        text = f"<IsTruncated>{str(more).lower()}</IsTruncated>{token if more else ''}{shown}"
        self._answer(200, f"<ListBucketResult>{text}</ListBucketResult>".encode())

    def _answer(self, status: int, data: bytes, body: bool = True) -> None:
        if self.server.refuses_with is not None:
            status, data = self.server.refuses_with, b"AccessDenied"
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", '"x"')
        self.send_header("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT")
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def stub() -> Iterator[StubS3]:
    with StubS3() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
