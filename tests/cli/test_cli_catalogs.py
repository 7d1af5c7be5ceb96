"""`lakebed sql --catalog` and `--remote`: names that later runs find, and servers of others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import lakebed
from testkit.servers.connect_server import running_connect_server

_MAIN = "import sys; from lakebed.cli.main import main; sys.exit(main())"


def run(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    catalog = ("--catalog", f"sqlite://{folder}/names.db", "--format", "json")
    return subprocess.run(
        [sys.executable, "-c", _MAIN, "sql", "-c", text, *catalog, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_names_of_a_run_are_there_in_a_later_run(java: None, tmp_path: Path) -> None:  # noqa: ARG001
    make = f"""
        CREATE SCHEMA shop LOCATION '{tmp_path}/shop';
        CREATE TABLE shop.orders (id INT, price DOUBLE) USING delta;
        INSERT INTO shop.orders VALUES (1, 1.5), (2, NULL);
        CREATE TABLE shop.kept USING delta LOCATION '{tmp_path}/kept' AS SELECT 7 AS n;
        UPDATE shop.orders SET price = 3 WHERE id = 2;
        SELECT * FROM shop.orders ORDER BY id;
        SELECT * FROM shop.ordrs;
        SELECT 'never'
    """
    local = ("--master", "local[1]", "--conf", "spark.driver.host=127.0.0.1")
    first = run(tmp_path, make, *local)
    assert first.stdout.splitlines() == [
        '{"num_affected_rows":1}',
        '{"id":1,"price":1.5}',
        '{"id":2,"price":3.0}',
    ], first.stderr
    assert first.returncode == 1
    assert "TABLE_OR_VIEW_NOT_FOUND" in first.stderr
    assert "did you mean shop.orders?" in first.stderr
    assert "stacktrace" not in first.stderr
    again = """
        SELECT count(*) AS n FROM shop.orders;
        INSERT INTO shop.kept VALUES (8);
        DROP TABLE shop.orders PURGE;
        DROP TABLE shop.kept;
        SHOW TABLES IN shop
    """
    second = run(tmp_path, again, *local)
    assert (second.stdout, second.stderr) == ('{"n":2}\n', "")
    assert second.returncode == 0
    assert sorted(lakebed.open(tmp_path / "kept").to_arrow()["n"].to_pylist()) == [7, 8]
    assert not list((tmp_path / "shop").glob("orders-*"))


def test_a_server_without_lakebed_runs_statements_on_other_tables_alone(
    java: None,  # noqa: ARG001
    tmp_path: Path,
) -> None:
    text = f"SELECT 1 AS a; SELECT * FROM delta.`{tmp_path}/t`; SELECT 'never'"
    with running_connect_server() as address:
        done = run(tmp_path, text, "--remote", address)
    assert (done.stdout, done.returncode) == ('{"a":1}\n', 1)
    assert done.stderr.startswith("[UNSUPPORTED_FEATURE]")
    assert "`lakebed server`" in done.stderr
    assert "stacktrace" not in done.stderr


def test_an_address_that_is_none_is_told_without_a_stack(tmp_path: Path) -> None:
    done = run(tmp_path, "SELECT 1", "--remote", "sc://127.0.0.1:port")
    assert done.returncode == 1
    assert done.stderr.startswith("[JOB_FAILED] there is no session on sc://127.0.0.1:port")
    assert "Traceback" not in done.stderr
