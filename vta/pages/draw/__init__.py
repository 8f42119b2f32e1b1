"""Figures, each made of one kind of data."""
