"""Parts of the lane with the requantize unit."""
