import sys
from pathlib import Path

for _neighbour in (".", "transaction"):
    sys.path.insert(0, str(Path(__file__).parents[1] / _neighbour))
