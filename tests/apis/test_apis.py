"""Every way to a Delta table that a session of Spark has: each case in one session."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest
from all_cases import CASES
from api_case import Case, place
from pyspark.sql import SparkSession

SPARK = tuple(int(part) for part in pyspark.__version__.split(".")[:2])


def parameter(case: Case) -> object:
    since = ".".join(map(str, case.since))
    missing = pytest.mark.skipif(case.since > SPARK, reason=f"came with Spark {since}")
    return pytest.param(case, id=f"{case.group}: {case.name}", marks=missing)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("case", [parameter(each) for each in CASES])
def test_api(spark: SparkSession, tmp_path: Path, case: Case) -> None:
    with place(spark, tmp_path, "apis") as here:
        case.check(here)
