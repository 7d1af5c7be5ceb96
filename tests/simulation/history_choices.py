"""What chance decides about a history before it begins: its table, its faults, its commands."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from model import IDS, PARTITIONS, Command
from simulated_store import Odds

HOUR = 3_600_000.0
DAY = 24 * HOUR
RETENTION_DAYS, LOG_RETENTION_DAYS = 2, 3


@dataclass(frozen=True)
class Kind:
    """The kind of table."""

    serializable: bool
    vectors: bool
    feed: bool
    iceberg: bool
    converted: bool
    """Whether it begins as a folder of Parquet files."""

    @classmethod
    def by(cls, chance: random.Random, names: Collection[str]) -> Kind:
        """`names` are those of the commands that will be chosen from."""
        serializable, vectors = chance.random() < 0.5, chance.random() < 0.65
        iceberg = not vectors and chance.random() < 0.35
        return cls(
            serializable=serializable,
            vectors=vectors,
            feed=chance.random() < (0.9 if "read changes" in names else 0.2),
            iceberg=iceberg,
            converted=not iceberg and chance.random() < 0.1,
        )

    def properties(self, chance: random.Random) -> dict[str, str]:
        found = {
            "delta.parquet.compression.codec": chance.choice(("uncompressed", "snappy", "zstd")),
            "delta.isolationLevel": "Serializable" if self.serializable else "WriteSerializable",
            "delta.checkpointInterval": str(chance.choice((2, 3, 5, 10))),
            "delta.deletedFileRetentionDuration": f"interval {RETENTION_DAYS} days",
            "delta.logRetentionDuration": f"interval {LOG_RETENTION_DAYS} days",
        }
        if self.vectors:
            found["delta.enableDeletionVectors"] = "true"
        if self.feed:
            found["delta.enableChangeDataFeed"] = "true"
        if self.iceberg:
            found["delta.enableIcebergCompatV2"] = "true"
            found["delta.universalFormat.enabledFormats"] = "iceberg"
        if chance.random() < 0.3:
            found["delta.enableInCommitTimestamps"] = "true"
        if chance.random() < 0.3:
            found["delta.checkpointPolicy"] = "v2"
        if chance.random() < 0.15:
            found["delta.autoOptimize.autoCompact"] = "true"
        return found


def with_needed(names: Sequence[str]) -> list[str]:
    """And what there must be for some of them to do anything."""
    is_about_clones = any("clone" in name for name in names)
    needed = ["clone"] if is_about_clones and "clone" not in names else []
    return [*names, *needed]


def odds_by(chance: random.Random) -> Odds:
    bad = chance.choice((0.0, 0.0, 0.01, 0.05, 0.15))
    return Odds(
        refused=bad * chance.random(),
        lost=bad * chance.random(),
        late=bad * chance.random(),
        repeated=bad * chance.random(),
        killed=chance.choice((0.0, 0.005, 0.02)),
        slow=chance.choice((0.0, 0.02, 0.1)),
    )


def command_by(chance: random.Random, name: str, options: Mapping[str, Sequence[str]]) -> Command:
    """`options` are those that commands have, as often as they are to be chosen."""
    steps_back = ("restore", "read old", "read changes", "compact log")
    low = chance.randint(0, 5) if name in steps_back else chance.randrange(IDS)
    high = low + (IDS if name == "create" else chance.choice((0, 0, 1, 3)))
    option = chance.choice(options.get(name, ("",)))
    if name == "add constraint":
        high = chance.choice((IDS + 3, IDS + 3, IDS // 2))
    return Command(name, chance.randrange(PARTITIONS), low, high, option)


OPTIONS = {
    "append once": ("1", "2", "3"),
    "vacuum": ("full", "full", "lite"),
    "replace where": ("", "partition"),
    "delete": (
        "",
        "",
        "",
        "files",
        "partition",
        "partition files",
        "arrow",
        "arrow",
        "arrow files",
    ),
    "update": ("", "", "twice", "files", "twice files", "arrow", "arrow", "arrow files"),
    "merge": (
        *("insert", "upsert", "upsert", "delete", "insert files", "upsert files"),
        *("insert arrow", "upsert arrow", "upsert arrow", "delete arrow", "upsert files arrow"),
    ),
    "optimize": ("", "", "spark", "partition", "purge", "z-order", "z-order partition"),
    "clone": ("shallow", "shallow", "deep"),
}
