"""The top module of a board: clock and reset, the system, the network's cores and the memory controller."""

from __future__ import annotations

from vta.bitstream.pll import PllSettings
from vta.boards.fpga import DRAM_SIGNALS, Fpga
from vta.hardware.system.board_system import SYSTEM_MODULE
from vta.hardware.system.packet_door import NETWORK_MODULE

__all__ = ["CONTROLLER_MODULE", "TOP", "top_verilog"]

TOP = "vta_board"
"""The top module."""
CONTROLLER_MODULE = "litedram_core"

_RESET_BITS = 16
_IN_OUT = ("dq", "dqs_p")
_AXI_WRITE = ("awvalid", "awready", "awaddr", "awlen", "awsize", "awburst")
_AXI_DATA = ("wvalid", "wready", "wdata", "wstrb", "wlast", "bvalid", "bready", "bresp")
_AXI_READ = ("arvalid", "arready", "araddr", "arlen", "arsize", "arburst", "arid")
_AXI_ANSWER = ("rvalid", "rready", "rdata", "rlast", "rid", "rresp")
_WISHBONE = ("adr", "dat_w", "dat_r", "sel", "cyc", "stb", "we", "ack")
_ADDRESSES = ("awaddr", "araddr")
_WISHBONE_BITS = (30, 32, 32, 4, 1, 1, 1, 1)
_ETHERNET_INPUTS = ("clock_rx", "rx_ctl", "rx_data")


def top_verilog(fpga: Fpga, *, bus_bits: int, address_bits: int, pll: PllSettings | None) -> str:
    """The top module of `fpga`: with a DRAM of `address_bits` of byte address, or clocked by `pll` (None: the oscillator)."""
    ports = ["input wire clock", "input wire serial_received", "output wire serial_sent"]
    if fpga.reset:
        ports.insert(1, "input wire reset_n")
    if fpga.dram:
        ports += [_dram_port(name, len(pins.pins)) for name, pins in fpga.dram.signals.items()]
    if fpga.ethernet:
        ports += [_ethernet_port(name, len(pins.pins)) for name, pins in fpga.ethernet.signals.items()]
    listed = ",\n".join(f"  {port}" for port in ports)
    body = _with_dram(fpga, bus_bits, address_bits) if fpga.dram else _without_dram(fpga, pll)
    return f"module {TOP} (\n{listed}\n);\n{body}endmodule\n"


def _dram_port(name: str, bits: int) -> str:
    return f"{'inout' if name in _IN_OUT else 'output'} wire {_range(bits)}ddram_{name}"


def _ethernet_port(name: str, bits: int) -> str:
    return f"{'input' if name in _ETHERNET_INPUTS else 'output'} wire {_range(bits)}eth_{name}"


def _range(bits: int) -> str:
    return f"[{bits - 1}:0] " if bits > 1 else ""


def _wishbone_wires(prefix: str) -> list[str]:
    return [f"  wire [{bits - 1}:0] {prefix}_{name};\n" for name, bits in zip(_WISHBONE, _WISHBONE_BITS, strict=True)]


def _network(fpga: Fpga) -> tuple[str, dict[str, str]]:
    """The network's cores, and what the system joins them with; both empty where the board has none."""
    if not fpga.ethernet:
        return "", {}
    cores = {"sys_clk": "clk", "sys_rst": "rst"}
    cores |= {f"eth_{name}": f"eth_{name}" for name in fpga.ethernet.signals}
    cores |= {f"bus_{name}": f"net_{name}" for name in _WISHBONE}
    text = "".join(_wishbone_wires("net")) + _instance(NETWORK_MODULE, "network", cores)
    return text, {f"network_{name}": f"net_{name}" for name in _WISHBONE}


def _instance(module: str, name: str, connections: dict[str, str]) -> str:
    listed = ",\n".join(f"    .{port}({wire})" for port, wire in connections.items())
    return f"  {module} {name} (\n{listed}\n  );\n"


def _with_dram(fpga: Fpga, bus_bits: int, address_bits: int) -> str:
    widths = {"addr": 32, "len": 8, "size": 3, "burst": 2, "id": 2, "data": bus_bits, "strb": bus_bits // 8, "resp": 2}
    read, write = (*_AXI_READ, *_AXI_ANSWER), (*_AXI_WRITE, *_AXI_DATA)
    wires = [f"  wire [{_width(name, widths) - 1}:0] axi_{name};\n" for name in (*read, *write)]
    wires += _wishbone_wires("ctrl")
    wires += ["  wire clk, rst, init_done, init_error;\n", "  reg ready = 1'b0;\n"]
    system = {"clk": "clk", "rst": "rst", "serial_received": "serial_received", "serial_sent": "serial_sent"}
    system |= {f"memory_read_{name}": f"axi_{name}" for name in read}
    system |= {f"memory_write_{name}": f"axi_{name}" for name in write}
    system |= {f"controller_{name}": f"ctrl_{name}" for name in _WISHBONE}
    network, joined = _network(fpga)
    system |= {"memory_ready": "ready"} | joined
    reset = "~reset_n" if fpga.reset else "1'b0"
    controller = {"clk": "clock", "rst": reset, "user_clk": "clk", "user_rst": "rst"}
    controller |= {"init_done": "init_done", "init_error": "init_error", "pll_locked": ""}
    controller |= {f"wb_ctrl_{name}": f"ctrl_{name}" for name in _WISHBONE}
    controller |= {"wb_ctrl_bte": "2'd0", "wb_ctrl_cti": "3'd0", "wb_ctrl_err": ""}
    controller |= {f"ddram_{name}": f"ddram_{name}" for name in DRAM_SIGNALS}
    for name in (*read, *write):
        wire = f"axi_{name}[{address_bits - 1}:0]" if name in _ADDRESSES else f"axi_{name}"
        controller[f"user_port_core_{name}"] = wire
    controller |= {"user_port_core_awid": "2'd0", "user_port_core_bid": ""}
    return (
        "".join(wires)
        + "  always @(posedge clk) ready <= init_done & ~init_error & ~rst;\n"
        + network
        + _instance(SYSTEM_MODULE, "system", system)
        + _instance(CONTROLLER_MODULE, "controller", controller)
    )


def _width(signal: str, widths: dict[str, int]) -> int:
    """Bits of a signal, whatever channel its name begins with."""
    return widths.get(signal[2:] if signal.startswith(("aw", "ar")) else signal[1:], 1)


def _without_dram(fpga: Fpga, pll: PllSettings | None) -> str:
    network, joined = _network(fpga)
    reset = " | ~reset_n" if fpga.reset else ""
    clock = f"  wire clk, locked;\n{pll.instance('clock', 'clk', 'locked')}" if pll else "  wire clk = clock, locked = 1'b1;\n"
    return (
        f"{clock}"
        f"  reg [{_RESET_BITS - 1}:0] waited = {_RESET_BITS}'d0;\n"
        f"  wire rst = ~waited[{_RESET_BITS - 1}];\n"
        f"  always @(posedge clk)\n"
        f"    if (~locked{reset}) waited <= {_RESET_BITS}'d0;\n"
        f"    else if (rst) waited <= waited + {_RESET_BITS}'d1;\n"
        + network
        + _instance(
            SYSTEM_MODULE,
            "system",
            {"clk": "clk", "rst": "rst", "serial_received": "serial_received", "serial_sent": "serial_sent"} | joined,
        )
    )
