"""Values of parameters that clients of `lakebed server` give stay values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from testkit import hostile_values
from testkit.hostile_values import STATEMENTS


@pytest.mark.parametrize("name", STATEMENTS)
def test_parameters_of_clients_stay_values(spark: Any, tmp_path: Path, name: str) -> None:
    hostile_values.run(spark, str(tmp_path / "t"), name)
