"""What the options of the hardware are worth, and what bounds each network with them: the table of docs/isa-extensions.md.

    python -m benchmarks.units --models DIR [--json] [--configs CONFIG...] [NAME...]
    python -m benchmarks.units --tables [--input-shape NAME=SHAPE] FILE...

DIR holds the files of `benchmarks.models`; the networks of `BUILT_IN` are made here, with random weights. NAME picks some, and
may also be a model file of its own, such as a detector that has tables. Nothing is computed: cycles are of the cycle engine,
on each of the configs. With --tables there is another table: what the table unit is worth to networks with functions that are
tables, in regions and cycles, of files such as those that `benchmarks.public_nets` and `benchmarks.yolov8n` name.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import vta
from benchmarks.models import MODELS
from vta.compiler.compile import compile_model
from vta.config.hardware import HardwareConfig

CONFIGS = ("sim", "sim_rq", "sim_1x8", "sim_rq_1x8")
EXPLAINED = "sim_rq"
BUILT_IN = ("resnet50_v1", "vgg16", "inceptionv3")
_FILES = (
    "mlperf_tiny/pretrainedResnet_quant.tflite",
    "mlperf_tiny/kws_ref_model.tflite",
    "mlperf_tiny/vww_96_int8.tflite",
    "mobilenet/mobilenet_v1_0.25_224_quant.tflite",
    "mobilenet/tf2_mobilenet_v2_1.0_224_ptq.tflite",
)
_CAUSES = 3


@dataclass(frozen=True)
class Result:
    """One network."""

    network: str
    cycles: dict[str, int]
    """By config."""
    regions: dict[str, int]
    ethos_u55: int
    """The estimate of Arm's compiler for as many multipliers as `EXPLAINED` has; 0: not known."""
    busy: float
    """Share of the cycles on `EXPLAINED` in which the multipliers do what the network needs, all of them."""
    lost: dict[str, float]
    """What most of the others go to there, as shares."""


def measure(network: str, path: str, configs: Sequence[str] = CONFIGS) -> Result:
    """Compile a network for each config, and count."""
    cycles, regions, busy, lost = {}, {}, 0.0, {}
    for name in configs:
        module = compile_model(path, HardwareConfig.named(name))
        told = vta.explain(module, suggest=False)
        cycles[name], regions[name] = told.total, len(module.regions)
        if name == EXPLAINED:
            busy = told.bound / told.total
            most = sorted(told.lost.items(), key=lambda item: -item[1])[:_CAUSES]
            lost = {cause.value: spent / told.total for cause, spent in most}
    ethos = {entry.file: entry.ethos_u55 for entry in MODELS}
    return Result(network, cycles, regions, ethos.get(network, 0), busy, lost)


@dataclass(frozen=True)
class Tables:
    """What one network takes on a config."""

    regions: int
    cycles: int
    on_host: int
    """Operators."""


def with_and_without_tables(path: str, shapes: dict[str, tuple[int, ...]]) -> dict[str, Tables]:
    """A network on `sim`, and on `EXPLAINED` without the table unit and with it."""
    full = HardwareConfig.named(EXPLAINED)
    configs = {"sim": HardwareConfig.named("sim"), "without tables": replace(full, table_unit=0), "with tables": full}
    return {name: _tables(path, hw, shapes) for name, hw in configs.items()}


def _tables(path: str, hw: HardwareConfig, shapes: dict[str, tuple[int, ...]]) -> Tables:
    module = compile_model(path, hw, shapes=shapes or None)
    on_host = sum(placement.where == "host" for placement in module.placements)
    return Tables(len(module.regions), vta.explain(module, suggest=False).total, on_host)


def chosen(models: Path, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names of networks, and what to compile."""
    for name in names or (*_FILES, *BUILT_IN):
        if name in BUILT_IN or Path(name).is_file():
            yield (name if name in BUILT_IN else Path(name).name), name
            continue
        yield from ((file, str(models / file)) for file in _FILES if name in file)


def row(result: Result) -> str:
    """A line of the table."""
    cells = [Path(result.network).stem, *(f"{cycles:,}" for cycles in result.cycles.values())]
    cells += [f"{result.ethos_u55:,}" if result.ethos_u55 else "", f"{result.busy:.0%}"]
    cells += [", ".join(map(str, result.regions.values()))]
    cells += [", ".join(f"{cause} {share:.0%}" for cause, share in result.lost.items())]
    return "| " + " | ".join(cells) + " |"


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, _, sizes = text.rpartition("=")
    return name, tuple(map(int, sizes.split(",")))


def _print_tables(paths: Sequence[str], shapes: dict[str, tuple[int, ...]]) -> int:
    print("| network | config | regions | cycles | operators on the host |\n|---|---|---|---|---|", flush=True)
    for path in paths:
        for config, found in with_and_without_tables(path, shapes).items():
            cells = Path(path).stem, config, found.regions, f"{found.cycles:,}", found.on_host
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--json", action="store_true", help="print one JSON object a network")
    parser.add_argument("--configs", nargs="+", default=CONFIGS, help="on which; sim_rq has to be one of them")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--tables", action="store_true", help="regions and cycles with and without the table unit")
    parser.add_argument("--input-shape", type=_shape, action="append", default=[], metavar="NAME=SHAPE")
    options = parser.parse_args(argv)
    if options.tables:
        return _print_tables(options.names, dict(options.input_shape))
    if options.models is None:
        parser.error("--models is needed, but for --tables")
    heads = ("network", *options.configs, "Ethos-U55", "multipliers busy", "regions", "lost most by")
    if not options.json:
        print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|", flush=True)
    for network, path in chosen(options.models, options.names):
        result = measure(network, path, options.configs)
        print(json.dumps(asdict(result)) if options.json else row(result), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
