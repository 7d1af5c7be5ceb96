"""`lakebed sql` from beginning to end, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa

import lakebed

SCRIPT = """
INSERT INTO delta.`{t}` VALUES (1, 'one; "two"'), (2, NULL);
SELECT * FROM delta.`{t}` ORDER BY id;
UPDATE delta.`{t}` SET nmae = 'x';
SELECT 'never';
"""
_MAIN = "import sys; from lakebed.cli.main import main; sys.exit(main())"


def test_a_script_prints_results_and_stops_at_the_first_error(java: None, tmp_path: Path) -> None:  # noqa: ARG001
    table = tmp_path / "it's a table"
    lakebed.write(
        table, pa.table({"id": pa.array([], pa.int32()), "name": pa.array([], pa.string())})
    )
    (tmp_path / "script.sql").write_text(SCRIPT.format(t=table))
    arguments = ["sql", "-f", "script.sql", "--format", "csv", "--master", "local[1]"]
    arguments += ["--conf", "spark.driver.host=127.0.0.1"]
    done = subprocess.run(
        [sys.executable, "-c", _MAIN, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout == 'id,name\n1,"one; ""two"""\n2,\n'
    assert done.returncode == 1
    assert done.stderr.startswith("[UNRESOLVED_COLUMN.WITH_SUGGESTION]")
    assert "nmae" in done.stderr
    assert "Did you mean one of the following? [`id`, `name`]" in done.stderr
