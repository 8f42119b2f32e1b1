"""The accelerator as an OpenCL kernel, for FPGAs and for every other OpenCL device. Needs the extra `opencl`."""
