"""Random legal programs on every engine: all must agree. `python -m vta.testing.fuzz` is the command."""
