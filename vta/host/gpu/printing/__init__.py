"""The text of kernels for GPUs."""
