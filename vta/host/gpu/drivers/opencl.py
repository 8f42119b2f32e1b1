"""OpenCL's devices: GPUs, and processors that stand in for one."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import CompileError, DeviceError
from vta.host.gpu.drivers.device import GpuMemory
from vta.host.gpu.printing.dialects import OPENCL
from vta.host.gpu.printing.printer import GpuSource
from vta.host.loop.grid import GridLimits

if TYPE_CHECKING:
    import pyopencl

__all__ = ["OpenclDevice", "OpenclMemory", "opencl_devices"]

Array = NDArray[Any]
_OPTIONS = ("-cl-fp32-correctly-rounded-divide-sqrt",)
_MISSING = "pyopencl is missing: pip install 'vta[opencl]'"


def opencl_devices(platform: str = "") -> list[pyopencl.Device]:
    """Devices of platforms whose name has `platform` in it, GPUs first. Raises `DeviceError` if pyopencl is missing."""
    if find_spec("pyopencl") is None:
        raise DeviceError(_MISSING)
    import pyopencl

    try:
        found = [item for item in pyopencl.get_platforms() if platform.lower() in item.name.lower()]
    except pyopencl.Error:
        found = []
    devices = [device for item in found for device in item.get_devices()]
    return sorted(devices, key=lambda device: not device.type & pyopencl.device_type.GPU)


class OpenclMemory:
    """A buffer, or a part of one."""

    def __init__(self, device: OpenclDevice, buffer: Any) -> None:
        self.device = device
        self.buffer = buffer

    def part(self, offset: int, nbytes: int) -> OpenclMemory:
        """See `GpuMemory.part`."""
        return OpenclMemory(self.device, self.buffer.get_sub_region(offset, max(nbytes, 1)))

    def write(self, array: Array) -> None:
        """See `GpuMemory.write`."""
        data = np.ascontiguousarray(array)
        if data.nbytes:
            self.device.cl.enqueue_copy(self.device.queue, self.buffer, data, is_blocking=True)

    def read(self, array: Array) -> None:
        """See `GpuMemory.read`."""
        if array.nbytes:
            self.device.cl.enqueue_copy(self.device.queue, array, self.buffer, is_blocking=True)


class OpenclCode:
    """A program with its kernels."""

    def __init__(self, device: OpenclDevice, source: GpuSource, program: Any) -> None:
        self._device = device
        self._kernels = [(device.cl.Kernel(program, item.symbol), item.grid) for item in source.functions]

    def launch(self, memory: Sequence[GpuMemory]) -> None:
        """See `GpuCode.launch`."""
        buffers = [item.buffer for item in memory if isinstance(item, OpenclMemory)]
        for kernel, grid in self._kernels:
            whole = tuple(blocks * threads for blocks, threads in zip(grid.blocks, grid.threads, strict=True))
            for at, buffer in enumerate(buffers):
                kernel.set_arg(at, buffer)
            self._device.started(lambda kernel=kernel, whole=whole, grid=grid: self._enqueue(kernel, whole, grid.threads))

    def _enqueue(self, kernel: Any, whole: tuple[int, ...], threads: tuple[int, ...]) -> None:
        self._device.cl.enqueue_nd_range_kernel(self._device.queue, kernel, whole, threads)


class OpenclDevice:
    """One device of OpenCL; see `GpuDevice`."""

    kind = "opencl"
    dialect = OPENCL

    def __init__(self, ordinal: int = 0, platform: str = "") -> None:
        """Raises `DeviceError` where pyopencl is missing, or there is no such device."""
        devices = opencl_devices(platform)
        if not 0 <= ordinal < len(devices):
            where = f" of a platform named {platform}" if platform else ""
            raise DeviceError(f"there is no OpenCL device {ordinal}{where}; there are {len(devices)}")
        import pyopencl

        self.cl = pyopencl
        found = devices[ordinal]
        self.name = found.name.strip()
        self._context = pyopencl.Context([found])
        self.queue = pyopencl.CommandQueue(self._context)
        self.alignment = max(64, found.mem_base_addr_align // 8)
        self.lock = threading.RLock()
        sizes = [*found.max_work_item_sizes, 1, 1][:3]
        self.limits = GridLimits(
            threads=min(found.max_work_group_size, 1024),
            block=(sizes[0], sizes[1], sizes[2]),
            grid=(2**31 - 1,) * 3,
            shared_bytes=min(found.local_mem_size, 48 * 1024),
            registers=self._registers(found),
            processors=found.max_compute_units,
        )

    def _registers(self, found: Any) -> int:
        """Those of a block where the driver tells, which only NVIDIA's does."""
        try:
            return int(found.registers_per_block_nv)
        except self.cl.Error:
            return GridLimits().registers

    def started(self, enqueue: Any) -> None:
        """Start something; raises `DeviceError` if the device does not take it."""
        try:
            enqueue()
        except self.cl.Error as error:
            raise DeviceError(f"{self.name}: {error}") from None

    def allocate(self, nbytes: int) -> OpenclMemory:
        """See `GpuDevice.allocate`."""
        try:
            return OpenclMemory(self, self.cl.Buffer(self._context, self.cl.mem_flags.READ_WRITE, max(nbytes, 1)))
        except self.cl.Error as error:
            raise DeviceError(f"{self.name}: {nbytes:,} bytes: {error}") from None

    def compile(self, source: GpuSource) -> OpenclCode:
        """See `GpuDevice.compile`."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", self.cl.CompilerWarning)
                program = self.cl.Program(self._context, source.text).build(options=list(_OPTIONS))
        except self.cl.Error as error:
            raise CompileError(f"{self.name} cannot compile a kernel: {str(error).strip()}") from None
        return OpenclCode(self, source, program)

    def finish(self) -> None:
        """See `GpuDevice.finish`."""
        try:
            self.queue.finish()
        except self.cl.Error as error:
            raise DeviceError(f"{self.name}: {error}") from None

    def mark(self) -> float:
        """See `GpuDevice.mark`: all before it has ended."""
        self.finish()
        return time.perf_counter()

    def seconds_between(self, first: float, second: float) -> float:
        """See `GpuDevice.seconds_between`."""
        return second - first

    def seconds_of(self, start: Callable[[], None], number: int) -> float:
        """See `GpuDevice.seconds_of`."""
        first = self.mark()
        for _ in range(number):
            start()
        return self.seconds_between(first, self.mark()) / number
