"""How long `vta compile` takes for a network that it never saw, and again. `benchmarks.host_compile` prints the table."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LARGEST_RATIO = 2.0
"""What the first time may take, in times of the second one."""
_LIMIT_SECONDS = 300
_FOLDERS = ("mlperf_tiny", "mobilenet", "onnx", "tflm")
_SYMBOLS = ("cifar_resnet20_v1", "cifar_resnet56_v1", "sagemaker_tiny")
_WIDE = ("keyword_scrambled_8bit",)
"""Has values of 16 bits, and is not imported."""


@dataclass(frozen=True)
class Cost:
    """Of one command."""

    processor_seconds: float
    """Of all its processes, in the user's code and the kernel."""
    seconds: float


@dataclass(frozen=True)
class FirstRow:
    """One network."""

    network: str
    first: Cost
    """With kernels for the host, and an empty cache."""
    again: Cost
    """The same again."""
    without_kernels: Cost
    """Again, without kernels for the host."""

    @property
    def ratio(self) -> float:
        """First to again, of the processor's time."""
        return self.first.processor_seconds / self.again.processor_seconds

    @property
    def wall_ratio(self) -> float:
        """First to again, by the clock."""
        return self.first.seconds / self.again.seconds

    @property
    def plain_ratio(self) -> float:
        """First with kernels to again without, of the processor's time."""
        return self.first.processor_seconds / self.without_kernels.processor_seconds


def networks(models: Path) -> list[Path]:
    """The networks under a folder that can be compiled as they are."""
    found = [path for folder in _FOLDERS for path in sorted((models / folder).glob("*")) if path.suffix in (".tflite", ".onnx")]
    symbols = [models / "mxnet" / f"{name}-symbol.json" for name in _SYMBOLS]
    return [path for path in (*found, *symbols) if path.is_file() and path.stem not in _WIDE]


def first_row(network: Path, runs: int = 2) -> FirstRow:
    """Compile a network with an empty cache, and again so many times, of which the least counts."""
    with tempfile.TemporaryDirectory(prefix="vta-first-") as folder:
        command = [sys.executable, "-m", "vta", "compile", str(network), "-o", f"{folder}/net.vta"]
        # Python keeps the compiled code of modules, as it does for users; the first command of all writes it.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["VTA_CACHE_PATH"] = f"{folder}/cache"
        cost_of([*command, "--print-graph"], environment)
        kernels = [*command, "--target", "vta, llvm"]
        first = cost_of(kernels, environment)
        again = _least(cost_of(kernels, environment) for _ in range(runs))
        return FirstRow(network.name, first, again, _least(cost_of(command, environment) for _ in range(runs)))


def cost_of(command: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Run a command. Raises `subprocess.CalledProcessError` if it fails."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=_LIMIT_SECONDS)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, seconds)


def _least(costs: Iterator[Cost]) -> Cost:
    found = list(costs)
    return Cost(min(cost.processor_seconds for cost in found), min(cost.seconds for cost in found))


def first_table(rows: Sequence[FirstRow]) -> Iterator[str]:
    """The rows as a table."""
    yield "| network | first, s | again, s | without kernels, s | first / again | by the clock | first / without |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        seconds = " | ".join(f"{cost.processor_seconds:.2f}" for cost in (row.first, row.again, row.without_kernels))
        yield f"| {row.network} | {seconds} | {row.ratio:.2f} | {row.wall_ratio:.2f} | {row.plain_ratio:.2f} |"
