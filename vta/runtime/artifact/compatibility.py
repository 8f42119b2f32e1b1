"""Whether a program that was compiled for one config may run on hardware of another."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields

from vta.config.hardware import HardwareConfig
from vta.config.targets import Capabilities
from vta.errors import ArtifactError

__all__ = ["check_compatible"]

_SUFFICES: dict[str, Callable[[Capabilities, Capabilities], bool]] = {
    "multiply": lambda used, present: present.multiply or not used.multiply,
    "acc8_load": lambda used, present: present.acc8_load or not used.acc8_load,
    "padded_types": lambda used, present: used.padded_types <= present.padded_types,
    "uop_load_2d": lambda used, present: present.uop_load_2d or not used.uop_load_2d,
    "shift_min": lambda used, present: present.shift_min <= used.shift_min,
    "shift_max": lambda used, present: present.shift_max >= used.shift_max,
    "register_shift_left": lambda used, present: present.register_shift_left or not used.register_shift_left,
    "immediate_reads_src": lambda used, present: used.immediate_reads_src or not present.immediate_reads_src,
    "uop_depth_limit": lambda used, present: _limit(used.uop_depth_limit) <= _limit(present.uop_depth_limit),
    "empty_loop_runs": lambda used, present: used.empty_loop_runs or not present.empty_loop_runs,
    "store_reads_acc": lambda used, present: present.store_reads_acc or not used.store_reads_acc,
    "uop_dst_distance": lambda used, present: present.uop_dst_distance <= used.uop_dst_distance,
    "alu_forwarding": lambda used, present: present.alu_forwarding or not used.alu_forwarding,
    "loops_flattened": lambda used, present: (
        used.loops_flattened or not present.loops_flattened or (present.alu_forwarding and present.uop_dst_distance == 1)
    ),
    "requantize": lambda used, present: present.requantize or not used.requantize,
    "table": lambda used, present: present.table or not used.table,
    "depthwise": lambda used, present: present.depthwise or not used.depthwise,
}
"""For each capability: whether hardware that has `present` runs what was compiled to rely on `used`."""

assert {field.name for field in fields(Capabilities)} == set(_SUFFICES)


def check_compatible(compiled: HardwareConfig, device: HardwareConfig) -> None:
    """Check that a program for `compiled` means the same on `device`, which must have all that the program may use.

    Raises `ArtifactError` naming the first key or capability that does not fit, with both values.
    """
    wanted, present = compiled.to_json(), device.to_json()
    for key, value in wanted.items():
        offered = present.get(key, 0)
        if key != "TARGET" and offered != value:
            raise ArtifactError(f"compiled for {key} = {value!r}, but the device has {key} = {offered!r}")
    for name, suffices in _SUFFICES.items():
        if not suffices(compiled.capabilities, device.capabilities):
            used, found = getattr(compiled.capabilities, name), getattr(device.capabilities, name)
            raise ArtifactError(
                f"compiled for TARGET = {compiled.target!r}, where {name} is {used}; "
                f"the device's TARGET = {device.target!r} has {name} {found}"
            )


def _limit(depth: int | None) -> float:
    return math.inf if depth is None else depth
