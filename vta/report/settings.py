"""Settings that advice names: ``{name}`` or ``{name=value}`` in its texts, said in the words of whoever shows them."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["Say", "in_python", "with_settings"]

Say = Callable[[str, str], str]
"""Words for a setting of the library, or for what does a piece of work, and the value to give it ("" for none)."""

_SETTING = re.compile(r"\{([a-z_]+)(?:=([^}]*))?\}")
_WORK = {"tune": "`vta.tune`", "evaluate": "`vta.evaluate_top1`", "sweep": "a sweep", "configs": "`vta.HardwareConfig`"}


def with_settings(text: str, say: Say) -> str:
    """Return the text with words for each setting that it names."""
    return _SETTING.sub(lambda found: say(found[1], found[2] or ""), text)


def in_python(name: str, value: str) -> str:
    """The parameter of `vta.compile`, of `vta.quantize` or of `QuantizeConfig`, and the functions of `vta`."""
    quoted = value.replace("'", '"')
    return _WORK.get(name, f"`{name}={quoted}`" if value else f"`{name}`")
