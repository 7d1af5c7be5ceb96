"""Object stores behind one small port: local disk, memory, S3, GCS and Azure."""

from lakebed.storage.store import ObjectMeta, Store
from lakebed.storage.urls import open_store

__all__ = ["ObjectMeta", "Store", "open_store"]
