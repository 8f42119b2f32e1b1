"""The Verilog module around the core that block designs take: whole AXI interfaces, and a reset that is active low."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["SHELL_MODULE", "Port", "platform_designer_component", "shell_ports", "shell_verilog"]

SHELL_MODULE = "vta_shell"

_ID_BITS = 2
_SLAVE_OUTPUTS = ("awready", "wready", "bresp", "bvalid", "arready", "rdata", "rresp", "rvalid")
_MASTER_INPUTS = ("awready", "wready", "bid", "bresp", "bvalid", "arready", "rid", "rdata", "rresp", "rlast", "rvalid")
_ABSENT = ("awid", "bid")
"""Signals of the shell that the core does not have: all its writes have the id 0."""


@dataclass(frozen=True)
class Port:
    """A port of the shell."""

    interface: str
    """``s_axil``, ``m_axi``, or empty."""
    signal: str
    bits: int
    output: bool

    @property
    def name(self) -> str:
        """Its Verilog name."""
        return f"{self.interface}_{self.signal}" if self.interface else self.signal


def shell_ports(bus_bits: int, axil_address_bits: int) -> tuple[Port, ...]:
    """The ports of the shell of a core with a bus of `bus_bits`; its registers take `axil_address_bits` of address."""
    slave = {
        **{"awaddr": axil_address_bits, "awprot": 3, "awvalid": 1, "awready": 1},
        **{"wdata": 32, "wstrb": 4, "wvalid": 1, "wready": 1, "bresp": 2, "bvalid": 1, "bready": 1},
        **{"araddr": axil_address_bits, "arprot": 3, "arvalid": 1, "arready": 1},
        **{"rdata": 32, "rresp": 2, "rvalid": 1, "rready": 1},
    }
    address = {"id": _ID_BITS, "addr": 32, "len": 8, "size": 3, "burst": 2, "cache": 4, "prot": 3, "valid": 1, "ready": 1}
    master = {
        **{f"aw{name}": bits for name, bits in address.items()},
        **{"wdata": bus_bits, "wstrb": bus_bits // 8, "wlast": 1, "wvalid": 1, "wready": 1},
        **{"bid": _ID_BITS, "bresp": 2, "bvalid": 1, "bready": 1},
        **{f"ar{name}": bits for name, bits in address.items()},
        **{"rid": _ID_BITS, "rdata": bus_bits, "rresp": 2, "rlast": 1, "rvalid": 1, "rready": 1},
    }
    return (
        Port("", "clk", 1, False),
        Port("", "resetn", 1, False),
        *(Port("s_axil", name, bits, name in _SLAVE_OUTPUTS) for name, bits in slave.items()),
        *(Port("m_axi", name, bits, name not in _MASTER_INPUTS) for name, bits in master.items()),
        Port("", "irq", 1, True),
    )


def shell_verilog(bus_bits: int, axil_address_bits: int, protection: int, user_bits: int) -> str:
    """The module as Verilog. `protection` is what the AXI master says in AxPROT; with `user_bits` it has AxUSER, all ones."""
    ports = shell_ports(bus_bits, axil_address_bits)
    users = [Port("m_axi", f"{channel}user", user_bits, True) for channel in ("aw", "ar") if user_bits]
    declared = ",\n".join(_declaration(port) for port in (*ports, *users))
    connected = ",\n".join(_connections(ports, axil_address_bits))
    ones = "".join(f"  assign {port.name} = {{{user_bits}{{1'b1}}}};\n" for port in users)
    return (
        f"// The core with whole interfaces, on a bus of {bus_bits} bits.\n"
        f"module {SHELL_MODULE} (\n{declared}\n);\n"
        f"  assign m_axi_awid = {_ID_BITS}'d0;\n"
        f"  assign m_axi_awprot = 3'd{protection};\n"
        f"  assign m_axi_arprot = 3'd{protection};\n"
        f"{ones}"
        f"  vta core (\n{connected}\n  );\n"
        f"endmodule\n"
    )


def _declaration(port: Port) -> str:
    width = f"[{port.bits - 1}:0] " if port.bits > 1 else ""
    return f"  {_attribute(port)}{'output' if port.output else 'input'} wire {width}{port.name}"


def _attribute(port: Port) -> str:
    """What tells Vivado which interface a port belongs to."""
    if port.name == "clk":
        return (
            '(* X_INTERFACE_INFO = "xilinx.com:signal:clock:1.0 clk CLK", '
            'X_INTERFACE_PARAMETER = "ASSOCIATED_BUSIF s_axil:m_axi, ASSOCIATED_RESET resetn" *)\n  '
        )
    if port.name == "resetn":
        return (
            '(* X_INTERFACE_INFO = "xilinx.com:signal:reset:1.0 resetn RST", X_INTERFACE_PARAMETER = "POLARITY ACTIVE_LOW" *)\n  '
        )
    if port.name == "irq":
        return (
            '(* X_INTERFACE_INFO = "xilinx.com:signal:interrupt:1.0 irq INTERRUPT", '
            'X_INTERFACE_PARAMETER = "SENSITIVITY LEVEL_HIGH" *)\n  '
        )
    return f'(* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 {port.interface} {port.signal.upper()}" *)\n  '


def _connections(ports: tuple[Port, ...], axil_address_bits: int) -> Iterator[str]:
    yield "    .clk(clk)"
    yield "    .rst(~resetn)"
    for port in ports:
        if not port.interface and port.name != "irq":
            continue
        if port.interface == "s_axil" and port.signal in ("awprot", "arprot"):
            continue
        if port.interface == "m_axi" and port.signal in _ABSENT:
            continue
        if port.interface == "m_axi" and port.signal in ("awprot", "arprot"):
            yield f"    .{port.name}()"
            continue
        if port.interface == "s_axil" and port.signal in ("awaddr", "araddr"):
            yield f"    .{port.name}({{{16 - axil_address_bits}'d0, {port.name}}})"
            continue
        yield f"    .{port.name}({port.name})"


def platform_designer_component(bus_bits: int, axil_address_bits: int, user_bits: int) -> str:
    """The shell as a component of Platform Designer (`vta_shell_hw.tcl`)."""
    ports = shell_ports(bus_bits, axil_address_bits)
    lines = [
        "# The shell as a component of Platform Designer.",
        "package require -exact qsys 16.0",
        f"set_module_property NAME {SHELL_MODULE}",
        "set_module_property VERSION 1.0",
        "add_fileset synthesis QUARTUS_SYNTH",
        f"set_fileset_property synthesis TOP_LEVEL {SHELL_MODULE}",
        "add_fileset_file vta_shell.v VERILOG PATH vta_shell.v TOP_LEVEL_FILE",
        "add_fileset_file vta.v VERILOG PATH vta.v",
        "add_interface clock clock end",
        "add_interface_port clock clk clk Input 1",
        "add_interface reset reset end",
        "set_interface_property reset associatedClock clock",
        "add_interface_port reset resetn reset_n Input 1",
    ]
    for interface, kind, way in (("s_axil", "axi4lite", "end"), ("m_axi", "axi4", "start")):
        lines += [
            f"add_interface {interface} {kind} {way}",
            f"set_interface_property {interface} associatedClock clock",
            f"set_interface_property {interface} associatedReset reset",
        ]
        lines += [_component_port(port) for port in ports if port.interface == interface]
    if user_bits:
        lines += [_component_port(Port("m_axi", f"{channel}user", user_bits, True)) for channel in ("aw", "ar")]
    lines += [
        "add_interface irq interrupt end",
        "set_interface_property irq associatedClock clock",
        "set_interface_property irq associatedReset reset",
        "add_interface_port irq irq irq Output 1",
    ]
    return "\n".join(lines) + "\n"


def _component_port(port: Port) -> str:
    return f"add_interface_port {port.interface} {port.name} {port.signal} {'Output' if port.output else 'Input'} {port.bits}"
