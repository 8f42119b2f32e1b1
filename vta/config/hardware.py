"""The hardware config: one JSON file that describes the accelerator to every part of the toolchain."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from vta.config.files import config_path
from vta.config.targets import TARGETS, Capabilities, MemoryType, Platform
from vta.errors import ConfigError
from vta.files.json_file import parse_json
from vta.files.user_file import read_text
from vta.support.dataclass import dataclass
from vta.support.shorten import shown
from vta.support.table import make_table

__all__ = ["CONFIG_KEYS", "AnyConfig", "HardwareConfig", "config_of", "load_config"]

_KEYS: dict[str, str] = {
    "TARGET": "target",
    "HW_VER": "hw_version",
    "LOG_INP_WIDTH": "log_inp_width",
    "LOG_WGT_WIDTH": "log_wgt_width",
    "LOG_ACC_WIDTH": "log_acc_width",
    "LOG_BATCH": "log_batch",
    "LOG_BLOCK": "log_block",
    "LOG_UOP_BUFF_SIZE": "log_uop_buff_size",
    "LOG_INP_BUFF_SIZE": "log_inp_buff_size",
    "LOG_WGT_BUFF_SIZE": "log_wgt_buff_size",
    "LOG_ACC_BUFF_SIZE": "log_acc_buff_size",
}

_OPTIONS: dict[str, str] = {
    "REQUANTIZE_UNIT": "requantize_unit",
    "TABLE_UNIT": "table_unit",
    "DEPTHWISE_UNIT": "depthwise_unit",
}
"""Keys that a config may leave out, which is to set them to 0."""

_RANGES: dict[str, tuple[int, int]] = {
    "LOG_INP_WIDTH": (3, 3),
    "LOG_WGT_WIDTH": (3, 3),
    "LOG_ACC_WIDTH": (4, 5),
    "LOG_BATCH": (0, 6),
    "LOG_BLOCK": (2, 6),
    "LOG_UOP_BUFF_SIZE": (2, 30),
    "LOG_INP_BUFF_SIZE": (2, 30),
    "LOG_WGT_BUFF_SIZE": (2, 30),
    "LOG_ACC_BUFF_SIZE": (2, 30),
    **dict.fromkeys(_OPTIONS, (0, 1)),
}

_ALL_KEYS = _KEYS | _OPTIONS
CONFIG_KEYS = tuple(_ALL_KEYS)
"""The keys of a JSON file, those that it may leave out last."""

_PAGE_BYTES = 4096
_LOG_TABLE_ELEM_BYTES, _LOG_TABLE_ROWS = 2, 6
_REQUANTIZED_LOG_ACC_WIDTH = 5
_LARGEST_LOG_WIDTH = 6
"""Scalars of up to 64 bits are named as what they are when they are refused."""


@dataclass(frozen=True, repr=False)
class HardwareConfig:
    """One accelerator: scalar widths, block geometry and buffer sizes, all powers of two given as log2.

    Raises `ConfigError` on construction if the values do not describe hardware that the ISA can encode.
    """

    target: str
    hw_version: str
    log_inp_width: int
    log_wgt_width: int
    log_acc_width: int
    log_batch: int
    log_block: int
    log_uop_buff_size: int
    log_inp_buff_size: int
    log_wgt_buff_size: int
    log_acc_buff_size: int
    requantize_unit: int = 0
    """1: the ALU has REQUANTIZE."""
    table_unit: int = 0
    """1: REQUANTIZE can look its results up in a table."""
    depthwise_unit: int = 0
    """1: there is DEPTHWISE, which multiplies each channel by three weights at a time."""

    def __post_init__(self) -> None:
        _check_values(self)
        _check_options(self)
        _check_encoding(self)

    def __repr__(self) -> str:
        return f"HardwareConfig {self.model}"

    def _repr_html_(self) -> str:
        return make_table(("key", "value"), self.to_json().items(), self.model)._repr_html_()

    @cached_property
    def capabilities(self) -> Capabilities:
        """What this config's target implements, and the options of the config."""
        can = TARGETS[self.target].capabilities
        padded = can.padded_types | {MemoryType.TABLE} if self.table_unit else can.padded_types
        options = {name: bool(getattr(self, f"{name}_unit")) for name in ("requantize", "table", "depthwise")}
        return replace(can, padded_types=padded, **options)

    @property
    def platform(self) -> Platform:
        """The board or shell around the core."""
        return TARGETS[self.target].platform

    @property
    def batch(self) -> int:
        """Rows of one input, accumulator or output element (BATCH)."""
        return 1 << self.log_batch

    @property
    def block(self) -> int:
        """Columns of one element: BLOCK_IN and BLOCK_OUT."""
        return 1 << self.log_block

    @property
    def acc_bits(self) -> int:
        """Bits of an accumulator scalar."""
        return 1 << self.log_acc_width

    @cached_property
    def log_elem_bytes(self) -> dict[MemoryType, int]:
        """log2 of the DRAM bytes of one element of each memory type."""
        vector = self.log_batch + self.log_block
        return {
            MemoryType.UOP: 2,
            MemoryType.WGT: 2 * self.log_block + self.log_wgt_width - 3,
            MemoryType.INP: vector + self.log_inp_width - 3,
            MemoryType.ACC: vector + self.log_acc_width - 3,
            MemoryType.OUT: vector + self.log_inp_width - 3,
            MemoryType.ACC_8BIT: vector,
            MemoryType.TABLE: _LOG_TABLE_ELEM_BYTES,
        }

    @cached_property
    def log_depth(self) -> dict[MemoryType, int]:
        """log2 of the number of SRAM rows that each memory type addresses."""
        size = self.log_elem_bytes
        acc = self.log_acc_buff_size - size[MemoryType.ACC]
        return {
            MemoryType.UOP: self.log_uop_buff_size - size[MemoryType.UOP],
            MemoryType.WGT: self.log_wgt_buff_size - size[MemoryType.WGT],
            MemoryType.INP: self.log_inp_buff_size - size[MemoryType.INP],
            MemoryType.ACC: acc,
            MemoryType.OUT: acc,
            MemoryType.ACC_8BIT: acc,
            MemoryType.TABLE: _LOG_TABLE_ROWS,
        }

    def elem_bytes(self, memory: MemoryType) -> int:
        """DRAM bytes of one element of `memory`."""
        return 1 << self.log_elem_bytes[memory]

    def depth(self, memory: MemoryType) -> int:
        """SRAM rows that `memory` addresses, as the config states them."""
        return 1 << self.log_depth[memory]

    @property
    def uop_depth(self) -> int:
        """Micro-ops that a program may keep on chip: the config's depth, or less where the target fixes it."""
        limit = self.capabilities.uop_depth_limit
        depth = self.depth(MemoryType.UOP)
        return depth if limit is None else min(depth, limit)

    @property
    def log_out_buff_size(self) -> int:
        """log2 bytes of the output buffer, which has as many rows as the accumulator."""
        return self.log_acc_buff_size + self.log_inp_width - self.log_acc_width

    @property
    def bitstream(self) -> str:
        """Name of the bitstream, e.g. ``1x16_i8w8a32_15_15_18_17``."""
        widths = f"i{1 << self.log_inp_width}w{1 << self.log_wgt_width}a{1 << self.log_acc_width}"
        sizes = (self.log_uop_buff_size, self.log_inp_buff_size, self.log_wgt_buff_size, self.log_acc_buff_size)
        named = (("rq", self.requantize_unit), ("tab", self.table_unit), ("dw", self.depthwise_unit))
        options = [name for name, present in named if present]
        return "_".join([f"{self.batch}x{self.block}_{widths}", *map(str, sizes), *options])

    @property
    def model(self) -> str:
        """Name of the target and its bitstream, e.g. ``sim_1x16_i8w8a32_15_15_18_17``."""
        return f"{self.target}_{self.bitstream}"

    def to_json(self) -> dict[str, str | int]:
        """The config as the JSON object that it is read from, without the options that it does not have."""
        values = asdict(self)
        options = {key: values[field] for key, field in _OPTIONS.items() if values[field]}
        return {**{key: values[field] for key, field in _KEYS.items()}, **options}

    @classmethod
    def named(cls, name: str | Path) -> HardwareConfig:
        """Load the config that `name` means: the name of a shipped config such as ``sim``, or the path of a JSON file.

        Raises `ConfigError` naming the shipped ones if it is neither, and file, key, value and limit if the file is no config.
        """
        return load_config(config_path(name))

    @classmethod
    def from_json(cls, values: Mapping[str, Any], source: str = "config") -> HardwareConfig:
        """Build a config from the JSON object `values`; `source` names the file in errors."""
        _check_keys(values, source)
        try:
            return cls(**{field: values[key] for key, field in _ALL_KEYS.items() if key in values})
        except ConfigError as error:
            raise ConfigError(f"{source}: {error}") from None


AnyConfig = HardwareConfig | str | Path
"""A config, or what `HardwareConfig.named` takes."""


def config_of(given: AnyConfig) -> HardwareConfig:
    """A config as it is, or the one of a name. Raises like `HardwareConfig.named`, and `ConfigError` if it is neither."""
    if isinstance(given, HardwareConfig):
        return given
    if not isinstance(given, (str, os.PathLike)):
        raise ConfigError(
            f"a config is a HardwareConfig, the name of a shipped one or the path of a file, not {type(given).__name__}"
        )
    return HardwareConfig.named(given)


def load_config(path: str | Path) -> HardwareConfig:
    """Read a hardware config from a JSON file.

    Raises `ConfigError` naming the file and the key, value and limit, if it is not one.
    """
    values = parse_json(read_text(path, ConfigError), str(path), ConfigError)
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: expected a JSON object, got {type(values).__name__}")
    return HardwareConfig.from_json(values, str(path))


def _check_keys(values: Mapping[str, Any], source: str) -> None:
    allowed = ", ".join(_ALL_KEYS)
    for key in values:
        if key not in _ALL_KEYS:
            close = difflib.get_close_matches(str(key).upper(), _ALL_KEYS, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise ConfigError(f"{source}: unknown key {key} = {shown(values[key])}{hint}; allowed keys: {allowed}")
    for key in _KEYS:
        if key not in values:
            raise ConfigError(f"{source}: key {key} is missing; a config has the keys {allowed}")


def _check_values(hw: HardwareConfig) -> None:
    for key, field in _ALL_KEYS.items():
        value = getattr(hw, field)
        if key not in _RANGES:
            if not isinstance(value, str):
                raise ConfigError(f"{key} = {shown(value)} is not a string")
        elif isinstance(value, bool) or not isinstance(value, int):
            raise ConfigError(f"{key} = {shown(value)} is not an integer; allowed: {_span(*_RANGES[key])}")
    if hw.target not in TARGETS:
        raise ConfigError(f"TARGET = {shown(hw.target)} is unknown; allowed: {', '.join(TARGETS)}")
    for key, (low, high) in _RANGES.items():
        value = getattr(hw, _ALL_KEYS[key])
        if low <= value <= high:
            continue
        if key.endswith("_WIDTH") and 0 <= value <= _LARGEST_LOG_WIDTH:
            width = f"{key} = {value} ({1 << value}-bit scalars) is out of range; allowed: {_span(low, high)}"
            raise ConfigError("; ".join([width, *_field_overflows(hw)]))
        raise ConfigError(f"{key} = {value} is out of range; allowed: {_span(low, high)}")


def _check_options(hw: HardwareConfig) -> None:
    chosen = [key for key, field in _OPTIONS.items() if getattr(hw, field)]
    if not chosen:
        return
    if not TARGETS[hw.target].extensible:
        able = ", ".join(target.name for target in TARGETS.values() if target.extensible)
        raise ConfigError(f"{chosen[0]} = 1, but TARGET = {hw.target} cannot have it; allowed with it: {able}")
    if hw.requantize_unit and hw.log_acc_width != _REQUANTIZED_LOG_ACC_WIDTH:
        raise ConfigError(f"{chosen[0]} = 1 takes LOG_ACC_WIDTH = {_REQUANTIZED_LOG_ACC_WIDTH}, not {hw.log_acc_width}")
    if hw.table_unit and not hw.requantize_unit:
        raise ConfigError("TABLE_UNIT = 1 takes REQUANTIZE_UNIT = 1, not 0")


def _span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def _check_encoding(hw: HardwareConfig) -> None:
    """Refuse geometries whose fields overflow the 32-bit micro-op or the 64-bit instruction words."""
    depth = hw.log_depth
    uop, inp, wgt, acc = (depth[t] for t in (MemoryType.UOP, MemoryType.INP, MemoryType.WGT, MemoryType.ACC))
    for name, memory in (("UOP", uop), ("INP", inp), ("WGT", wgt), ("ACC", acc)):
        key = f"LOG_{name}_BUFF_SIZE"
        value = getattr(hw, key.lower())
        if memory < 1:
            raise ConfigError(f"{key} = {value} holds {2.0**memory:g} elements of this geometry; at least 2 are needed")
        if memory > 16:
            raise ConfigError(f"{key} = {value} makes 2^{memory} rows; an sram_base field addresses at most 2^16")
    for memory_type, log_bytes in hw.log_elem_bytes.items():
        if 1 << log_bytes > _PAGE_BYTES:
            raise ConfigError(
                f"LOG_BATCH = {hw.log_batch}, LOG_BLOCK = {hw.log_block}: one {memory_type.name} element is "
                f"{1 << log_bytes} bytes; the limit is {_PAGE_BYTES}"
            )
    problems = list(_field_overflows(hw))
    if problems:
        raise ConfigError("; ".join(problems))


_STREAM_KEYS = ("LOG_ACC_BUFF_SIZE", "LOG_INP_BUFF_SIZE", "LOG_WGT_BUFF_SIZE", "LOG_BATCH", "LOG_BLOCK")


def _field_overflows(hw: HardwareConfig) -> Iterator[str]:
    """Yield what overflows: the micro-op word, and the low and high words of GEMM and ALU."""
    depth = hw.log_depth
    uop, inp, wgt, acc = (depth[t] for t in (MemoryType.UOP, MemoryType.INP, MemoryType.WGT, MemoryType.ACC))
    words = (
        ("uop_word", acc + max(acc, inp) + wgt, 32, _STREAM_KEYS),
        ("gemm_low", 8 + uop + (uop + 1) + 28, 64, ("LOG_UOP_BUFF_SIZE",)),
        ("gemm_high", 2 * (acc + inp + wgt), 64, _STREAM_KEYS),
        ("alu_high", 4 * acc + 3 + 1 + 16, 64, ("LOG_ACC_BUFF_SIZE", "LOG_BATCH", "LOG_BLOCK")),
    )
    for name, bits, limit, keys in words:
        if bits > limit:
            values = ", ".join(f"{key} = {getattr(hw, key.lower())}" for key in keys)
            more = " or raise LOG_BATCH or LOG_BLOCK" if "LOG_BLOCK" in keys else ""
            sizes = "one of the sizes" if keys is _STREAM_KEYS else keys[0]
            yield f"{name} needs {bits} bits and has {limit} ({values}): lower {sizes}{more}"


assert {field.name for field in fields(HardwareConfig)} == set(_ALL_KEYS.values())
