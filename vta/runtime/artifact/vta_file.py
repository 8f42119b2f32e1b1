"""The `.vta` file: a compiled module in one checksummed file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vta.codegen.region_program import OperatorRecord, Placement, RegionProgram, TensorBinding
from vta.config.hardware import HardwareConfig
from vta.errors import ArtifactError, VTAError
from vta.files.json_file import parse_json
from vta.ir.graph import Graph, Node
from vta.ir.serialize import graph_from_json, graph_to_json
from vta.isa.encoding import decode, encode
from vta.isa.instruction import INSTRUCTION_BYTES
from vta.isa.program import Program, Symbol
from vta.runtime.artifact.container import Content, read_container, write_container
from vta.runtime.artifact.json_record import from_json, to_json
from vta.support.dataclass import dataclass
from vta.support.shorten import shown

if TYPE_CHECKING:
    from vta.codegen.packed_constant import PackedConstant
    from vta.runtime.artifact.gpu_host import GpuHost
    from vta.runtime.artifact.host_plan import HostLibrary

__all__ = [
    "FORMAT_VERSION",
    "GPU_VERSION",
    "HOST_VERSION",
    "PACKED_VERSION",
    "Contents",
    "PackedArray",
    "read_contents",
    "write_contents",
]

FORMAT = "vta module"
FORMAT_VERSION = 1
HOST_VERSION = 2
"""Of a file with a compiled host part."""
GPU_VERSION = 3
"""Of a file whose host part a GPU computes; it may have a compiled one, too."""
SCHEDULES_VERSION = 4
"""The same, with schedules of whole kernels."""
PACKED_VERSION = 5
"""Of a file that holds large constants once, in images; it may have a compiled host part, or a GPU, or both."""
_GPU_VERSIONS = (GPU_VERSION, SCHEDULES_VERSION)
_MANIFEST = "manifest.json"
_GRAPH = "graph.json"
_PLAN, _LIBRARY, _CONSTANTS = "host/plan.json", "host/library.so", "host/constants"
_GPU = "host/gpu.json"
_PROGRAM_PARTS = ("instructions", "image", "operator_index", "tile_index")
_BOXES = "boxes"
"""Of what a program's image holds of the graph."""
_DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")


@dataclass(frozen=True)
class _Binding:
    node: int
    """Position of the node in `Graph.nodes()`."""
    symbol: str
    planes: int


@dataclass(frozen=True)
class _Record:
    name: str
    kind: str
    macs: int
    output: _Binding
    end: int


@dataclass(frozen=True)
class PackedArray:
    """How a region's image holds an array of the graph."""

    array: str
    blocks: tuple[int, ...]
    """Shape of `PackedConstant.blocks`."""
    boxes: int
    """How many rows of the region's boxes are its, behind those of the arrays before it."""


@dataclass(frozen=True)
class _Region:
    name: str
    image_bytes: int
    symbols: tuple[Symbol, ...]
    operators: tuple[str, ...]
    inputs: tuple[_Binding, ...]
    outputs: tuple[_Binding, ...]
    records: tuple[_Record, ...]
    packed: tuple[PackedArray, ...] = ()


@dataclass(frozen=True)
class _Array:
    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class _Manifest:
    format: str
    version: int
    hw: dict  # type: ignore[type-arg]
    total_macs: int
    arrays: tuple[_Array, ...]
    """Constants of the graph."""
    regions: tuple[_Region, ...]
    placements: tuple[Placement, ...]


@dataclass(frozen=True)
class Contents:
    """What a file holds of a compiled network."""

    graph: Graph
    hw: HardwareConfig
    regions: tuple[RegionProgram, ...]
    placements: tuple[Placement, ...]
    total_macs: int
    host: HostLibrary | None = None
    gpu: GpuHost | None = None

    @property
    def version(self) -> int:
        """Of the file: the oldest that holds all of it."""
        if any(region.held_constants for region in self.regions):
            return PACKED_VERSION
        if self.gpu is not None:
            return SCHEDULES_VERSION if self.gpu.schedules else GPU_VERSION
        return FORMAT_VERSION if self.host is None else HOST_VERSION


def write_contents(module: Contents, path: str | Path) -> None:
    """Write `module` to `path`; the same contents give the same bytes.

    Raises `ArtifactError` naming the file if it cannot be written.
    """
    index = {node: position for position, node in enumerate(module.graph.nodes())}
    graph, arrays = graph_to_json(module.graph)
    packed = _packed_arrays(module, arrays)
    manifest = _Manifest(
        format=FORMAT,
        version=module.version,
        hw=module.hw.to_json(),
        total_macs=module.total_macs,
        arrays=tuple(_Array(name, array.dtype.name, array.shape) for name, array in arrays.items()),
        regions=tuple(_describe(region, index, held) for region, held in zip(module.regions, packed, strict=True)),
        placements=module.placements,
    )
    members: dict[str, Content] = {_MANIFEST: _json_bytes(to_json(manifest)), _GRAPH: _json_bytes(graph)}
    apart = {name: array for name, array in arrays.items() if not any(name in held for held in packed)}
    members |= {f"arrays/{name}": _content(array.astype(_stored(array.dtype.name), copy=False)) for name, array in apart.items()}
    for position, (region, held) in enumerate(zip(module.regions, packed, strict=True)):
        members |= _program_members(region.program, f"regions/{position}")
        if held:
            boxes = np.concatenate([constant.boxes for constant in held.values()])
            members[f"regions/{position}/{_BOXES}"] = _content(boxes.astype("<i8"))
    if module.host is not None:
        plan = _json_bytes(to_json(module.host.plan))
        members |= {_PLAN: plan, _LIBRARY: module.host.code, _CONSTANTS: module.host.constants}
    if module.gpu is not None:
        members[_GPU] = _json_bytes(to_json(module.gpu))
    write_container(path, members)


def _packed_arrays(module: Contents, arrays: Mapping[str, NDArray[Any]]) -> Sequence[Mapping[str, PackedConstant]]:
    """What each region's image holds of the graph's arrays, by name."""
    if not any(region.held_constants for region in module.regions):
        return [{} for _ in module.regions]
    from vta.runtime.artifact.packed_arrays import packed_arrays  # which small networks do without

    return packed_arrays(module.regions, arrays)


def _content(array: NDArray[Any]) -> memoryview:
    """The bytes of an array, which are not copied."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def read_contents(path: str | Path, verified: bool, contained: bool) -> Contents:
    """Read what `write_contents` wrote, and check its programs: see `vta.runtime.compiled_module.load`.

    Raises `ArtifactError` naming the file and the cause if it is not one, damaged, or of another version.
    """
    # What checks a file is not for those that write one.
    from vta.runtime.artifact.validate import check_module

    if not isinstance(path, (str, PathLike)):
        raise ArtifactError(f"a compiled network is the path of a .vta file, or what vta.compile gave, not {type(path).__name__}")
    members = read_container(path)
    try:
        module = _module(members)
        check_module(module.graph, module.hw, module.regions)
        if contained or verified:
            _check_programs(module, contained)
    except Exception as error:  # Whatever a forged manifest trips over, the user meets one kind of error.
        detail = str(error) if isinstance(error, VTAError) else f"malformed contents: {type(error).__name__}: {error}"
        raise ArtifactError(f"{path}: {detail}") from error
    return module


def _check_programs(module: Contents, contained: bool) -> None:
    if contained:
        from vta.isa.contained import require_contained as check
    else:
        # Imported when needed: a board has no C++ core.
        from vta.isa.verify import require_verified as check
    for region in module.regions:
        check(region.program)


def _describe(region: RegionProgram, index: Mapping[Node, int], held: Mapping[str, PackedConstant]) -> _Region:
    def binding(tensor: TensorBinding) -> _Binding:
        return _Binding(index[tensor.node], tensor.symbol, tensor.planes)

    return _Region(
        name=region.name,
        image_bytes=region.program.image_bytes,
        symbols=region.program.symbols,
        operators=region.program.operators,
        inputs=tuple(binding(tensor) for tensor in region.inputs),
        outputs=tuple(binding(tensor) for tensor in region.outputs),
        records=tuple(_Record(r.name, r.kind, r.macs, binding(r.output), r.end) for r in region.operators),
        packed=tuple(PackedArray(name, constant.blocks, len(constant.boxes)) for name, constant in held.items()),
    )


def _program_members(program: Program, prefix: str) -> dict[str, Content]:
    parts = (
        encode(program.instructions, program.hw),
        program.image,
        program.operator_index.astype("<i4"),
        program.tile_index.astype("<i4"),
    )
    return {f"{prefix}/{name}": _content(part) for name, part in zip(_PROGRAM_PARTS, parts, strict=True)}


def _module(members: Mapping[str, bytes]) -> Contents:
    manifest = _manifest(members)
    _check_members(members, manifest)
    hw = HardwareConfig.from_json(manifest.hw, "hw")
    programs = [_program(entry, members, f"regions/{position}", hw) for position, entry in enumerate(manifest.regions)]
    packed = _packed(members, manifest, programs)
    arrays = {name: constant.value for held in packed for name, constant in held.items()}
    arrays |= {entry.name: _constant(entry, members) for entry in manifest.arrays if entry.name not in arrays}
    graph = graph_from_json(_json(members, _GRAPH), arrays)
    nodes = graph.nodes()
    regions = tuple(
        _region(entry, program, nodes, held) for entry, program, held in zip(manifest.regions, programs, packed, strict=True)
    )
    host = _host(members, len(nodes), len(regions)) if _has_library(members, manifest) else None
    gpu = _gpu(members) if _has_gpu(members, manifest) else None
    return Contents(graph, hw, regions, manifest.placements, manifest.total_macs, host, gpu)


def _packed(
    members: Mapping[str, bytes], manifest: _Manifest, programs: Sequence[Program]
) -> Sequence[Mapping[str, PackedConstant]]:
    """What each region's image holds of the graph's arrays, by name."""
    if not any(region.packed for region in manifest.regions):
        return [{} for _ in programs]
    from vta.runtime.artifact.packed_arrays import read_constants

    shapes = {entry.name: entry.shape for entry in manifest.arrays if entry.dtype == "int8"}
    found: list[dict[str, PackedConstant]] = []
    for position, (entry, program) in enumerate(zip(manifest.regions, programs, strict=True)):
        where = f"regions/{position}"
        boxes = (
            _array(members, f"{where}/{_BOXES}", "<i8").astype(np.int64, copy=False) if entry.packed else np.zeros(0, np.int64)
        )
        found.append(read_constants(entry.packed, boxes, program.image, shapes, where))
    return found


def _has_library(members: Mapping[str, bytes], manifest: _Manifest) -> bool:
    return manifest.version == HOST_VERSION or (manifest.version > HOST_VERSION and _PLAN in members)


def _has_gpu(members: Mapping[str, bytes], manifest: _Manifest) -> bool:
    return manifest.version in _GPU_VERSIONS or (manifest.version > SCHEDULES_VERSION and _GPU in members)


def _gpu(members: Mapping[str, bytes]) -> GpuHost:
    from vta.runtime.artifact.gpu_host import GpuHost

    return from_json(GpuHost, _json(members, _GPU), "GPU")


def _host(members: Mapping[str, bytes], nodes: int, regions: int) -> HostLibrary:
    from vta.runtime.artifact.check_host_plan import check_plan
    from vta.runtime.artifact.host_plan import HostLibrary, HostPlan

    plan = from_json(HostPlan, _json(members, _PLAN), "host plan")
    check_plan(plan, len(members[_CONSTANTS]), nodes, regions)
    return HostLibrary(plan, members[_LIBRARY], members[_CONSTANTS])


def _check_members(members: Mapping[str, bytes], manifest: _Manifest) -> None:
    expected = {_MANIFEST, _GRAPH}
    packed = {entry.array for region in manifest.regions for entry in region.packed}
    expected |= {f"arrays/{entry.name}" for entry in manifest.arrays if entry.name not in packed}
    expected |= {f"regions/{i}/{part}" for i in range(len(manifest.regions)) for part in _PROGRAM_PARTS}
    expected |= {f"regions/{i}/{_BOXES}" for i, region in enumerate(manifest.regions) if region.packed}
    if _has_gpu(members, manifest):
        expected.add(_GPU)
    if _has_library(members, manifest):
        expected |= {_PLAN, _LIBRARY, _CONSTANTS}
    for name in sorted(expected ^ members.keys()):
        raise ArtifactError(f"member {shown(name)} is {'missing' if name in expected else 'unknown'}")


def _manifest(members: Mapping[str, bytes]) -> _Manifest:
    values = _json(members, _MANIFEST)
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise ArtifactError("not a .vta module")
    if values.get("version") not in (FORMAT_VERSION, HOST_VERSION, *_GPU_VERSIONS, PACKED_VERSION):
        version = shown(values.get("version"))
        raise ArtifactError(f"format version {version}; this program reads versions {FORMAT_VERSION} to {PACKED_VERSION}")
    return from_json(_Manifest, values, "manifest")


def _constant(entry: _Array, members: Mapping[str, bytes]) -> NDArray[Any]:
    stored = _array(members, f"arrays/{entry.name}", _stored(entry.dtype))
    wanted = math.prod(entry.shape)
    if min(entry.shape, default=1) < 0 or stored.size != wanted:
        raise ArtifactError(f"array {shown(entry.name)} has {stored.size} elements; its shape is {entry.shape}")
    return stored.reshape(entry.shape).astype(entry.dtype, copy=False)


def _stored(dtype: str) -> str:
    """The dtype of an array in the file: little endian; raises `ArtifactError` for one that has no plain bytes."""
    if dtype not in _DTYPES:
        raise ArtifactError(f"arrays of dtype {dtype} cannot be stored; allowed: {', '.join(_DTYPES)}")
    return np.dtype(dtype).newbyteorder("<").str


def _program(entry: _Region, members: Mapping[str, bytes], prefix: str, hw: HardwareConfig) -> Program:
    return Program(
        hw=hw,
        instructions=decode(
            _array(members, f"{prefix}/instructions", f"V{INSTRUCTION_BYTES}").view(np.uint8).reshape(-1, INSTRUCTION_BYTES), hw
        ),
        image=_array(members, f"{prefix}/image", "u1"),
        image_bytes=entry.image_bytes,
        symbols=entry.symbols,
        operators=entry.operators,
        operator_index=_array(members, f"{prefix}/operator_index", "<i4").astype(np.int32, copy=False),
        tile_index=_array(members, f"{prefix}/tile_index", "<i4").astype(np.int32, copy=False),
    )


def _region(entry: _Region, program: Program, nodes: list[Node], held: Mapping[str, PackedConstant]) -> RegionProgram:
    def binding(tensor: _Binding) -> TensorBinding:
        if not 0 <= tensor.node < len(nodes):
            raise ArtifactError(f"{shown(tensor.symbol)} holds node {tensor.node} of a graph of {len(nodes)}")
        return TensorBinding(nodes[tensor.node], tensor.symbol, tensor.planes)

    return RegionProgram(
        name=entry.name,
        program=program,
        inputs=tuple(binding(tensor) for tensor in entry.inputs),
        outputs=tuple(binding(tensor) for tensor in entry.outputs),
        operators=tuple(OperatorRecord(r.name, r.kind, r.macs, binding(r.output), r.end) for r in entry.records),
        packed=tuple(held.values()),
    )


def _array(members: Mapping[str, bytes], name: str, dtype: str) -> NDArray[Any]:
    data = members[name]
    if len(data) % np.dtype(dtype).itemsize:
        raise ArtifactError(f"member {shown(name)} has {len(data)} bytes, not a whole number of {dtype} elements")
    return np.frombuffer(data, dtype=dtype)


def _json(members: Mapping[str, bytes], name: str) -> Any:
    try:
        content = members[name]
    except KeyError:
        raise ArtifactError(f"member {shown(name)} is missing") from None
    return parse_json(content, f"member {shown(name)}", ArtifactError)


def _json_bytes(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
