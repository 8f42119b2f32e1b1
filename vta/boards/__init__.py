"""Boards: what each is, as data, and the bitstreams that make it the accelerator of a config."""
