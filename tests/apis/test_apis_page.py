"""The page `docs/apis.md` says what the tests do."""

from __future__ import annotations

import ast
from collections import Counter

import pytest
from all_cases import CASES
from apis_page import PAGE, PROGRAMS, ROOT, Program, page


def test_the_page_lists_the_cases() -> None:
    assert PAGE.read_text() == page(), "run python tests/apis/apis_page.py"


def test_each_case_has_a_name_of_its_own() -> None:
    names = Counter((case.group, case.name) for case in CASES)
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_tests_of_other_programs_are_there(program: Program) -> None:
    file, _, name = program.test.partition("::")
    tree = ast.parse((ROOT / "tests" / file).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
