"""The cycle device: the functional simulator with time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.devices.device import DEFAULT_OPTIONS, RunOptions, RunResult, Tokens
from vta.devices.engine.cycle_engine import CycleEngine, Preset
from vta.devices.lifecycle import operation
from vta.devices.sim import SimDevice

__all__ = ["CycleDevice"]


class CycleDevice(SimDevice):
    """Counts the clock cycles of streams, and executes them in the order of their completion.

    `timing` is by default that of the config's platform. With `timing_only` nothing is executed: device memory then
    takes writes without keeping them, and reads give zeros. `dram` is that of `SimDevice`.
    """

    name = "cycle"

    def __init__(
        self,
        hw: HardwareConfig,
        timing: TimingParameters | None = None,
        memory_bytes: int = 1 << 28,
        preset: Preset | str = Preset.RTL,
        timing_only: bool = False,
        dram: NDArray[np.uint8] | None = None,
    ) -> None:
        super().__init__(hw, memory_bytes, dram=dram)
        self._cycles = CycleEngine(hw, timing, Preset(preset))
        self.timing_only = timing_only
        self._left = Tokens()

    @property
    def timing(self) -> TimingParameters:
        """The parameters of the memory system and the queues."""
        return self._cycles.timing

    @property
    def preset(self) -> Preset:
        """Whose timing this is."""
        return self._cycles.preset

    @operation
    def write(self, address: int, data: NDArray[np.uint8]) -> None:
        """See `Device.write`."""
        if not self.timing_only:
            super().write(address, data)

    @operation
    def reset(self) -> None:
        """See `Device.reset`."""
        super().reset()
        self._left = Tokens()

    def run(self, stream: NDArray[np.uint8], options: RunOptions = DEFAULT_OPTIONS) -> RunResult:
        """See `Device.run`; the seed is ignored, the order of execution follows from the timing.

        Raises `DeviceError` like `SimDevice.run`, and also if a token queue overflows.
        """
        with self._life.run():
            return self._run(stream, options)

    def _run(self, stream: NDArray[np.uint8], options: RunOptions) -> RunResult:
        tokens = options.tokens if options.tokens is not None else self._left if options.keep_state else Tokens()
        timed = self._cycles.run(stream, options, tokens)
        result = timed if self.timing_only else self._with_data(stream, replace(options, seed=None, tokens=tokens), timed)
        self._left = result.tokens
        return result

    def _with_data(self, stream: NDArray[np.uint8], options: RunOptions, timed: RunResult) -> RunResult:
        """Execute in the order of completion."""
        assert timed.times is not None, "the cycle engine times every instruction"
        rank = np.zeros(len(stream), dtype=np.int64)
        completed = timed.times.completed
        rank[options.first : options.first + len(completed)] = np.where(completed < 0, np.iinfo(np.int64).max, completed)
        done = self._execute(stream, options, rank)
        seconds = timed.seconds + done.seconds
        return replace(timed, counters=done.counters, operators=done.operators, tokens=done.tokens, seconds=seconds)
