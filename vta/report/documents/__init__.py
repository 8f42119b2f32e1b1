"""Documents that are written from code."""
