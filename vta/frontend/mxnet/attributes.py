"""The attributes of an MXNet node: text in the file, read as the type that the operator wants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TypeVar

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.support.dataclass import dataclass

__all__ = ["Attributes"]

T = TypeVar("T")

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_NONE = ("None", "")


@dataclass(frozen=True)
class Attributes:
    """Attributes by name. A getter returns its default where the file has none (or ``None``)."""

    text: Mapping[str, str] = field(default_factory=dict)

    def string(self, name: str, default: str = "") -> str:
        """Return an attribute as it stands."""
        return self._read(name, default, str, "text")

    def integer(self, name: str, default: int | None = None) -> int:
        """Return an integer; required where `default` is None."""
        return self._read(name, default, int, "an integer")

    def number(self, name: str, default: float | None = None) -> float:
        """Return a float; required where `default` is None."""
        return self._read(name, default, float, "a number")

    def boolean(self, name: str, default: bool) -> bool:
        """Return a truth value."""
        return self._read(name, default, lambda text: _BOOLEANS[text.lower()], "True or False")

    def integers(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """Return integers written as ``(1, 2)``, ``[1, 2]`` or ``1``; required where `default` is None."""
        return self._read(name, default, _integers, "integers in brackets")

    def optional_integers(self, name: str) -> tuple[int | None, ...]:
        """Return integers of which some may be ``None``; empty where the file has none."""
        return self._read(name, (), _optional_integers, "integers or None in brackets")

    def pair(self, name: str, default: int) -> tuple[int, int]:
        """Return two integers, for height and width; an absent or empty attribute is `default` twice."""
        values = self.integers(name, ()) or (default, default)
        if len(values) != 2:
            raise UnsupportedNodeError(f"{len(values)}-D (only 2-D operators can be imported)")
        return values[0], values[1]

    def _read(self, name: str, default: T | None, convert: Callable[[str], T], wanted: str) -> T:
        text = self.text.get(name)
        if text is None or text in _NONE:
            if default is None:
                raise ImportModelError(f"attribute {name!r} is missing")
            return default
        try:
            return convert(text.strip())
        except (ValueError, LookupError):
            raise ImportModelError(f"attribute {name!r} must be {wanted}, got {text!r:.40}") from None


def _items(text: str) -> list[str]:
    inner = text[1:-1] if text[0] + text[-1] in ("()", "[]") else text
    return [item.strip().removesuffix("L") for item in inner.split(",") if item.strip()]


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(item) for item in _items(text))


def _optional_integers(text: str) -> tuple[int | None, ...]:
    return tuple(None if item == "None" else int(item) for item in _items(text))
