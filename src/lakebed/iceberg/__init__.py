"""Iceberg metadata beside the log of a Delta table (UniForm)."""

from lakebed.iceberg.publish import publish, publish_after_commit
from lakebed.iceberg.referenced_files import referenced_places

__all__ = ["publish", "publish_after_commit", "referenced_places"]
