"""Iceberg metadata beside the log of a Delta table (UniForm)."""

from lakebed.iceberg.metadata_files import referenced_paths
from lakebed.iceberg.publish import IcebergHook, publish, publish_commit

__all__ = ["IcebergHook", "publish", "publish_commit", "referenced_paths"]
