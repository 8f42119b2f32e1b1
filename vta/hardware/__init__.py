"""The accelerator as hardware, described in Amaranth. Needs the extra `rtl`; `simulator/TIMING.md` is the timing contract."""
