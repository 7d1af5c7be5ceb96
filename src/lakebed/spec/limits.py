"""What Lakebed accepts at most, so that no file, log or statement takes time or memory without end.

No honest table meets these numbers. Whatever goes beyond one is refused with a Lakebed error.
docs/limits.md lists them; a test compares the page with this module.
"""

from __future__ import annotations

from typing import Final

CATALOG_NAME: Final = 255
"""Characters in the name of a table or schema in an embedded catalog."""
