"""Makes the folder `bench` importable, and starts."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from suite.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
