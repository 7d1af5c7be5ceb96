"""What `import lakebed` offers, and what it costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import lakebed

INIT = Path(__file__).resolve().parents[2] / "src" / "lakebed" / "__init__.py"


@pytest.mark.parametrize("name", lakebed.__all__)
def test_every_public_name_can_be_imported_and_says_what_it_is(name: str) -> None:
    assert getattr(lakebed, name).__doc__


def test_lazy_names_and_names_for_type_checkers_are_the_public_names() -> None:
    tree = ast.parse(INIT.read_text(encoding="utf-8"))
    typed = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.If)
        for statement in node.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert typed == set(lakebed.__all__) == set(lakebed._HOMES)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="opne"):
        _ = lakebed.opne


@pytest.mark.parametrize("heavy", ["pyarrow", "obstore", "pandas", "pyspark"])
def test_importing_lakebed_alone_imports_nothing_heavy(heavy: str) -> None:
    code = f"import sys, lakebed; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("heavy", ["pyarrow", "obstore", "pandas"])
def test_enabling_a_session_imports_only_what_it_needs(heavy: str) -> None:
    code = f"""
import sys, lakebed, lakebed.sessions.native.python_side
assert callable(lakebed.enable)
sys.exit({heavy!r} in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_pyspark_the_error_says_what_to_install() -> None:
    script = """
import sys
sys.modules["pyspark"] = None
import lakebed
from lakebed.errors import UnsupportedSparkError
try:
    lakebed.session()
except UnsupportedSparkError as error:
    print(error)
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "UNSUPPORTED_SPARK" in done.stdout
    assert "pip install 'lakebed[spark]'" in done.stdout
