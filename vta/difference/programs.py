"""What a region's program computes on a simulator that is known to be right, or taken to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vta.codegen.region_program import RegionProgram
from vta.devices.device import RunOptions
from vta.devices.sim import Kernel, SimDevice
from vta.difference.values import Array, is_value_of
from vta.errors import DeviceError
from vta.ir.graph import Node
from vta.runtime.loaded_region import LoadedRegion

__all__ = ["JUDGES", "judge_of", "program_value", "region_of"]

_MEMORY_BYTES = 1 << 28
_OPTIONS = RunOptions(checks=False, limit_seconds=60.0)


JUDGES = (Kernel.BEST, Kernel.PORTABLE)
"""Inner loops of the simulators that a device is compared with: fast ones, and plain ones in case that these are wrong."""


def judge_of(region: RegionProgram, kernel: Kernel = Kernel.BEST) -> SimDevice:
    """A simulator for one region."""
    return SimDevice(region.program.hw, max(_MEMORY_BYTES, 2 * region.program.image_bytes), kernel)


def region_of(regions: Sequence[object], layer: str, like: Array) -> RegionProgram | None:
    """The region that computes a layer."""
    for region in regions:
        if isinstance(region, RegionProgram) and any(is_value_of(record.output.node, layer, like) for record in region.operators):
            return region
    return None


def program_value(region: RegionProgram, layer: str, like: Array, values: Mapping[Node, Array]) -> Array | None:
    """What the program gives for a layer, whose value has the type of `like`; None if it does not come to that.

    `values` has the inputs of the region; those that are missing are zeros.
    """
    device = judge_of(region)
    loaded = LoadedRegion(region, device)
    loaded.write_constants()
    for binding in region.inputs:
        if binding.node in values:
            loaded.write(binding, values[binding.node])
    last = max(index for index, record in enumerate(region.operators) if is_value_of(record.output.node, layer, like))
    try:
        for index, (_, array) in enumerate(loaded.run_stepwise(_OPTIONS)):
            if index == last:
                return array
    except DeviceError:
        return None
    finally:
        device.close()
    return None
