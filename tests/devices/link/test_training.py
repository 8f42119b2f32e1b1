"""DRAM is set up through a controller whose delays are right in a window only."""

from collections import defaultdict

import pytest

from vta.boards.controller import ControllerSetup, SetupStep
from vta.devices.link.training import MemoryTraining
from vta.errors import DeviceError

LANES, PHASES, PHASE_BYTES, DELAYS, BITSLIPS = 2, 2, 8, 8, 4
NAMES = (
    *("ddrctrl_init_done", "ddrctrl_init_error", "ddrphy_dly_sel", "ddrphy_rdly_dq_rst", "ddrphy_rdly_dq_inc"),
    *(
        "ddrphy_rdly_dq_bitslip_rst",
        "ddrphy_rdly_dq_bitslip",
        "ddrphy_burstdet_clr",
        "ddrphy_burstdet_seen",
        "sdram_dfii_control",
    ),
)
PHASE_NAMES = ("command", "command_issue", "address", "baddress", "wrdata", "rddata")
STEPS = (
    SetupStep("reset", 0, 0, 12, None, 100),
    SetupStep("awake", 0, 0, 14, None, 50),
    SetupStep("mode register 2", 0x200, 2, None, 15, 0),
)


def make_setup():
    registers, place = {}, 0
    for name in (*NAMES, *(f"sdram_dfii_pi{phase}_{name}" for phase in range(PHASES) for name in PHASE_NAMES)):
        words = 2 if name.endswith(("wrdata", "rddata")) else 1
        registers[name] = (place, words)
        place += 4 * words
    return ControllerSetup(registers, PHASES, 0, 1, LANES, PHASE_BYTES, DELAYS, BITSLIPS, STEPS)


class Controller:
    """LiteDRAM's registers over chips that hold one burst; a lane reads right at the shifts and delays of `windows`."""

    def __init__(self, setup, windows):
        self.windows = windows
        self.names = {place + 4 * word: (name, word) for name, (place, words) in setup.registers.items() for word in range(words)}
        self.values = defaultdict(int)
        self.delay, self.bitslip = [0] * LANES, [0] * LANES
        self.mode_registers = []
        self.active, self.seen, self.stored = False, 0, {}

    def right(self, lane):
        return any(slip == self.bitslip[lane] and self.delay[lane] in delays for slip, delays in self.windows[lane])

    def read(self, offset):
        name, word = self.names[offset]
        return self.seen if name == "ddrphy_burstdet_seen" else self.values[name, word]

    def write(self, offset, value):
        name, word = self.names[offset]
        self.values[name, word] = value
        chosen = [lane for lane in range(LANES) if self.values["ddrphy_dly_sel", 0] >> lane & 1]
        for lane in chosen:
            if name == "ddrphy_rdly_dq_rst":
                self.delay[lane] = 0
            elif name == "ddrphy_rdly_dq_inc":
                self.delay[lane] = (self.delay[lane] + 1) % DELAYS
            elif name == "ddrphy_rdly_dq_bitslip_rst":
                self.bitslip[lane] = 0
            elif name == "ddrphy_rdly_dq_bitslip":
                self.bitslip[lane] = (self.bitslip[lane] + 1) % BITSLIPS
        if name == "ddrphy_burstdet_clr":
            self.seen = 0
        if name.endswith("command_issue"):
            self.execute(int(name[len("sdram_dfii_pi")]))

    def execute(self, phase):
        assert not self.values["sdram_dfii_control", 0] & 1, "the host gives commands while the hardware does"
        assert not self.values["ddrphy_dly_sel", 0], "a lane is halted"
        command = self.values[f"sdram_dfii_pi{phase}_command", 0]
        if command == 0x0F:
            pair = (self.values[f"sdram_dfii_pi{phase}_{name}", 0] for name in ("baddress", "address"))
            self.mode_registers.append(tuple(pair))
        elif command == 0x09:
            self.active = True
        elif command == 0x0B:
            self.active = False
        elif command == 0x17:
            assert self.active
            assert phase == 1
            self.stored = {(p, w): self.values[f"sdram_dfii_pi{p}_wrdata", w] for p in range(PHASES) for w in range(2)}
        elif command == 0x25:
            assert self.active
            assert phase == 0
            self.seen = sum(1 << lane for lane in range(LANES) if self.right(lane))
            for (p, w), value in self.stored.items():
                # The lane of the lowest byte is 0, and they take turns.
                wrong = sum(0xFF << 8 * byte for byte in range(4) if not self.right(byte % LANES))
                self.values[f"sdram_dfii_pi{p}_rddata", w] = value ^ wrong


def train(windows):
    setup = make_setup()
    controller, waited = Controller(setup, windows), []
    return controller, waited, MemoryTraining(setup, controller, waited.append)


def test_each_lane_gets_the_middle_of_its_widest_window():
    controller, waited, training = train([[(0, (1,)), (2, range(2, 7))], [(3, range(3))]])
    assert training.train() == ((2, 4), (3, 1))
    assert (controller.bitslip, controller.delay) == ([2, 3], [4, 1])
    assert controller.mode_registers == [(2, 0x200)]
    assert waited == [100, 50, 0]
    assert controller.values["sdram_dfii_control", 0] == 1
    assert (controller.values["ddrctrl_init_done", 0], controller.values["ddrctrl_init_error", 0]) == (1, 0)


def test_a_lane_that_reads_nothing_right_is_named():
    controller, _, training = train([[(2, range(2, 7))], []])
    with pytest.raises(DeviceError, match="DRAM: lane 1 of 2 reads nothing right, at any delay"):
        training.train()
    assert (controller.values["ddrctrl_init_done", 0], controller.values["ddrctrl_init_error", 0]) == (0, 1)


def test_another_controller_is_found_out():
    setup = make_setup()
    known = {name: place for name, place in setup.registers.items() if name != "ddrphy_dly_sel"}
    other = ControllerSetup(known, PHASES, 0, 1, LANES, PHASE_BYTES, DELAYS, BITSLIPS, STEPS)
    with pytest.raises(DeviceError, match="has no register ddrphy_dly_sel; it was generated by another LiteDRAM"):
        MemoryTraining(other, Controller(setup, [[], []]), lambda _: None).train()
