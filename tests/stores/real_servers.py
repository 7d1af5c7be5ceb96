"""Servers of object stores as others run them, from the folder that `./run test --stores` fills.

versitygw speaks S3, Azurite Azure's Blob API. Each listens on a free port of this machine. One that
is not there skips its tests, with the reason. There is none for Google: docs/reliability.md says
which were tried.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("LAKEBED_TEST_STORES", ROOT / ".stores"))
START_SECONDS = 30
# The account of every Azurite, from its documentation.
AZURITE_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


@dataclass(frozen=True)
class RealServer:
    kind: str
    storage_options: Mapping[str, str] = field(repr=False)
    new_bucket: Callable[[], str] = field(repr=False)
    """The URL of a new, empty bucket, without a slash at the end."""


@contextmanager
def versitygw(folder: Path) -> Iterator[RealServer]:
    program = FOLDER / "bin" / "versitygw"
    _require(program, "versitygw")
    buckets = folder / "buckets"
    buckets.mkdir()
    port = _free_port()
    secret = "lakebed-secret"
    command = [str(program), "--port", f"127.0.0.1:{port}", "--access", "lakebed"]
    command += ["--secret", secret, "--quiet", "posix"]
    if not _has_attributes(buckets):
        (folder / "meta").mkdir()
        command += ["--sidecar", str(folder / "meta")]

    def new_bucket() -> str:
        import boto3

        name = f"bucket-{uuid.uuid4().hex}"
        client = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{port}",
            aws_access_key_id="lakebed",
            aws_secret_access_key=secret,
            region_name="us-east-1",
        )
        client.create_bucket(Bucket=name)
        client.close()
        return f"s3://{name}"

    options = {
        "aws_access_key_id": "lakebed",
        "aws_secret_access_key": secret,
        "aws_region": "us-east-1",
        "aws_endpoint_url": f"http://127.0.0.1:{port}",
        "aws_allow_http": "true",
    }
    with _running([*command, str(buckets)], port, folder):
        yield RealServer("versitygw", options, new_bucket)


@contextmanager
def azurite(folder: Path) -> Iterator[RealServer]:
    program = FOLDER / "node_modules" / ".bin" / "azurite-blob"
    _require(program, "Azurite")
    if shutil.which("node") is None:
        pytest.skip("Azurite needs Node.js, which is not installed")
    port = _free_port()
    command = [str(program), "--blobHost", "127.0.0.1", "--blobPort", str(port), "--silent"]
    command += ["--skipApiVersionCheck", "--inMemoryPersistence", "--disableTelemetry"]
    endpoint = f"http://127.0.0.1:{port}/devstoreaccount1"
    options = {
        "azure_storage_account_name": "devstoreaccount1",
        "azure_storage_account_key": AZURITE_KEY,
        "azure_endpoint": endpoint,
        "azure_allow_http": "true",
    }

    def new_bucket() -> str:
        name = f"box-{uuid.uuid4().hex}"
        _create_container(endpoint, name)
        return f"az://{name}"

    with _running(command, port, folder):
        yield RealServer("azurite", options, new_bucket)


def _create_container(endpoint: str, name: str) -> None:
    """By Azure's rules for signing a request with an account's key."""
    import base64
    import hashlib
    import hmac
    from email.utils import formatdate

    date, version = formatdate(usegmt=True), "2021-12-02"
    account = endpoint.rpartition("/")[2]
    headers = f"x-ms-date:{date}\nx-ms-version:{version}\n"
    resource = f"/{account}/{account}/{name}\nrestype:container"
    text = "PUT" + "\n" * 12 + headers + resource
    digest = hmac.digest(base64.b64decode(AZURITE_KEY), text.encode(), hashlib.sha256)
    request = urllib.request.Request(f"{endpoint}/{name}?restype=container", method="PUT")
    request.add_header("x-ms-date", date)
    request.add_header("x-ms-version", version)
    request.add_header("Content-Length", "0")
    signature = base64.b64encode(digest).decode()
    request.add_header("Authorization", f"SharedKey {account}:{signature}")
    with urllib.request.urlopen(request, timeout=30) as answer:
        answer.read()


def _require(program: Path, name: str) -> None:
    if not program.exists():
        pytest.skip(f"{name} is not installed: ./run test --stores does that where it can be had")


@contextmanager
def _running(command: list[str], port: int, folder: Path) -> Iterator[None]:
    keeper = [sys.executable, str(Path(__file__).with_name("keeper.py")), *command]
    log = folder / "server.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            keeper, stdin=subprocess.PIPE, stdout=output, stderr=output, cwd=folder
        ) as process,
    ):
        assert process.stdin is not None
        try:
            _await(port, process, log)
            yield
        finally:
            process.stdin.close()
            process.wait(timeout=30)


def _await(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5):
                return
        except urllib.error.HTTPError as error:
            error.close()
            return
        except OSError:
            time.sleep(0.05)
    pytest.fail(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _has_attributes(folder: Path) -> bool:
    """versitygw keeps the metadata of objects in attributes of files, where there are such."""
    try:
        os.setxattr(folder, "user.lakebed", b"1")
    except (OSError, AttributeError):
        return False
    return True


SERVERS = {"versitygw": versitygw, "azurite": azurite}
