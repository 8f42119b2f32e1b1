"""Operators of the quantised dialect."""
