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
SUITES = {
    *("apis", "bench", "connect", "docs", "durability", "golden", "interop"),
    *("peers", "project", "simulation", "stores"),
}
"""Folders of tests that are about the whole product, or about a folder beside the source."""
SHARED = "testkit"
MOST_IN_A_FOLDER = 20
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


def test_the_folders_of_tests_mirror_the_rooms() -> None:
    tests = ROOT / "tests"
    folders = {file.parent.relative_to(tests) for file in tests.rglob("test_*.py")}
    in_rooms = {each for each in folders if str(each) == "." or each.parts[0] not in SUITES}
    rooms = {folder.parent.relative_to(PACKAGE) for folder in INITS} - {Path()}
    assert {str(each) for each in in_rooms - rooms} == set()
    assert {each for each in SUITES if (PACKAGE / each).exists()} == set()


def test_no_folder_of_tests_is_a_heap() -> None:
    folders = Counter(file.parent for file in (ROOT / "tests").rglob("test_*.py"))
    assert {_name(each): n for each, n in folders.items() if n > MOST_IN_A_FOLDER} == {}


def test_what_tests_share_has_no_tests() -> None:
    assert list((ROOT / "tests" / SHARED).rglob("test_*.py")) == []


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
