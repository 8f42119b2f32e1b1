"""What the core's emitter takes, from the types of this package."""

from __future__ import annotations

from functools import cache
from typing import Any

from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.native import ffi
from vta.tile.operator import Tensor

__all__ = ["pointer_to", "target_of", "tensor_fields"]


@cache
def target_of(hw: HardwareConfig, gathers_uops: bool, groups_uops: bool) -> Any:
    """The core's description of what streams are written for, and how."""
    target = ffi.new("vta_stream_target *")
    for name, _ in ffi.typeof("vta_geometry").fields:
        setattr(target.geometry, name, getattr(hw, name))
    target.uop_depth = hw.uop_depth
    target.uop_dst_distance = hw.capabilities.uop_dst_distance
    target.gathers_uops, target.groups_uops = gathers_uops, groups_uops
    return target


def tensor_fields(tensor: Tensor, address: int) -> tuple[Any, ...]:
    """The fields of the core's `vta_tensor`, whose memory starts at arena element `address`.

    The first, the name, is an array that has to be kept for as long as the core may read it.
    """
    sizes = tensor.batch, tensor.blocks, tensor.height, tensor.width, tensor.planes
    return ffi.new("char[]", tensor.name.encode()), *sizes, tensor.memory.blocks, tensor.first_block, address


def pointer_to(array: NDArray[Any]) -> Any:
    """A pointer to the elements of a contiguous array, which has to be kept for as long as it is used."""
    assert array.flags.c_contiguous
    return ffi.cast("void *", ffi.from_buffer(array))
