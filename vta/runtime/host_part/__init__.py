"""What the host computes of a compiled network, by NumPy, by kernels, on a GPU or by ONNX Runtime."""
