"""The system around the core on an FPGA without a processor: the host's link, memory, and what they are joined by."""
