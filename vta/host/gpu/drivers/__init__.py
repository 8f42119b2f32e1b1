"""What runs kernels on GPUs: CUDA and OpenCL."""
