"""NVIDIA's GPUs, by the driver's own library: nothing but the driver and a compiler need be installed."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import DeviceError, GpuFaultError
from vta.host.gpu.drivers.binaries import kept_binary
from vta.host.gpu.drivers.device import GpuMemory
from vta.host.gpu.drivers.nvrtc import compile_cuda, first_library, nvrtc_version
from vta.host.gpu.printing.dialects import CUDA
from vta.host.gpu.printing.printer import GpuFunction, GpuSource
from vta.host.loop.grid import GridLimits

__all__ = ["CudaDevice", "CudaGraph", "CudaMemory", "cuda_device_count", "find_driver"]

Array = NDArray[Any]
_ALIGNMENT = 256
_TENSOR_ARCHITECTURE = 75
"""The first that multiplies matrices of bytes."""
_RELAXED = 2
_FAULTS = range(700, 720)
"""Errors after which a process can do nothing more with the GPU: illegal accesses, launches that hang."""
_IN_GRAPH = 20
"""Starts in a graph that is timed."""
_ATTRIBUTES = {
    "threads": 1, "block_x": 2, "block_y": 3, "block_z": 4, "grid_x": 5, "grid_y": 6, "grid_z": 7, "shared": 8, "major": 75,
    "minor": 76, "processors": 16, "registers": 12,
}  # fmt: skip
"""Attributes of devices, by the driver's numbers."""


@cache
def find_driver() -> ctypes.CDLL | None:
    """The driver's library, or None where there is none."""
    return first_library(("libcuda.so.1", "libcuda.so"))


class _Driver:
    """Calls of the driver; one that fails raises `DeviceError` with the driver's words."""

    def __init__(self) -> None:
        found = find_driver()
        if found is None:
            raise DeviceError("libcuda.so.1 is missing: NVIDIA's driver is not installed here")
        self.library = found
        self("cuInit", 0)

    def __call__(self, function: str, *arguments: Any) -> None:
        status = getattr(self.library, function)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(status, ctypes.byref(text))
            kind = GpuFaultError if status in _FAULTS else DeviceError
            raise kind(f"{function}: {(text.value or b'error').decode()} ({status})")


@cache
def _driver() -> _Driver:
    return _Driver()


def cuda_device_count() -> int:
    """How many GPUs there are; 0 without a driver."""
    try:
        count = ctypes.c_int()
        _driver()("cuDeviceGetCount", ctypes.byref(count))
        return count.value
    except DeviceError:
        return 0


class CudaMemory:
    """Memory of a GPU, or a part of it."""

    def __init__(self, device: CudaDevice, address: int, owner: Any) -> None:
        self.device = device
        self.address = address
        self._owner = owner

    def part(self, offset: int, nbytes: int) -> CudaMemory:
        """See `GpuMemory.part`."""
        return CudaMemory(self.device, self.address + offset, self._owner)

    def write(self, array: Array) -> None:
        """See `GpuMemory.write`."""
        data = np.ascontiguousarray(array)
        self.device.call(
            "cuMemcpyHtoDAsync_v2",
            ctypes.c_uint64(self.address),
            _pointer(data),
            ctypes.c_size_t(data.nbytes),
            self.device.stream,
        )

    def read(self, array: Array) -> None:
        """See `GpuMemory.read`."""
        self.device.call(
            "cuMemcpyDtoHAsync_v2",
            _pointer(array),
            ctypes.c_uint64(self.address),
            ctypes.c_size_t(array.nbytes),
            self.device.stream,
        )
        self.device.finish()


class _Allocation:
    def __init__(self, device: CudaDevice, nbytes: int) -> None:
        found = ctypes.c_uint64()
        device.call("cuMemAlloc_v2", ctypes.byref(found), ctypes.c_size_t(max(nbytes, 1)))
        self.address = found.value
        self._device = device

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self._device.library.cuMemFree_v2(ctypes.c_uint64(self.address))


def _pointer(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.__array_interface__["data"][0])


class CudaCode:
    """A module of the driver's, with the functions of a program."""

    def __init__(self, device: CudaDevice, source: GpuSource, binary: bytes) -> None:
        self._device = device
        self._module = ctypes.c_void_p()
        device.call("cuModuleLoadData", ctypes.byref(self._module), binary)
        self._functions = [(self._function(item), item.grid) for item in source.functions]

    def _function(self, item: GpuFunction) -> ctypes.c_void_p:
        found = ctypes.c_void_p()
        self._device.call("cuModuleGetFunction", ctypes.byref(found), self._module, item.symbol.encode())
        return found

    def launch(self, memory: Sequence[GpuMemory]) -> None:
        """See `GpuCode.launch`."""
        values = [ctypes.c_uint64(item.address) for item in memory if isinstance(item, CudaMemory)]
        arguments = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        for function, grid in self._functions:
            self._device.call("cuLaunchKernel", function, *grid.blocks, *grid.threads, 0, self._device.stream, arguments, None)

    def __del__(self) -> None:
        if getattr(self, "_module", None):
            self._device.library.cuModuleUnload(self._module)


class _Event:
    """A point in what a device does."""

    def __init__(self, device: CudaDevice) -> None:
        self._library = device.library
        self.handle = ctypes.c_void_p()
        device.call("cuEventCreate", ctypes.byref(self.handle), 0)
        device.call("cuEventRecord", self.handle, device.stream)

    def __del__(self) -> None:
        if self.handle:
            self._library.cuEventDestroy_v2(self.handle)


class CudaGraph:
    """What has been started in a while, to be started again in one go."""

    def __init__(self, device: CudaDevice, start: Callable[[], None]) -> None:
        self._device = device
        device.call("cuStreamBeginCapture_v2", device.stream, _RELAXED)
        graph = ctypes.c_void_p()
        try:
            start()
        finally:
            device.call("cuStreamEndCapture", device.stream, ctypes.byref(graph))
        self._run = ctypes.c_void_p()
        device.call("cuGraphInstantiateWithFlags", ctypes.byref(self._run), graph, ctypes.c_ulonglong(0))
        device.call("cuGraphDestroy", graph)

    def launch(self) -> None:
        """Start it."""
        self._device.call("cuGraphLaunch", self._run, self._device.stream)

    def __del__(self) -> None:
        if getattr(self, "_run", None):
            self._device.library.cuGraphExecDestroy(self._run)


class CudaDevice:
    """One GPU of NVIDIA's; see `GpuDevice`."""

    kind = "cuda"
    dialect = CUDA
    alignment = _ALIGNMENT

    def __init__(self, ordinal: int = 0) -> None:
        """Raises `DeviceError` where there is no driver, no compiler, or no such GPU."""
        driver = _driver()
        self.library = driver.library
        self._driver = driver
        count = cuda_device_count()
        if not 0 <= ordinal < count:
            raise DeviceError(f"there is no GPU {ordinal}; there are {count}")
        nvrtc_version()
        self._device = ctypes.c_int()
        driver("cuDeviceGet", ctypes.byref(self._device), ordinal)
        self._context = ctypes.c_void_p()
        driver("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), self._device)
        self._current = threading.local()
        self.lock = threading.RLock()
        text = ctypes.create_string_buffer(256)
        driver("cuDeviceGetName", text, 256, self._device)
        self.name = text.value.decode()
        self.architecture = f"{self._attribute('major')}{self._attribute('minor')}"
        self.processors = self._attribute("processors")
        self.limits = GridLimits(
            threads=self._attribute("threads"),
            block=(self._attribute("block_x"), self._attribute("block_y"), self._attribute("block_z")),
            grid=(self._attribute("grid_x"), self._attribute("grid_y"), self._attribute("grid_z")),
            shared_bytes=self._attribute("shared"),
            registers=self._attribute("registers"),
            processors=self.processors,
            tensor=self._attribute("major") * 10 + self._attribute("minor") >= _TENSOR_ARCHITECTURE,
        )
        self.stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)

    def _attribute(self, name: str) -> int:
        value = ctypes.c_int()
        self._driver("cuDeviceGetAttribute", ctypes.byref(value), _ATTRIBUTES[name], self._device)
        return value.value

    def call(self, function: str, *arguments: Any) -> None:
        """Call the driver with this device's context; raises `DeviceError`."""
        if not getattr(self._current, "set", False):
            self._driver("cuCtxSetCurrent", self._context)
            self._current.set = True
        self._driver(function, *arguments)

    def allocate(self, nbytes: int) -> CudaMemory:
        """See `GpuDevice.allocate`."""
        made = _Allocation(self, nbytes)
        return CudaMemory(self, made.address, made)

    def compile(self, source: GpuSource) -> CudaCode:
        """See `GpuDevice.compile`."""
        key = f"{nvrtc_version()} {self.architecture}"
        binary = source.binary or kept_binary(source.text, key, lambda: compile_cuda(source.text, self.architecture))
        return CudaCode(self, source, binary)

    def finish(self) -> None:
        """See `GpuDevice.finish`."""
        self.call("cuStreamSynchronize", self.stream)

    def mark(self) -> _Event:
        """See `GpuDevice.mark`."""
        return _Event(self)

    def seconds_between(self, first: _Event, second: _Event) -> float:
        """See `GpuDevice.seconds_between`."""
        value = ctypes.c_float()
        self.call("cuEventSynchronize", second.handle)
        self.call("cuEventElapsedTime", ctypes.byref(value), first.handle, second.handle)
        return value.value * 1e-3

    def seconds_of(self, start: Callable[[], None], number: int) -> float:
        """See `GpuDevice.seconds_of`; several are one graph, so that what starting them costs here does not count."""
        count = min(number, _IN_GRAPH)

        def several() -> None:
            for _ in range(count):
                start()

        graph = CudaGraph(self, several)
        launches = -(-number // count)
        first = self.mark()
        for _ in range(launches):
            graph.launch()
        return self.seconds_between(first, self.mark()) / (launches * count)
