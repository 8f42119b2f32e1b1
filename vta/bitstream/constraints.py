"""Where the top module's ports are on the board: the constraints for the place-and-route, in Lattice's LPF format."""

from __future__ import annotations

from collections.abc import Iterator

from vta.boards.fpga import Fpga

__all__ = ["constraints_text"]

_RGMII_MHZ = 125
"""Of the clock that the cable's chip gives, at 1 Gb/s."""


def constraints_text(fpga: Fpga) -> str:
    """The file's text: a place and a kind for each port, and the frequencies of the clocks that come in.

    A port of one bit has no index: nextpnr finds the place of `port[0]`, but not its kind, and says nothing.
    """
    return "".join(f"{line};\n" for line in _lines(fpga))


def _lines(fpga: Fpga) -> Iterator[str]:
    yield from _port("clock", fpga.clock.pin, fpga.clock.io_type)
    yield f'FREQUENCY PORT "clock" {fpga.clock_mhz:g} MHZ'
    if fpga.reset:
        yield from _port("reset_n", fpga.reset.pin, fpga.reset.io_type)
    yield from _port("serial_received", fpga.received, fpga.serial_io_type)
    yield from _port("serial_sent", fpga.sent, fpga.serial_io_type)
    for name, pins in fpga.named_signals.items():
        for bit, pin in enumerate(pins.pins):
            options = "".join(f" {option}={value}" for option, value in pins.options.items())
            index = f"[{bit}]" if len(pins.pins) > 1 else ""
            yield from _port(f"{name}{index}", pin, f"{pins.io_type}{options}")
    if fpga.ethernet:
        yield f'FREQUENCY PORT "eth_clock_rx" {_RGMII_MHZ} MHZ'


def _port(name: str, pin: str, io_type: str) -> Iterator[str]:
    yield f'LOCATE COMP "{name}" SITE "{pin}"'
    yield f'IOBUF PORT "{name}" IO_TYPE={io_type}'
