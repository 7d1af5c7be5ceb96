"""What the commands of `lakebed` are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Format = Literal["table", "csv", "json"]


@dataclass(frozen=True)
class SqlOptions:
    """`text` None starts the shell."""

    text: str | None = None
    format: Format = "table"
    master: str | None = None
    remote: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    timing: bool = False


@dataclass(frozen=True)
class RunOptions:
    """`program` is a file, or the name of a module."""

    program: str
    arguments: tuple[str, ...] = ()
    is_module: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ServerOptions:
    """`host` is loopback unless the user says otherwise: Spark Connect does not authenticate."""

    host: str = "127.0.0.1"
    port: int = 15002
    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
