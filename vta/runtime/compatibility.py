"""Whether a program that was compiled for one config may run on hardware of another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from vta.config import HardwareConfig
from vta.errors import ArtifactError
from vta.targets import Capabilities

__all__ = ["check_compatible"]

_SUFFICES: dict[str, Callable[[Any, Any], bool]] = {
    "multiply": lambda used, present: present or not used,
    "acc8_load": lambda used, present: present or not used,
    "padded_types": lambda used, present: used <= present,
    "uop_load_2d": lambda used, present: present or not used,
    "shift_min": lambda used, present: present <= used,
    "shift_max": lambda used, present: present >= used,
    "register_shift_left": lambda used, present: present or not used,
    "immediate_reads_src": lambda used, present: used or not present,
    "uop_depth_limit": lambda used, present: present is None or (used is not None and used <= present),
    "empty_loop_runs": lambda used, present: used or not present,
    "store_reads_acc": lambda used, present: present or not used,
    "uop_dst_distance": lambda used, present: present <= used,
    "alu_forwarding": lambda used, present: present or not used,
    "loops_flattened": lambda used, present: True,
}
"""For each capability: whether hardware with value `present` runs what was compiled to rely on `used`."""

assert {field.name for field in fields(Capabilities)} == set(_SUFFICES)


def check_compatible(compiled: HardwareConfig, device: HardwareConfig) -> None:
    """Check that a program for `compiled` means the same on `device`, which must have all that the program may use.

    Raises `ArtifactError` naming the first key or capability that does not fit, with both values.
    """
    wanted, present = compiled.to_json(), device.to_json()
    for key, value in wanted.items():
        if key != "TARGET" and present[key] != value:
            raise ArtifactError(f"compiled for {key} = {value!r}, but the device has {key} = {present[key]!r}")
    for name, suffices in _SUFFICES.items():
        used, offered = getattr(compiled.capabilities, name), getattr(device.capabilities, name)
        if not suffices(used, offered):
            raise ArtifactError(
                f"compiled for TARGET = {compiled.target!r}, where {name} is {used}; "
                f"the device's TARGET = {device.target!r} has {name} {offered}"
            )
