"""How the source is laid out: small files, folders named after the domain, re-exports only."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "lakebed"
MODULES = sorted(PACKAGE.rglob("*.py"))
INITS = [module for module in MODULES if module.name == "__init__.py"]
LONGEST = 600
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc"}
# What an __init__ may assign: the list of its names, the version, and where lazy names come from.
ASSIGNABLE = {"__all__", "__version__", "_HOMES"}


def test_there_is_source_to_look_at() -> None:
    assert PACKAGE / "errors.py" in MODULES
    assert PACKAGE / "__init__.py" in INITS


def test_no_module_is_longer_than_600_lines() -> None:
    lengths = {_name(module): len(_text(module).splitlines()) for module in MODULES}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_no_file_or_folder_has_a_name_that_says_nothing() -> None:
    folders = [ROOT / name for name in ("src", "tests", "tools", "bench", "examples")]
    paths = [path for folder in folders for path in folder.rglob("*")]
    assert [_name(path) for path in paths if path.stem.strip("_") in VAGUE] == []


def test_every_init_holds_only_re_exports() -> None:
    assert [
        f"{_name(init)}:{node.lineno}"
        for init in INITS
        for node in ast.parse(_text(init)).body
        if not _is_re_export(node)
    ] == []


def test_every_module_says_what_it_is_for() -> None:
    modules = [module for module in MODULES if module not in INITS]
    assert [_name(m) for m in modules if not ast.get_docstring(ast.parse(_text(m)))] == []


def test_no_module_imports_through_the_top_of_the_package() -> None:
    """`from lakebed import x` inside the package hides a layer and makes a circle."""
    assert [
        f"{_name(module)}:{node.lineno}"
        for module in MODULES
        if module != PACKAGE / "__init__.py"
        for node in ast.walk(ast.parse(_text(module)))
        if _imports_the_top(node)
    ] == []


def test_test_files_have_names_of_their_own() -> None:
    """Tests are no packages, so two files with one name would be one module."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def _is_re_export(node: ast.stmt) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.FunctionDef(name="__getattr__"):
            return True
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name in ASSIGNABLE
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body, orelse=[]):
            return all(isinstance(inner, ast.ImportFrom) for inner in body)
    return False


def _imports_the_top(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "lakebed"
    return isinstance(node, ast.Import) and any(alias.name == "lakebed" for alias in node.names)


def _text(module: Path) -> str:
    return module.read_text(encoding="utf-8")


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))
