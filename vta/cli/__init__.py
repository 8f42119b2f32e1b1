"""The `vta` command: one module for each sub-command."""
