"""Generates the network's cores from the bytes of frames on: `python -m tests.bitstream.frames.core OUTPUT.v`."""

import sys
from pathlib import Path

from liteeth.common import eth_phy_description
from liteeth.core import LiteEthUDPIPCore
from litex.gen import LiteXModule
from litex.gen.fhdl.verilog import convert
from litex.soc.interconnect import wishbone
from litex.soc.interconnect.stream import Endpoint
from migen import ClockDomain

from vta.bitstream.ethernet_core import EtherboneEnd

PORT = 1234
WISHBONE = ("adr", "dat_w", "dat_r", "sel", "cyc", "stb", "we", "ack")


class Cable(LiteXModule):
    """In the place of the chip that drives it: a byte each way and cycle."""

    dw = 8

    def __init__(self):
        self.sink, self.source = Endpoint(eth_phy_description(8), name="tx"), Endpoint(eth_phy_description(8), name="rx")


class Frames(LiteXModule):
    def __init__(self):
        self.clock_domains.cd_sys = ClockDomain()
        self.clock_domains.cd_eth_rx = ClockDomain()
        self.clock_domains.cd_eth_tx = ClockDomain()
        self.cable = Cable()
        self.bus = wishbone.Interface()
        names = {"mac_address": 0x10E2D5000001, "ip_address": "192.168.1.50"}
        self.core = LiteEthUDPIPCore(self.cable, **names, clk_freq=50e6, dw=32, with_sys_datapath=True)
        self.end = EtherboneEnd(self.core.udp.crossbar.get_port(PORT, dw=32), PORT)
        self.comb += self.end.bus.connect(self.bus)

    @property
    def ios(self):
        domains = (self.cd_sys, self.cd_eth_rx, self.cd_eth_tx)
        ends = [getattr(end, name) for end in (self.cable.sink, self.cable.source) for name in ("valid", "ready", "last", "data")]
        clocks = [signal for domain in domains for signal in (domain.clk, domain.rst)]
        return {*clocks, *ends, *(getattr(self.bus, name) for name in WISHBONE)}


if __name__ == "__main__":
    frames = Frames()
    Path(sys.argv[1]).write_text(str(convert(frames, frames.ios, name="frames").main_source))
