"""What a setting and an option are, and how their values are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from lakebed.errors import InvalidArgumentError
from lakebed.settings.value_kinds import TEXT, Kind

T = TypeVar("T")


class Session(Protocol):
    """A session of Spark, classic or Connect."""

    @property
    def conf(self) -> Any: ...


@dataclass(frozen=True)
class Setting(Generic[T]):
    """A setting of a session, or a variable of the environment.

    `does` is one sentence for the documentation; `shown_default` is the default in words, where
    the value itself does not say it. `option`, `table_property` and `environment` are other ways to
    say the same. `internal`: Lakebed sets it, users do not.
    """

    name: str
    kind: Kind[T]
    default: T
    does: str
    shown_default: str | None = None
    option: str | None = None
    table_property: str | None = None
    environment: str | None = None
    since: str = "0.1"
    internal: bool = False

    def read(self, values: Mapping[str, str]) -> T:
        """The value among all settings, or the default. A bad value is an error, never ignored."""
        return self._value(values.get(self.name))

    def of(self, session: Session) -> T:
        """As `read`, for a single setting: one call to the session."""
        return self._value(session.conf.get(self.name, None))

    def read_environment(self, variables: Mapping[str, str]) -> T:
        """The value that the environment gives to it, or the default."""
        assert self.environment is not None
        return _value(self.environment, self.kind, self.default, variables.get(self.environment))

    def _value(self, text: str | None) -> T:
        return _value(self.name, self.kind, self.default, text)


@dataclass(frozen=True)
class SettingPrefix:
    """Settings whose names begin alike and end with the name of a table property."""

    name: str
    property_prefix: str
    does: str
    since: str = "0.1"

    def read(
        self, values: Mapping[str, str], *, but: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """The table properties. Those whose names, in any case, are in `but` are left out."""
        given = {key.lower() for key in but or ()}
        found = {
            self.property_prefix + key[len(self.name) :]: value
            for key, value in values.items()
            if key.startswith(self.name)
        }
        return {key: value for key, value in found.items() if key.lower() not in given}


@dataclass(frozen=True)
class Option(Generic[T]):
    """An option of a read or a write. Names are taken in any case."""

    name: str
    kind: Kind[T]
    default: T
    does: str
    shown_default: str | None = None
    since: str = "0.1"

    def read(self, get: Callable[[str], str | None]) -> T:
        """`get` gives the text of an option, if it is set."""
        return _value(self.name, self.kind, self.default, get(self.name))


def _value(name: str, kind: Kind[T], default: T, text: str | None) -> T:
    """An empty text is as good as none, except where any text is a value."""
    if text is None or (kind is not TEXT and not text.strip()):
        return default
    try:
        return kind.parse(text if kind is TEXT else text.strip())
    except ValueError as error:
        raise InvalidArgumentError(
            f"{name} is {text!r}: {error}", hint=f"set it to {kind.allowed}"
        ) from error
