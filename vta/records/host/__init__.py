"""Records of kernels of the host."""
