"""Builds the C++ core as a shared library beside the package's modules, and lists the packages; the rest is in pyproject.toml."""

import compileall
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import Extension, find_namespace_packages, setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, str(Path(__file__).resolve().parent / "native"))
import build_ffi

CORE = "vta._core"

# These serve more than Python, so they live at the top of the source tree; a wheel carries them in the package.
DATA = {
    "vta.hw_config": "hw_config",
    "vta.native_sources": "native",
    "vta.tuning": "tuning",
    "vta.bitstreams": "bitstreams",
    "vta.bitstreams.boards": "bitstreams/boards",
    "vta.bitstreams.builds": "bitstreams/builds",
    "vta.bitstreams.reports": "bitstreams/reports",
    "vta.bitstreams.scripts": "bitstreams/scripts",
    "vta.bitstreams.server": "bitstreams/server",
}

# Installed editable, the package finds these where they are: then one line in a .pth file does, where the mapping would take a
# finder whose imports cost every command 20 ms.
EDITABLE = "editable_wheel" in sys.argv

# A board's server needs no core, and the board no compiler.
WITHOUT_CORE = os.environ.get("VTA_WITHOUT_CORE") == "1"


class BuildCore(build_ext):
    """Compiles the core, and writes its declarations for cffi next to it."""

    def finalize_options(self) -> None:
        """In the source tree there is one core for the environments of all Pythons, and it is made once."""
        super().finalize_options()
        if self.inplace:
            self.build_lib, self.build_temp = "build/core", "build/core-objects"

    def get_ext_filename(self, fullname: str) -> str:
        """The core is no Python module, so its name does not depend on the Python that built it."""
        return str(Path(*fullname.split(".")).with_suffix(".so"))

    def declarations(self) -> Path:
        """The module of declarations, beside the library."""
        return Path(self.get_ext_fullpath(CORE)).with_name("_core_declarations.py")

    def build_extension(self, ext: Extension) -> None:
        """Compile as many sources at a time as there are cores."""
        compile_all = self.compiler.compile

        def compile_each(sources: list[str], *args: Any, **options: Any) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                objects = pool.map(lambda source: compile_all([source], *args, **options), sources)
                return [path for paths in objects for path in paths]

        self.compiler.compile = compile_each
        super().build_extension(ext)

    def run(self) -> None:
        """Build both; in place, compile the Python modules too, as installers do with those of a wheel."""
        super().run()
        build_ffi.write_declarations(self.declarations())
        if self.inplace:
            # Where Python is told to write no bytecode, every command would compile a hundred modules first.
            compileall.compile_dir(Path(__file__).with_name("vta"), quiet=1)

    def get_outputs(self) -> list[str]:
        """Both files, for the installers."""
        return [*super().get_outputs(), str(self.declarations())]


setup(
    packages=[
        *find_namespace_packages(include=["vta", "vta.*"], exclude=["*.__pycache__", "*.__pycache__.*"]),
        *(() if EDITABLE else DATA),
    ],
    package_dir={"": "."} if EDITABLE else DATA,
    package_data={
        "vta": ["py.typed"],
        "vta.demo": ["*.onnx", "*.npz", "*.md"],
        "vta.hardware.opencl": ["*.cl", "*.h"],
        "vta.hardware.verilator": ["*.cc", "*.h"],
        "vta.pages.assets": ["*.html", "*.css", "*.js"],
        "vta.rpc.wire": ["*.proto", "*.pyi"],
        "vta.hw_config": ["*.json"],
        "vta.records.gpu": ["tiles.log"],
        "vta.records.host": ["tiles.log"],
        "vta.native_sources": ["**/*.cc", "**/*.h"],
        "vta.tuning": ["*.log", "*.yaml"],
        "vta.bitstreams": ["*.json"],
        "vta.bitstreams.boards": ["*.yaml"],
        "vta.bitstreams.builds": ["*.json"],
        "vta.bitstreams.reports": ["*.json"],
        "vta.bitstreams.scripts": ["*.tcl", "*.v", "*.xdc", "*.sdc"],
        "vta.bitstreams.server": ["*.sh", "*.service"],
    },
    include_package_data=False,
    ext_modules=[]
    if WITHOUT_CORE
    else [
        Extension(
            CORE,
            sources=build_ffi.SOURCES,
            depends=build_ffi.DEPENDS,
            include_dirs=build_ffi.INCLUDES,
            extra_compile_args=build_ffi.FLAGS,
            language="c++",
        )
    ],
    cmdclass={"build_ext": BuildCore},
)
