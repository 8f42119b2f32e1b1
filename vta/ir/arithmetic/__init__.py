"""Arithmetic on values, without graphs: fixed point, rounding, rows, decibels, numbers that are not finite."""
