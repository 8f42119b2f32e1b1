"""What the constructors of the RTL allow: errors that say what was given."""

from __future__ import annotations

from vta.errors import ConfigError

__all__ = ["check_power_of_two", "check_range"]


def check_range(what: str, value: int, low: int, high: int | None = None) -> None:
    """Raise `ConfigError` with what is allowed, if `value` is below `low` or above `high`."""
    if value < low or (high is not None and value > high):
        allowed = f"{low} or more" if high is None else f"{low} to {high}"
        raise ConfigError(f"{what} = {value}; allowed: {allowed}")


def check_power_of_two(what: str, value: int) -> None:
    """Raise `ConfigError` if `value` is none."""
    if value < 1 or value & (value - 1):
        raise ConfigError(f"{what} = {value}; allowed: powers of two")
