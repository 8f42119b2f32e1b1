"""What the host sees of the core, and what units tell each other: registers, counters, tokens."""
