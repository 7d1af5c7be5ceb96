"""The hooks that follow every commit, in this order."""

from __future__ import annotations

from collections.abc import Sequence

from lakebed.iceberg import IcebergHook
from lakebed.log.maintenance.checkpoint_hook import CheckpointHook
from lakebed.log.maintenance.checksum_writer import ChecksumHook
from lakebed.log.maintenance.symlink_manifests import SymlinkManifestHook
from lakebed.log.post_commit import PostCommitHook

# The checksum comes before the checkpoint: it is needed sooner and costs less. Iceberg's metadata
# comes last, since it takes the snapshot that the checkpoint has made cheaper to read.
POST_COMMIT_HOOKS: Sequence[PostCommitHook] = (
    ChecksumHook(),
    CheckpointHook(),
    SymlinkManifestHook(),
    IcebergHook(),
)
