"""Synthesis by Yosys: what a core takes of an FPGA, measured unit by unit, kept in reports, and estimated from these."""
