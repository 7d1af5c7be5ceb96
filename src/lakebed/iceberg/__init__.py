"""Iceberg metadata beside the log of a Delta table (UniForm)."""

from lakebed.iceberg.publish import IcebergHook, publish, publish_commit
from lakebed.iceberg.referenced_files import referenced_places

__all__ = ["IcebergHook", "publish", "publish_commit", "referenced_places"]
