"""Polars. It reads the tables that Lakebed made."""

from __future__ import annotations

import importlib.metadata
from typing import Any

from suite.peers.base import Peer


class Polars(Peer):
    def about(self) -> dict[str, Any]:
        return {"version": importlib.metadata.version("polars"), **super().about()}

    def scan(self, path: str) -> None:
        """All columns of all rows, into memory: it has no way to nowhere."""
        import polars

        polars.scan_delta(path).collect(engine="streaming")
