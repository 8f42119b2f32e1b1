"""The emitter of the GEMM template once more, slow and meant to be read: what the native one is held to."""
