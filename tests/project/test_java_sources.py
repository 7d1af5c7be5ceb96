"""The check of Lakebed's Java finds what it is there for."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

import java_sources  # noqa: E402


def test_the_sources_have_the_form() -> None:
    files = java_sources._java_files()
    assert len(files) > 30
    assert [fault for file in files for fault in java_sources.faults_of(file)] == []


def test_faults_of_form_are_named_with_their_line(tmp_path: Path) -> None:
    file = tmp_path / "A.java"
    file.write_text(
        f"class A {{\n\tint a;\n   int b;\n  int c; \n  // {'x' * 96}\n}}\n" + "\n" * 600
    )
    assert list(java_sources.faults_of(file)) == [
        f"{file}: has 606 lines, more than 600",
        f"{file}:2: has a tab",
        f"{file}:3: is indented by an odd number of blanks",
        f"{file}:4: ends with blanks",
        f"{file}:5: is 101 columns wide, more than 100",
    ]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("java.util.List a = new java.util.ArrayList();", 0),
        ("private static final long serialVersionUID = 1;", 0),
        ("org.apache.spark.sql.NoSuchClass a;", 1),
        ("int a(Object o) { switch (1) { case 1: a(o); case 2: a(o); } return 1; }", 1),
    ],
    ids=["raw type", "plain", "a class that Spark lacks", "fall through"],
)
def test_javac_refuses_what_does_not_fit_spark_and_what_lint_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, status: int
) -> None:
    javac, pyspark = shutil.which("javac"), find_spec("pyspark")
    if javac is None or pyspark is None or pyspark.origin is None:
        pytest.skip("there is no JDK or no PySpark")
    for folder in ("all_versions", "spark_4_1"):
        (tmp_path / folder).mkdir()
    (tmp_path / "all_versions" / "A.java").write_text(f"class A {{ {body} }}\n")
    monkeypatch.setattr(java_sources, "SOURCES", tmp_path)
    monkeypatch.setattr(java_sources, "BODIES", tmp_path / "none")
    jars = Path(pyspark.origin).parent / "jars"
    assert java_sources.compile_with(javac, jars) == status
