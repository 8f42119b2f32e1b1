"""Large constants of a `.vta` file that the image of a program holds, so that the file has them once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vta.codegen.packed_constant import BOX_FIELDS, PackedConstant, unpacked
from vta.codegen.region_program import RegionProgram
from vta.errors import ArtifactError
from vta.support.shorten import shown

if TYPE_CHECKING:
    from vta.runtime.artifact.vta_file import PackedArray

__all__ = ["packed_arrays", "read_constants"]


def packed_arrays(regions: Sequence[RegionProgram], arrays: Mapping[str, NDArray[Any]]) -> list[dict[str, PackedConstant]]:
    """For each region the arrays of the graph, by name, that are to be taken from its image; each from one image only."""
    names = {id(array): name for name, array in arrays.items()}
    found: list[dict[str, PackedConstant]] = []
    for region in regions:
        held = {names.pop(id(constant.value), ""): constant for constant in region.held_constants}
        held.pop("", None)
        found.append(held)
    return found


def read_constants(
    entries: Iterable[PackedArray],
    boxes: NDArray[np.int64],
    image: NDArray[np.uint8],
    shapes: Mapping[str, tuple[int, ...]],
    where: str,
) -> dict[str, PackedConstant]:
    """The constants of a region, by name. `boxes` are those of all, flat; `shapes` those of the graph's arrays of int8.

    Raises `ArtifactError` for what the image cannot hold; `where` names the region.
    """
    if boxes.size % BOX_FIELDS:
        raise ArtifactError(f"{where}: {boxes.size} numbers are no whole number of boxes, which have {BOX_FIELDS}")
    rows, left = boxes.reshape(-1, BOX_FIELDS), image.size
    found: dict[str, PackedConstant] = {}
    for entry in entries:
        shape = shapes.get(entry.array)
        if shape is None or entry.array in found:
            raise ArtifactError(f"{where}: {shown(entry.array)} is no array of int8 that the graph has, or is there twice")
        left -= prod(entry.blocks)
        if left < 0 or not 0 <= entry.boxes <= len(rows):
            raise ArtifactError(f"{where}: {shown(entry.array)} has more boxes than there are, or more values than the image")
        own, rows = rows[: entry.boxes], rows[entry.boxes :]
        try:
            value = unpacked(image, shape, entry.blocks, own)
        except ValueError as error:
            raise ArtifactError(f"{where}: {shown(entry.array)}: {error}") from None
        found[entry.array] = PackedConstant(value, image, entry.blocks, own)
    return found
