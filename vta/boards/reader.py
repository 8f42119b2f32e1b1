"""Reads the fields of a description: every mistake is named with its place, the value and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from vta.errors import ConfigError
from vta.support.dataclass import dataclass

__all__ = ["Reader"]


@dataclass(frozen=True)
class Reader:
    """A mapping of the file, with its place for errors."""

    values: Mapping[str, Any]
    place: str

    def check_names(self, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
        """Refuse fields that are unknown, and miss those that are required."""
        allowed = (*required, *optional)
        for name in self.values:
            if name not in allowed:
                close = difflib.get_close_matches(str(name), allowed, n=1)
                hint = f"; did you mean {close[0]}?" if close else ""
                raise ConfigError(f"{self.place}: unknown field {name}{hint}; allowed: {', '.join(allowed)}")
        for name in required:
            if name not in self.values:
                raise ConfigError(f"{self.place}: field {name} is missing; required: {', '.join(required)}")

    def fail(self, name: str, allowed: str) -> ConfigError:
        """The error for a value that is not allowed."""
        return ConfigError(f"{self.place}: {name} = {_shown(self.values[name])}; allowed: {allowed}")

    def text(self, name: str) -> str:
        """A string that is not empty."""
        value = self.values[name]
        if not isinstance(value, str) or not value:
            raise self.fail(name, "a string that is not empty")
        return value

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        """One of a few strings."""
        if self.values[name] not in allowed:
            raise self.fail(name, ", ".join(allowed))
        return str(self.values[name])

    def boolean(self, name: str) -> bool:
        """True or false."""
        if not isinstance(self.values[name], bool):
            raise self.fail(name, "true, false")
        return bool(self.values[name])

    def integer(self, name: str, allowed: str, good: Callable[[int], bool], default: int | None = None) -> int:
        """An integer that is `good`, as `allowed` says in words."""
        if default is not None and name not in self.values:
            return default
        value = self.values[name]
        if isinstance(value, bool) or not isinstance(value, int) or not good(value):
            raise self.fail(name, allowed)
        return value

    def number(self, name: str, low: float, high: float) -> float:
        """A number from `low` to `high`."""
        value = self.values[name]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise self.fail(name, f"numbers from {low:g} to {high:g}")
        return float(value)

    def nested(self, name: str) -> Reader:
        """A mapping inside this one."""
        if not isinstance(self.values[name], dict):
            raise self.fail(name, "a mapping of fields")
        return Reader(self.values[name], f"{self.place}: {name}")


def _shown(value: Any) -> str:
    return f"{value:#x}" if isinstance(value, int) and not isinstance(value, bool) and value > 0xFFFF else repr(value)
