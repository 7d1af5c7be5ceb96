"""Every Python example in the README and the docs runs, and prints what the page says it prints.

A page's ```python blocks run in order, in one namespace and a fresh folder. A ```text block after
the line `<!-- output -->` is exactly what the Python block before it prints. Where a page starts a
Spark session it gets the one of the tests, which is the one that is running. What a page changes
for the whole process is taken back after it.
"""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from lakebed.sessions.drop_in.install import remove as remove_drop_in

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(
    r"^(?P<marker><!-- output -->\n)?```(?P<language>\w+)\n(?P<body>.*?)^```$", re.DOTALL | re.M
)

START = re.compile(r"lakebed\.session\(|\.getOrCreate\(")


@dataclass
class Example:
    line: int
    code: str
    output: str | None = None


def examples(page: str) -> list[Example]:
    found: list[Example] = []
    for block in BLOCK.finditer(page):
        if block["language"] == "python":
            found.append(Example(page.count("\n", 0, block.start("body")), block["body"]))
        elif block["marker"]:
            assert found, "an output without an example before it"
            found[-1].output = block["body"]
    return found


def run_page(page: str, name: str = "page") -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    for example in examples(page):
        printed = io.StringIO()
        # Blank lines put the code where it is on the page, so that a traceback names its line.
        code = compile("\n" * example.line + example.code, name, "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        if example.output is not None:
            assert printed.getvalue() == example.output, f"{name}, example at {example.line + 1}"


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_every_example_on_the_page_runs_and_prints_what_it_says(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    text = page.read_text(encoding="utf-8")
    if any(START.search(example.code) for example in examples(text)):
        request.getfixturevalue("spark")
    monkeypatch.chdir(tmp_path)
    try:
        run_page(text, str(page))
    finally:
        remove_drop_in()


# --- the runner itself -------------------------------------------------------------------------

PAGE = """\
Text.

```python
x = 1
```

```text
not an output
```

```python
print(x + 1)
```

<!-- output -->
```text
2
```
"""


def test_the_readme_has_examples_with_outputs() -> None:
    readme = examples((ROOT / "README.md").read_text(encoding="utf-8"))
    assert [example for example in readme if example.output is not None]


def test_blocks_share_names_and_only_marked_text_is_output() -> None:
    run_page(PAGE)
    assert [example.output for example in examples(PAGE)] == [None, "2\n"]
    assert [example.line for example in examples(PAGE)] == [3, 11]


def test_an_output_that_differs_fails() -> None:
    with pytest.raises(AssertionError):
        run_page(PAGE.replace("\n2\n", "\n3\n"))


def test_an_example_that_raises_fails_at_its_line_of_the_page() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run_page(PAGE.replace("print(x + 1)", "print(x / 0)"))
    assert caught.traceback[-1].lineno + 1 == 12
