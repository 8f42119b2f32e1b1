"""Boards without a processor of their own: the host reaches their system over a serial line, or over TCP."""
