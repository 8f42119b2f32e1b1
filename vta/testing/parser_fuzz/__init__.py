"""Damaged files for every reader of users' files: `python -m vta.testing.parser_fuzz` is the command."""
