"""The accelerator as hardware, described in Amaranth; `simulator/TIMING.md` is its timing contract.

`vta.hardware.registers` needs nothing; `vta.hardware.emit` and the other modules need the extra `rtl`.
"""
