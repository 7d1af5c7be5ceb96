import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from s3_server import s3_server

__all__ = ["s3_server"]
