"""Settings and options: the tables, the sources and the docs name the same ones."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakebed.settings import option_table, setting_table
from lakebed.settings.option_table import READ_OPTIONS, STREAM_OPTIONS, WRITE_OPTIONS
from lakebed.settings.setting import Setting, SettingPrefix
from lakebed.settings.setting_table import DEFAULT_PROPERTIES, SETTINGS
from lakebed.spec.properties import PROPERTIES
from lakebed.storage.options import is_storage_option

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "lakebed"
ROOM = SOURCE / "settings"
NAME = re.compile(r"spark\.(?:databricks\.delta|lakebed)\.[\w.]*\w(?:\.?\*)?|LAKEBED_\w+")
PAGES = [page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "decisions"]
JAVA = sorted(SOURCE.rglob("*.java"))
PYTHON = sorted(file for file in SOURCE.rglob("*.py") if ROOM not in file.parents)


def test_the_page_has_the_tables_as_they_are() -> None:
    script = str(ROOT / "tools" / "settings_tables.py")
    done = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_sources_to_look_at() -> None:
    assert len(JAVA) > 30
    assert len(PYTHON) > 300


@pytest.mark.parametrize("file", JAVA, ids=lambda file: file.name)
def test_java_names_only_settings_of_the_table(file: Path) -> None:
    assert _unknown(file) == set()


def test_python_takes_the_names_of_settings_from_the_table() -> None:
    found = [(file.name, text) for file in PYTHON for text in _strings(file) if NAME.search(text)]
    assert found == []


def test_every_setting_is_in_the_table_under_a_name_of_its_own() -> None:
    records = [r for r in vars(setting_table).values() if isinstance(r, Setting | SettingPrefix)]
    assert records == list(SETTINGS.values())


def test_every_setting_of_the_table_is_used() -> None:
    assert _unused(vars(setting_table), (Setting, SettingPrefix)) == []


def test_every_option_of_the_tables_is_used() -> None:
    listed = {**READ_OPTIONS, **WRITE_OPTIONS}
    assert len(listed) == len(READ_OPTIONS) + len(WRITE_OPTIONS)
    # The options of a stream have names that reads have too.
    listed |= STREAM_OPTIONS
    assert _unused(vars(option_table), tuple({type(each) for each in listed.values()})) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_docs_name_only_settings_of_the_table(page: Path) -> None:
    # For the tests, which are no part of the package.
    assert _unknown(page) - {"LAKEBED_PEER_SEEDS"} == set()


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=lambda setting: setting.name)
def test_other_ways_to_say_the_same_exist(setting: Setting[object] | SettingPrefix) -> None:
    assert setting.does
    assert not setting.does.endswith(".")
    if isinstance(setting, SettingPrefix):
        return
    option = setting.option
    known = {*WRITE_OPTIONS, *STREAM_OPTIONS}
    assert option is None or option in known or is_storage_option(option)
    assert setting.table_property is None or setting.table_property in PROPERTIES


def _unknown(file: Path) -> set[str]:
    found = set(NAME.findall(file.read_text(encoding="utf-8")))
    return {name for name in found if not _is_known(name)}


def _is_known(name: str) -> bool:
    """A name, or one that ends with a star and stands for some."""
    environment = {getattr(each, "environment", None) for each in SETTINGS.values()}
    prefix = DEFAULT_PROPERTIES.name
    if name.endswith("*"):
        return any(known.startswith(name.rstrip("*")) for known in SETTINGS)
    if name.startswith(prefix):
        return f"delta.{name[len(prefix) :]}" in PROPERTIES
    return name in SETTINGS or name in environment


def _strings(file: Path) -> Iterator[str]:
    """The constants of a module that are no docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docs = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def _unused(records: dict[str, object], kinds: tuple[type, ...]) -> list[str]:
    used = {name for file in PYTHON for name in _taken(file)}
    java = "\n".join(file.read_text(encoding="utf-8") for file in JAVA)
    return [
        constant
        for constant, record in records.items()
        if isinstance(record, kinds)
        and constant not in used
        and f'"{getattr(record, "name", "")}"' not in java
    ]


def _taken(file: Path) -> Iterator[str]:
    """The records that a module imports or names as attributes of the tables."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    tables = {
        alias.asname or alias.name
        for node in imports
        if node.module == "lakebed.settings"
        for alias in node.names
        if alias.name in _SHORT
    }
    for node in imports:
        if node.module in _TABLES:
            yield from (alias.name for alias in node.names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) in tables:
            yield node.attr


_SHORT = {"setting_table", "option_table"}
_TABLES = {f"lakebed.settings.{name}" for name in _SHORT}
