"""The AXI ports of the core, and the bursts on them."""
