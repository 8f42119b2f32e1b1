"""Builds the native core and lists the packages; everything else is in pyproject.toml."""

from setuptools import find_namespace_packages, setup

# The configs serve more than Python, so they live at the top of the source tree; a wheel carries them in the package.
CONFIGS = {"vta.hw_config": "hw_config"}

setup(
    packages=[*find_namespace_packages(include=["vta", "vta.*"], exclude=["*.__pycache__", "*.__pycache__.*"]), *CONFIGS],
    package_dir=CONFIGS,
    package_data={"vta": ["py.typed"], "vta.demo": ["*.onnx", "*.npz", "*.md"], "vta.hw_config": ["*.json"]},
    include_package_data=False,
    cffi_modules=["simulator/build_ffi.py:ffi"],
)
