"""What a sweep varies and runs, read from a YAML or JSON file."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from vta.boards.description import Board, load_board
from vta.boards.files import BOARD_PREFIX, find_board
from vta.config.hardware import CONFIG_KEYS, HardwareConfig
from vta.config.technology import Technology, load_technology
from vta.errors import ConfigError, ImportModelError, SweepError, TuningError
from vta.files.json_file import parse_json
from vta.files.user_file import read_text
from vta.files.yaml_file import parse_yaml
from vta.frontend.companions import files_of_model
from vta.quantization.config import REQUANTIZATIONS
from vta.support.dataclass import dataclass
from vta.support.shorten import printable, shown
from vta.sweep.clock import Clock
from vta.sweep.workloads import parse_identity

__all__ = ["CRITERIA", "TIMING_KEYS", "Net", "Spec", "load_spec"]

TIMING_KEYS = ("bus_bits", "read_latency")
WAY_KEY = "requantise"
CRITERIA = ("cycles", "energy", "area", "bus", "bytes", "macs", "time", "accuracy")
"""What a design may be judged by: less is better. Bytes are those of the buffers, MACs those of the matrix unit in a cycle, and
time is at the clock that the sweep estimates. Of accuracy the share of samples counts whose class is not found."""
_KEYS = (
    "base",
    "config",
    "timing",
    "nets",
    "workloads",
    "tuner",
    "trials",
    "seed",
    "time_limit",
    "technology",
    "weights",
    "pareto",
    "board",
    "objective",
    "clock",
    "hints",
    WAY_KEY,
)
_LARGEST_COUNT = (1 << 63) - 1
_LONGEST_SECONDS = 366 * 24 * 3600
_NET_KEYS = ("model", "start", "stop", "random_weights", WAY_KEY, "samples")
_MODEL_SUFFIXES = (".onnx", ".tflite", ".json")
_LARGEST_WEIGHT = 1_000_000
_LARGEST_POWER = 100
_LARGEST_MHZ = 10_000
_MOST_POINTS = 1_000_000


@dataclass(frozen=True)
class Net:
    """A network, or the part of it between two operators."""

    model: str
    """A file or a built-in name."""
    start: str | None = None
    stop: str | None = None
    random_weights: int | None = None
    requantize: str = REQUANTIZATIONS[0]
    """One of `REQUANTISATIONS`, for a network that came quantised."""
    samples: str | None = None
    """A file of samples and their classes, for its accuracy."""
    label: str = ""
    """What rows call the model, where others of the sweep have the name of its file, too."""

    @property
    def name(self) -> str:
        """The model's name, the part of it, the seed of its weights and the way to requantise, where they are given."""
        part = f"[{self.start or ''}:{self.stop or ''}]" if self.start or self.stop else ""
        seed = "" if self.random_weights is None else f"#{self.random_weights}"
        way = "" if self.requantize == REQUANTIZATIONS[0] else f"~{self.requantize}"
        return f"{self.label or Path(self.model).name}{part}{seed}{way}"


@dataclass(frozen=True)
class Spec:
    """A sweep: every combination of the values of `config` and `timing`, each with every net and workload."""

    base: Mapping[str, Any]
    """Keys and values of the config that the others differ from."""
    config: Mapping[str, tuple[Any, ...]]
    timing: Mapping[str, tuple[Any, ...]]
    nets: tuple[Net, ...]
    workloads: tuple[str, ...]
    """Names as `vta tune` prints them."""
    tuner: str = "ga"
    trials: int = 0
    """For each task; 0 takes the compiler's default schedules."""
    seed: int = 0
    time_limit: float = 3600.0
    """Seconds for one point."""
    technology: Technology = field(default_factory=Technology)
    """Figures for energy and area."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """By the name of a net or workload, how often it counts in the ranking; 1 for what is not there."""
    pareto: tuple[str, ...] = CRITERIA[:4]
    """Some of `CRITERIA`: those of the Pareto front, and of a search."""
    board: Board | None = None
    """What does not fit its FPGA is no design."""
    objective: Mapping[str, float] = field(default_factory=lambda: {CRITERIA[0]: 1.0})
    """What the ranking goes by: the product of these criteria, each to a power."""
    hints: int = 0
    """Points like it whose best schedules the tuning of a point begins with, at most."""
    clock: Clock = field(default_factory=Clock)
    """At which designs are taken to run."""
    requantize: tuple[str, ...] = ()
    """Ways to requantize that are varied like keys of the config; without any, each net is requantized as it says."""

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """The keys that have more than one value, in the order of the file, with the values."""
        every = {**self.config, **self.timing, WAY_KEY: self.requantize}
        return {key: values for key, values in every.items() if len(values) > 1}

    @property
    def works(self) -> tuple[Net | str, ...]:
        """All that is run on each config."""
        return (*self.nets, *self.workloads)

    def identity(self) -> dict[str, Any]:
        """What decides the results, as JSON values; how they are ranked may change."""
        technology = {} if self.technology == Technology() else {"technology": self.technology.to_json()}
        return {
            "base": dict(self.base),
            "config": {key: list(values) for key, values in self.config.items()},
            "timing": {key: list(values) for key, values in self.timing.items()},
            "nets": [[net.name, _digest(net)] for net in self.nets],
            "workloads": list(self.workloads),
            "tuner": self.tuner,
            "trials": self.trials,
            "seed": self.seed,
            **technology,
            **({"hints": self.hints} if self.hints else {}),
            **({"board": self.board.name} if self.board else {}),
            **({WAY_KEY: list(self.requantize)} if self.requantize else {}),
        }


def _digest(net: Net) -> str:
    """Of a model's files, wherever they lie; empty for a built-in network."""
    if not os.path.isfile(net.model):
        return ""
    try:
        files = files_of_model(Path(net.model), net.random_weights)
    except ImportModelError:
        # Its points say what is missing.
        files = (Path(net.model),)
    digests = [sha256(file.read_bytes()).hexdigest() for file in files]
    return digests[0] if len(digests) == 1 else sha256(" ".join(digests).encode()).hexdigest()


def load_spec(path: Path, most_points: int | None = _MOST_POINTS) -> Spec:
    """Read a sweep of at most so many points. Files that it names are relative to its own directory.

    Raises `SweepError` naming file, key, value and what is allowed.
    """
    values = _mapping(_parse(path), f"{path}")
    _known(values, _KEYS, f"{path}")
    base = _base(values, path)
    nets = _told_apart([_net(net, f"{path}: nets", path.parent) for net in _list(values, "nets", path)])
    workloads = tuple(_workload(text, path) for text in _list(values, "workloads", path))
    if not nets and not workloads:
        raise SweepError(f"{path}: nothing to run: give nets or workloads")
    _distinct([net.name for net in nets], f"{path}: nets")
    _distinct(workloads, f"{path}: workloads")
    ways = _ways(values.get(WAY_KEY, []), f"{path}: {WAY_KEY}")
    spec = Spec(
        base,
        _axes(values, "config", [key for key in CONFIG_KEYS if key != "HW_VER"], path),
        _axes(values, "timing", TIMING_KEYS, path),
        nets,
        workloads,
        _tuner(values.get("tuner", Spec.tuner), path),
        _count(values, "trials", Spec.trials, path),
        _count(values, "seed", Spec.seed, path),
        _seconds(values.get("time_limit", Spec.time_limit), path),
        _technology(values.get("technology"), path),
        _weights(_mapping(values.get("weights", {}), f"{path}: weights"), (*nets, *workloads), ways, path),
        _criteria(_list(values, "pareto", path) or list(Spec.pareto), path),
        _board(values.get("board"), path),
        _objective(values.get("objective"), path),
        _count(values, "hints", Spec.hints, path),
        _clock(values.get("clock"), path),
        ways,
    )
    if most_points is not None:
        _check_points(spec, most_points, path)
    return spec


def _check_points(spec: Spec, most: int, path: Path) -> None:
    points = math.prod(map(len, (*spec.config.values(), *spec.timing.values(), spec.requantize or (None,), spec.works)))
    if points > most:
        raise SweepError(
            f"{path}: has {points:,} points; the limit is {most:,}: split it into sweeps of fewer values, or search it"
        )


def _board(name: Any, path: Path) -> Board | None:
    """A shipped board, or ``board:FILE`` beside the sweep."""
    if name is None:
        return None
    if not isinstance(name, str) or not name.isprintable():
        raise SweepError(f"{path}: board = {shown(name)}; allowed: the name of a board, or {BOARD_PREFIX}FILE")
    file = path.parent / name.removeprefix(BOARD_PREFIX)
    try:
        board = load_board(file) if name.startswith(BOARD_PREFIX) else find_board(name)
    except ConfigError as error:
        raise SweepError(f"{path}: board: {error}") from None
    if board.capacity is None:
        raise SweepError(f"{path}: board = {shown(name)}: its description does not say what its FPGA has")
    return board


def _parse(path: Path) -> Any:
    text = read_text(path, SweepError)
    if path.suffix == ".json":
        return parse_json(text, str(path), SweepError)
    try:
        return parse_yaml(text, str(path), SweepError)
    except ImportError:
        raise SweepError(f"{path}: YAML needs PyYAML: pip install 'vta[sweep]'; or write the sweep as a .json file") from None


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SweepError(f"{where}: expected keys with values, got {shown(value)}")
    return value


def _known(values: Mapping[str, Any], allowed: tuple[str, ...] | list[str], where: str) -> None:
    for key, value in values.items():
        if key not in allowed:
            raise SweepError(f"{where}: unknown key {printable(str(key), 80)} = {shown(value)}; allowed: {', '.join(allowed)}")


def _distinct(items: tuple[Any, ...] | list[Any], where: str) -> None:
    for item, times in Counter(items).items():
        if times > 1:
            raise SweepError(f"{where}: {shown(item)} is given twice")


def _list(values: Mapping[str, Any], key: str, path: Path) -> list[Any]:
    found = values.get(key, [])
    if not isinstance(found, list):
        raise SweepError(f"{path}: {key} = {shown(found)}; allowed: a list")
    return found


def _base(values: Mapping[str, Any], path: Path) -> dict[str, str | int]:
    name = values.get("base", "sim")
    if not isinstance(name, str) or not name.isprintable():
        raise SweepError(f"{path}: base = {shown(name)}; allowed: the name of a config, or of a file of one")
    beside = path.parent / str(name)
    try:
        return HardwareConfig.named(beside if os.path.isfile(beside) else str(name)).to_json()
    except ConfigError as error:
        raise SweepError(f"{path}: base = {shown(name)}: {error}") from None


def _axes(values: Mapping[str, Any], key: str, allowed: tuple[str, ...] | list[str], path: Path) -> dict[str, tuple[Any, ...]]:
    where = f"{path}: {key}"
    given = _mapping(values.get(key, {}), where)
    _known(given, allowed, where)
    axes = {name: tuple(found) if isinstance(found, list) else (found,) for name, found in given.items()}
    for name, choices in axes.items():
        if not choices or not all(isinstance(choice, (str, int)) and not isinstance(choice, bool) for choice in choices):
            raise SweepError(f"{where}: {name} = {shown(given[name])}; allowed: a value, or a list of at least one")
        _distinct(choices, f"{where}: {name}")
    return axes


def _net(value: Any, where: str, folder: Path) -> Net:
    values = _mapping({"model": value} if isinstance(value, str) else value, where)
    _known(values, _NET_KEYS, where)
    for key in ("model", "start", "stop"):
        if not isinstance(values.get(key, ""), str):
            raise SweepError(f"{where}: {key} = {shown(values[key])}; allowed: a string")
    seed = values.get("random_weights")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= _LARGEST_COUNT):
        raise SweepError(f"{where}: random_weights = {shown(seed)}; allowed: a seed, 0 or more, up to {_LARGEST_COUNT}")
    (way,) = _ways(values.get(WAY_KEY, Net.requantize), f"{where}: {WAY_KEY}", most=1)
    model = _model(values.get("model", ""), where, folder)
    return Net(model, values.get("start"), values.get("stop"), seed, way, _samples(values.get("samples"), where, folder))


def _told_apart(nets: Sequence[Net]) -> tuple[Net, ...]:
    """The nets; files of one name in several folders are called by as much of their paths as tells them apart."""
    places = {net.model: Path(os.path.abspath(net.model)).parts for net in nets if os.path.isfile(net.model)}
    labels = {}
    for model, parts in places.items():
        others = {other for other in places.values() if other[-1:] == parts[-1:] and other != parts}
        if others:
            few = next(count for count in range(2, len(parts) + 1) if all(other[-count:] != parts[-count:] for other in others))
            labels[model] = "/".join(parts[-few:])
    return tuple(replace(net, label=labels[net.model]) if net.model in labels else net for net in nets)


def _ways(given: Any, where: str, most: int = len(REQUANTIZATIONS)) -> tuple[str, ...]:
    """Ways to requantize: one, or a list of at most so many."""
    ways = given if isinstance(given, list) and most > 1 else [given]
    for way in ways:
        if not isinstance(way, str) or way not in REQUANTIZATIONS:
            raise SweepError(f"{where} = {shown(way)}; allowed: {', '.join(REQUANTIZATIONS)}")
    _distinct(ways, where)
    return tuple(ways)


def _samples(name: Any, where: str, folder: Path) -> str | None:
    if name is None:
        return None
    if not isinstance(name, str) or not os.path.isfile(folder / name):
        raise SweepError(f"{where}: samples = {shown(name)}; allowed: a file of samples and their classes")
    return str(folder / name)


def _model(name: str, where: str, folder: Path) -> str:
    from vta.frontend import built_in_names

    if os.path.isfile(folder / name):
        return str(folder / name)
    if name not in built_in_names():
        kind = "no such file" if name.endswith(_MODEL_SUFFIXES) else "no file and no built-in network"
        raise SweepError(f"{where}: model = {shown(name)}: {kind} ({', '.join(built_in_names())})")
    return name


def _workload(text: Any, path: Path) -> str:
    if not isinstance(text, str):
        raise SweepError(f"{path}: workloads: {shown(text)}; allowed: names of workloads, as tuning lists them")
    try:
        parse_identity(text)
    except TuningError as error:
        raise SweepError(f"{path}: workloads: {error}") from None
    return text


def _tuner(name: Any, path: Path) -> str:
    from vta.autotune.tuners import TUNERS

    if not isinstance(name, str) or name not in TUNERS:
        raise SweepError(f"{path}: tuner = {shown(name)}; allowed: {', '.join(TUNERS)}")
    return str(name)


def _count(values: Mapping[str, Any], key: str, default: int, path: Path) -> int:
    value = values.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST_COUNT:
        raise SweepError(f"{path}: {key} = {shown(value)}; allowed: integers, 0 or more, up to {_LARGEST_COUNT}")
    return value


def _seconds(value: Any, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= _LONGEST_SECONDS:
        raise SweepError(f"{path}: time_limit = {shown(value)}; allowed: seconds, above 0, up to {_LONGEST_SECONDS:,}")
    return float(value)


def _technology(value: Any, path: Path) -> Technology:
    """Figures that are given, or those of a file beside the sweep."""
    if value is None:
        return Technology()
    try:
        if isinstance(value, str) and value.isprintable():
            return load_technology(path.parent / value)
        return Technology.from_json(_mapping(value, f"{path}: technology"))
    except ConfigError as error:
        raise SweepError(f"{path}: technology: {str(error).removeprefix('technology: ')}") from None


def _weights(values: Mapping[str, Any], works: tuple[Net | str, ...], ways: tuple[str, ...], path: Path) -> dict[str, float]:
    """Weights by the names that rows have, whatever the way to requantize; a net goes by its model's name, too."""
    names: dict[str, list[str]] = {work: [work] for work in works if isinstance(work, str)}
    for net in (work for work in works if isinstance(work, Net)):
        rows = [net.name, *(replace(net, requantize=way).name for way in ways)]
        for name in {Path(net.model).name, net.model, net.label or net.model, net.name}:
            names.setdefault(name, []).extend(rows)
    _known(values, list(names), f"{path}: weights")
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= _LARGEST_WEIGHT:
            raise SweepError(f"{path}: weights: {name} = {shown(value)}; allowed: numbers above 0, up to {_LARGEST_WEIGHT:,}")
    return {row: float(value) for name, value in values.items() for row in names[name]}


def _objective(value: Any, path: Path) -> dict[str, float]:
    """Powers by criterion."""
    given = CRITERIA[0] if value is None else value
    powers = _mapping({given: 1} if isinstance(given, str) else given, f"{path}: objective")
    _known(powers, CRITERIA, f"{path}: objective")
    if not powers:
        raise SweepError(f"{path}: objective = {{}}; allowed: powers of {', '.join(CRITERIA)}")
    for name, power in powers.items():
        if isinstance(power, bool) or not isinstance(power, (int, float)) or not 0 < power <= _LARGEST_POWER:
            raise SweepError(f"{path}: objective: {name} = {shown(power)}; allowed: numbers above 0, up to {_LARGEST_POWER}")
    return {name: float(power) for name, power in powers.items()}


def _clock(value: Any, path: Path) -> Clock:
    """MHz of all designs, or of those that have some value of a key."""
    where = f"{path}: clock"
    if value is None or not isinstance(value, dict):
        return Clock(None if value is None else _mhz(value, where))
    _known(value, (*CONFIG_KEYS, *TIMING_KEYS), where)
    return Clock(
        limits={
            key: {str(at): _mhz(mhz, f"{where}: {key}: {at}") for at, mhz in _mapping(by_value, f"{where}: {key}").items()}
            for key, by_value in value.items()
        }
    )


def _mhz(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= _LARGEST_MHZ:
        raise SweepError(f"{where} = {shown(value)}; allowed: MHz, above 0, up to {_LARGEST_MHZ:,}, or those of values of a key")
    return float(value)


def _criteria(names: list[Any], path: Path) -> tuple[str, ...]:
    for name in names:
        if name not in CRITERIA:
            raise SweepError(f"{path}: pareto: {shown(name)}; allowed: {', '.join(CRITERIA)}")
    _distinct(names, f"{path}: pareto")
    return tuple(names)
