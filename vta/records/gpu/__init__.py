"""Records of kernels of GPUs."""
