"""The store port over obstore: S3, GCS, Azure, memory."""
