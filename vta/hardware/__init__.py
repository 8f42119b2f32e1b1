"""The accelerator as hardware, described in Amaranth. Needs the extra `rtl`; `native/TIMING.md` is the timing contract."""
