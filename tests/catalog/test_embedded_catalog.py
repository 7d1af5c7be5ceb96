"""An embedded catalog, in SQLite and in PostgreSQL, used by several processes at once."""

from __future__ import annotations

import multiprocessing
import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakebed.catalog.embedded import EmbeddedCatalog
from lakebed.catalog.records import NamespaceRecord, TableRecord
from lakebed.errors import (
    CatalogError,
    InvalidArgumentError,
    TableExistsError,
    TableNotFoundError,
)

PROCESSES = 4
ROUNDS = 15


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite://{tmp_path}/some%20where/cat.db"
    return str(request.getfixturevalue("postgres"))


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """A server of its own on a free port, as another user where this one is root."""
    found = [*Path("/usr/lib/postgresql").glob("*/bin/initdb"), shutil.which("initdb")]
    tools = next((Path(each).parent for each in found if each is not None), None)
    if tools is None:
        pytest.skip("there is no PostgreSQL here (initdb is neither installed nor on the PATH)")
    pytest.importorskip("psycopg")
    user = None
    if os.getuid() == 0:
        user = (
            "postgres" if any(each.pw_name == "postgres" for each in pwd.getpwall()) else "nobody"
        )
    home = Path(f"/tmp/lakebed-pg-{os.getpid()}")
    home.mkdir()
    if user is not None:
        shutil.chown(home, user)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = home / "data"
    run = [str(tools / "initdb"), "-D", str(data), "-U", "shop", "-A", "trust", "-N"]
    try:
        subprocess.run(run, check=True, capture_output=True, user=user, cwd=home)
        server = subprocess.Popen(
            [
                *(str(tools / "postgres"), "-D", str(data), "-k", str(home), "-F"),
                *("-h", "127.0.0.1", "-p", str(port)),
            ],
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            user=user,
            cwd=home,
        )
        try:
            ready = [str(tools / "pg_isready"), "-h", "127.0.0.1", "-p", str(port), "-t", "30"]
            for _ in range(200):
                if subprocess.run(ready, capture_output=True).returncode == 0:
                    break
            yield f"postgresql://shop@127.0.0.1:{port}/postgres"
        finally:
            server.terminate()
            server.wait(timeout=30)
    finally:
        shutil.rmtree(home)


def table(name: str, namespace: str = "default", location: str = "/x") -> TableRecord:
    return TableRecord("", namespace, name, location, True, "c'; DROP", "me")


def compete(url: str, number: int, gate: object, wins: object) -> None:
    """One of several processes that want the same names."""
    catalog = EmbeddedCatalog(url, "/w")
    for round in range(ROUNDS):
        gate.wait()  # type: ignore[attr-defined]
        for what in ("add", "rename", "drop", "undrop"):
            try:
                if what == "add":
                    catalog.add(table(f"t{round}", location=f"/x{number}"))
                elif what == "rename":
                    catalog.rename("default", f"t{round}", f"u{round}")
                elif what == "drop":
                    if catalog.drop("default", f"u{round}") is None:
                        continue
                else:
                    catalog.undrop("default", f"u{round}")
            except (TableExistsError, TableNotFoundError):
                continue
            finally:
                gate.wait()  # type: ignore[attr-defined]
            wins.put((round, what))  # type: ignore[attr-defined]


def test_of_several_processes_exactly_one_wins_each_name(url: str) -> None:
    context = multiprocessing.get_context("spawn")
    EmbeddedCatalog(url, "/w")
    gate, wins = context.Barrier(PROCESSES), context.Queue()
    workers = [context.Process(target=compete, args=(url, n, gate, wins)) for n in range(PROCESSES)]
    for worker in workers:
        worker.start()
    found = sorted(wins.get(timeout=120) for _ in range(4 * ROUNDS))
    for worker in workers:
        worker.join(timeout=60)
        assert worker.exitcode == 0
    assert wins.empty()
    kinds = ("add", "rename", "drop", "undrop")
    assert found == sorted((round, what) for round in range(ROUNDS) for what in kinds)
    content = EmbeddedCatalog(url, "/w").content()
    assert content.generation == 4 * ROUNDS
    assert sorted(each.name for each in content.tables) == sorted(f"u{n}" for n in range(ROUNDS))


def test_names_are_added_dropped_and_brought_back(tmp_path: Path) -> None:
    catalog = EmbeddedCatalog(f"sqlite://{tmp_path}/cat.db", "/warehouse")
    assert catalog.namespace("DEFAULT") == NamespaceRecord("default", "/warehouse")
    assert catalog.create_namespace(NamespaceRecord("Shop", "/s", "all", "me"))
    assert not catalog.create_namespace(NamespaceRecord("shop", "/other"))
    first = catalog.add(table("Orders", "Shop"))
    found = catalog.find("shop", "ORDERS")
    assert found == first
    assert (first.comment, first.owner, first.dropped) == ("c'; DROP", "me", None)
    with pytest.raises(TableExistsError):
        catalog.add(table("orders", "shop"))
    with pytest.raises(TableNotFoundError):
        catalog.add(table("orders", "shpo"))
    assert catalog.drop("shop", "orders") == first
    assert catalog.drop("shop", "orders") is None
    second = catalog.add(table("orders", "shop", "/y"))
    with pytest.raises(TableExistsError):
        catalog.undrop("shop", "orders")
    catalog.rename("shop", "orders", "others")
    assert catalog.undrop("shop", "orders").id == first.id
    with pytest.raises(TableExistsError):
        catalog.rename("shop", "orders", "others")
    with pytest.raises(InvalidArgumentError, match="2 tables"):
        catalog.drop_namespace("shop")
    assert catalog.drop_namespace("shop", cascade=True)
    assert not catalog.drop_namespace("shop", cascade=True)
    with pytest.raises(TableNotFoundError):
        catalog.undrop("shop", "orders")
    assert {each.id for each in catalog.expired(2**60)} == {first.id, second.id}
    assert catalog.expired(0) == []
    assert catalog.forget(first.id)
    assert not catalog.forget(first.id)


@pytest.mark.parametrize("name", ["my-schema", "", "a.b", "a b", "naïve", "x\n", "x" * 256, "a\0"])
def test_a_name_that_spark_cannot_show_is_refused_before_it_is_stored(url: str, name: str) -> None:
    catalog = EmbeddedCatalog(url, "/w")
    catalog.add(table("fine_1"))
    before = catalog.content()
    with pytest.raises(InvalidArgumentError, match="cannot be a name"):
        catalog.create_namespace(NamespaceRecord(name, "/s"))
    with pytest.raises(InvalidArgumentError, match="cannot be a name"):
        catalog.add(table(name))
    with pytest.raises(InvalidArgumentError, match="cannot be a name"):
        catalog.rename("default", "fine_1", name)
    assert catalog.content() == before
    catalog.drop("default", "fine_1")


def test_the_schema_of_global_views_and_a_schema_without_a_location_are_refused(url: str) -> None:
    catalog = EmbeddedCatalog(url, "/w")
    before = catalog.content()
    with pytest.raises(InvalidArgumentError, match="cannot be a name of a schema"):
        catalog.create_namespace(NamespaceRecord("Global_Temp", "/s"))
    for location in ("", " ", "/a\0b"):
        with pytest.raises(InvalidArgumentError, match="location"):
            catalog.create_namespace(NamespaceRecord("fine", location))
        with pytest.raises(InvalidArgumentError, match="location"):
            catalog.add(table("fine", location=location))
    assert catalog.content() == before


def test_an_error_in_a_change_takes_all_of_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite://{tmp_path}/cat.db"
    catalog = EmbeddedCatalog(url, "/w")

    def die(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("lakebed.catalog.embedded._changed", die)
        with pytest.raises(KeyboardInterrupt):
            catalog.add(table("half"))
    assert EmbeddedCatalog(url, "/w").find("default", "half") is None
    assert catalog.generation() == 0


@pytest.mark.parametrize("url", ["mysql://x", "sqlite://", "sqlite:///", "catalog.db", ""])
def test_urls_that_are_no_catalog_are_refused(url: str) -> None:
    with pytest.raises(InvalidArgumentError, match="sqlite:///"):
        EmbeddedCatalog(url, "/w")


def test_a_file_that_is_no_database_is_an_error_of_the_catalog(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("not a database, but long enough to be looked at" * 10)
    with pytest.raises(CatalogError, match="does not answer"):
        EmbeddedCatalog(f"sqlite://{tmp_path}/x.db", "/w")
    with pytest.raises(CatalogError) as failed:
        EmbeddedCatalog("postgresql://me:secret@127.0.0.1:1/db", "/w")
    assert "secret" not in str(failed.value)
