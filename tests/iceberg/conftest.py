import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
for folder in (TESTS, TESTS / "arrow", TESTS / "log", TESTS / "services"):
    sys.path.insert(0, str(folder))
