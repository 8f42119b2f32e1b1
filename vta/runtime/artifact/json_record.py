"""Frozen dataclasses to and from JSON, strictly: no field may be unknown, of another type, or missing unless it has a default."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from vta.errors import ArtifactError
from vta.support.shorten import shown

__all__ = ["from_json", "to_json"]

_T = TypeVar("_T")


def to_json(value: Any) -> Any:
    """Return `value`, of dataclasses, tuples, enums, strings and integers, as JSON values; fields at their defaults have none."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple:
        return [to_json(item) for item in value]
    if is_dataclass(kind):
        held = ((name, getattr(value, name), default) for name, default in _defaults(kind))
        return {name: to_json(item) for name, item, default in held if item != default}
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    return value


_PLAIN = frozenset((int, str, bool, float, type(None)))
"""Types whose values JSON has as they are: those of most values."""


@cache
def _defaults(kind: type[Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((field.name, field.default) for field in fields(kind))


def from_json(kind: type[_T], value: Any, where: str) -> _T:
    """Rebuild a `kind` from what `to_json` made of it; `where` names the value in errors.

    Raises `ArtifactError` naming the field that is missing, unknown or of the wrong type.
    """
    result: _T = _decode(kind, value, where)
    return result


def _decode(kind: Any, value: Any, where: str) -> Any:
    if get_origin(kind) is tuple:
        _expect(list, value, where)
        item = get_args(kind)[0]
        return tuple(_decode(item, entry, f"{where}[{index}]") for index, entry in enumerate(value))
    if is_dataclass(kind):
        return _decode_dataclass(kind, value, where)
    if issubclass(kind, Enum):
        allowed = [member.value for member in kind]
        if value not in allowed:
            raise ArtifactError(f"{where} = {shown(value)}; allowed: {', '.join(map(str, allowed))}")
        return kind(value)
    _expect(kind, value, where)
    return value


def _decode_dataclass(kind: Any, value: Any, where: str) -> Any:
    _expect(dict, value, where)
    types = _field_types(kind)
    for name in value:
        if name not in types:
            raise ArtifactError(f"{where}: unknown field {shown(name)}; allowed: {', '.join(types)}")
    for field in fields(kind):
        if field.name not in value and field.default is MISSING:
            raise ArtifactError(f"{where}: field {shown(field.name)} is missing")
    return kind(**{name: _decode(types[name], value[name], f"{where}.{name}") for name in types if name in value})


def _expect(kind: type[Any], value: Any, where: str) -> None:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ArtifactError(f"{where} is of type {type(value).__name__}, expected {kind.__name__}")


@cache
def _field_types(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}
