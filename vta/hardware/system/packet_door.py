"""Packets of a simulated system, word by word, with the network's cores between them and the system."""

from __future__ import annotations

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal, Signal
from amaranth.lib import stream
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import Component, In, Out

from vta.hardware.system.wishbone import Wishbone

__all__ = ["NETWORK_MODULE", "PACKET_WORD", "PacketDoor"]

NETWORK_MODULE = "vta_ethernet"
"""The module with the network's cores, whose Verilog is not made here (`vta.bitstream.ethernet`)."""
PACKET_WORD = StructLayout({"data": 32, "last": 1})

_LOOPBACK = 0x7F000001


class PacketDoor(Component):
    """Joins words of packets with `wishbone`. `length` and `port` are of the packet that comes, `to_port` of one that goes."""

    def __init__(self) -> None:
        words = stream.Signature(PACKET_WORD)
        ports = {"length": In(16), "port": In(16), "to_port": Out(16), "wishbone": Out(Wishbone())}
        super().__init__({"received": In(words), "sent": Out(words), **ports})

    def elaborate(self, platform: object) -> Module:
        """Place the module."""
        m = Module()
        received, sent, wishbone = self.received, self.sent, self.wishbone
        m.submodules.network = Instance(
            NETWORK_MODULE,
            i_sys_clk=ClockSignal(),
            i_sys_rst=ResetSignal(),
            i_received_valid=received.valid,
            i_received_last=received.payload.last,
            i_received_payload_data=received.payload.data,
            i_received_payload_error=0,
            i_received_param_ip_address=_LOOPBACK,
            i_received_param_length=self.length,
            i_received_param_src_port=self.port,
            o_received_ready=received.ready,
            o_sent_valid=sent.valid,
            o_sent_last=sent.payload.last,
            o_sent_payload_data=sent.payload.data,
            o_sent_param_dst_port=self.to_port,
            o_sent_param_length=Signal(16),
            i_sent_ready=sent.ready,
            o_bus_adr=wishbone.adr,
            o_bus_dat_w=wishbone.dat_w,
            i_bus_dat_r=wishbone.dat_r,
            o_bus_sel=wishbone.sel,
            o_bus_cyc=wishbone.cyc,
            o_bus_stb=wishbone.stb,
            o_bus_we=wishbone.we,
            i_bus_ack=wishbone.ack,
        )
        return m
