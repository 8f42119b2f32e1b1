"""Sets up a board's DRAM through its controller: wakes the chips, and finds when to look at what they send."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from random import Random

from vta.boards.controller import ControllerSetup, SetupStep
from vta.devices.core_control import Registers
from vta.errors import DeviceError
from vta.support.dataclass import dataclass

__all__ = ["MemoryTraining"]

_log = logging.getLogger(__name__)

# Bits of the control lines and of commands (LiteDRAM, litedram/dfii.py).
_BY_HARDWARE, _AWAKE = 0x01, 0x0E
"""The controller gives commands, rather than the host; the chips are out of reset, with clock and termination on."""
_SELECT, _WRITE, _COLUMN, _ROW, _SENDS, _RECEIVES = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
_ACTIVATE, _PRECHARGE = _ROW | _SELECT, _ROW | _WRITE | _SELECT
_ALL_BANKS = 1 << 10
_PATTERNS = 3
_WORD_BYTES = 4


@dataclass(frozen=True)
class _Window:
    """Delays in a row at which a lane reads what was written, at one shift."""

    bitslip: int
    first: int
    count: int

    @property
    def middle(self) -> int:
        return self.first + (self.count - 1) // 2


class MemoryTraining:
    """The controller of `setup` behind `registers`. `wait` lets at least so many cycles pass."""

    def __init__(self, setup: ControllerSetup, registers: Registers, wait: Callable[[int], None]) -> None:
        self._setup = setup
        self._registers = registers
        self._wait = wait

    def train(self) -> tuple[tuple[int, int], ...]:
        """Set memory up; returns shift and delay of each lane.

        Raises `DeviceError` naming the lane that reads nothing right at any delay; memory is then not ready.
        """
        self._set("ddrctrl_init_done", 0)
        self._set("ddrctrl_init_error", 0)
        self._set("sdram_dfii_control", _AWAKE)
        for step in self._setup.steps:
            self._step(step)
        try:
            chosen = tuple(self._train_lane(lane) for lane in range(self._setup.lanes if self._setup.delays else 0))
        except DeviceError:
            self._set("ddrctrl_init_error", 1)
            raise
        finally:
            self._set("sdram_dfii_control", _BY_HARDWARE)
        self._set("ddrctrl_init_done", 1)
        _log.info("DRAM is set up: shift and delay of its lanes: %s", chosen)
        return chosen

    def _step(self, step: SetupStep) -> None:
        self._set("sdram_dfii_pi0_address", step.address)
        self._set("sdram_dfii_pi0_baddress", step.bank)
        if step.control is not None:
            self._set("sdram_dfii_control", step.control)
        if step.command is not None:
            self._command(0, step.command)
        self._wait(step.wait_cycles)

    def _train_lane(self, lane: int) -> tuple[int, int]:
        windows = [window for bitslip in range(self._setup.bitslips) for window in self._windows(lane, bitslip)]
        if not windows:
            raise DeviceError(f"DRAM: lane {lane} of {self._setup.lanes} reads nothing right, at any delay")
        best = max(windows, key=lambda window: window.count)
        self._choose(lane, best.bitslip, best.middle)
        if not self._is_right(lane):
            raise DeviceError(f"DRAM: lane {lane} of {self._setup.lanes} reads wrong at delay {best.middle}, between good ones")
        return best.bitslip, best.middle

    def _windows(self, lane: int, bitslip: int) -> Iterator[_Window]:
        right = []
        for delay in range(self._setup.delays):
            self._choose(lane, bitslip, delay)
            right.append(self._is_right(lane))
        for good, group in groupby(range(len(right)), key=right.__getitem__):
            delays = list(group)
            if good:
                yield _Window(bitslip, delays[0], len(delays))

    def _choose(self, lane: int, bitslip: int, delay: int) -> None:
        with self._selected(lane):
            self._set("ddrphy_rdly_dq_rst", 1)
            self._set("ddrphy_rdly_dq_bitslip_rst", 1)
            for _ in range(bitslip):
                self._set("ddrphy_rdly_dq_bitslip", 1)
            for _ in range(delay):
                self._set("ddrphy_rdly_dq_inc", 1)

    @contextmanager
    def _selected(self, lane: int) -> Iterator[None]:
        self._set("ddrphy_dly_sel", 1 << lane)
        yield
        # All lanes are halted and let go together, which keeps them in step.
        for value in (0, (1 << self._setup.lanes) - 1, 0):
            self._set("ddrphy_dly_sel", value)

    def _is_right(self, lane: int) -> bool:
        """Whether `lane` reads back what is written, for a few patterns."""
        return all(self._reads_back(lane, Random(seed)) for seed in range(_PATTERNS))

    def _reads_back(self, lane: int, random: Random) -> bool:
        setup = self._setup
        patterns = [random.randbytes(setup.phase_bytes) for _ in range(setup.phases)]
        self._at(0, 0, 0)
        self._command(0, _ACTIVATE)
        for phase, pattern in enumerate(patterns):
            self._put(f"sdram_dfii_pi{phase}_wrdata", pattern)
        self._at(setup.write_phase, 0, 0)
        self._command(setup.write_phase, _COLUMN | _WRITE | _SELECT | _SENDS)
        self._set("ddrphy_burstdet_clr", 1)
        self._at(setup.read_phase, 0, 0)
        self._command(setup.read_phase, _COLUMN | _SELECT | _RECEIVES)
        self._at(0, _ALL_BANKS, 0)
        self._command(0, _PRECHARGE)
        seen = self._get("ddrphy_burstdet_seen") >> lane & 1
        found = [self._take(f"sdram_dfii_pi{phase}_rddata") for phase in range(setup.phases)]
        # Bytes of the lanes take turns; the highest come first.
        mine = slice(setup.lanes - 1 - lane, None, setup.lanes)
        return bool(seen) and all(pattern[mine] == read[mine] for pattern, read in zip(patterns, found, strict=True))

    def _at(self, phase: int, address: int, bank: int) -> None:
        self._set(f"sdram_dfii_pi{phase}_address", address)
        self._set(f"sdram_dfii_pi{phase}_baddress", bank)

    def _command(self, phase: int, bits: int) -> None:
        self._set(f"sdram_dfii_pi{phase}_command", bits)
        self._set(f"sdram_dfii_pi{phase}_command_issue", 1)

    def _set(self, name: str, value: int) -> None:
        self._registers.write(self._place(name)[0], value)

    def _get(self, name: str) -> int:
        return self._registers.read(self._place(name)[0])

    def _put(self, name: str, data: bytes) -> None:
        place, _ = self._place(name)
        for index in range(0, len(data), _WORD_BYTES):
            self._registers.write(place + index, int.from_bytes(data[index : index + _WORD_BYTES], "big"))

    def _take(self, name: str) -> bytes:
        place, words = self._place(name)
        return b"".join(self._registers.read(place + _WORD_BYTES * word).to_bytes(_WORD_BYTES, "big") for word in range(words))

    def _place(self, name: str) -> tuple[int, int]:
        try:
            return self._setup.registers[name]
        except KeyError:
            raise DeviceError(f"the memory controller has no register {name}; it was generated by another LiteDRAM") from None
