"""The readers of users' files, each with how its files are damaged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from vta.errors import ArtifactError, EncodingError, TileTextError
from vta.support.dataclass import dataclass
from vta.testing.parser_fuzz.mutations import Mutation, mutate_bytes, mutate_lines, mutate_text, mutate_words
from vta.testing.parser_fuzz.seeds import EXTERNAL_DATA, mxnet_params, mxnet_symbol
from vta.testing.parser_fuzz.structures import mutate_json, mutate_messages, mutate_vta, mutate_yaml, mutate_zip

__all__ = ["PARSERS", "Parser"]


@dataclass(frozen=True)
class Parser:
    """A reader of files."""

    name: str
    suffix: str
    """How a mutant's file is called, after ``mutant``."""
    read: Callable[[Path], object]
    """What is to work, or to raise one `VTAError` that names the file."""
    mutations: tuple[Mutation, ...]
    beside: Mapping[str, bytes] = field(default_factory=dict)
    """Files that it needs, by name."""
    weight: int = 2
    """Its share of the mutants."""


def _read_model(path: Path) -> None:
    from vta.frontend import load_model

    load_model(path)


def _read_params(path: Path) -> None:
    from vta.frontend.mxnet.files import load_mxnet

    load_mxnet(path.with_name("net-symbol.json"), params_path=path)


def _read_vta(path: Path) -> None:
    from vta.runtime import load

    load(path)
    load(path, contained=True)


def _read_vta_run(path: Path) -> None:
    from vta.native import ffi, lib

    options, error = ffi.new("vta_runtime_options *"), ffi.new("char[]", 1024)
    options.memory_bytes, options.limit_seconds, options.threads = 1 << 28, 1.0, 1
    runtime = lib.vta_runtime_open(str(path).encode(), options, error, len(error))
    if runtime == ffi.NULL:
        raise ArtifactError(ffi.string(error).decode(errors="replace"))
    lib.vta_runtime_close(runtime)


def _read_config(path: Path) -> None:
    from vta.config.hardware import load_config

    load_config(path)


def _read_timing(path: Path) -> None:
    from vta.config.hardware import HardwareConfig
    from vta.config.timing import load_timing

    load_timing(path, HardwareConfig.named("sim"))


def _read_technology(path: Path) -> None:
    from vta.config.technology import load_technology

    load_technology(path)


def _read_board(path: Path) -> None:
    from vta.boards.description import load_board

    load_board(path)


def _read_sweep(path: Path) -> None:
    from vta.sweep.points import expand
    from vta.sweep.spec import load_spec

    expand(load_spec(path))


def _read_records(path: Path) -> None:
    from vta.autotune.usable import use_problem
    from vta.records.check import cost_problem
    from vta.records.log import read_log
    from vta.records.region import pick_best_with_regions

    records = [line.record for line in read_log(path) if line.record is not None]
    for record in records:
        use_problem(record)
        cost_problem(record)
    pick_best_with_regions(records)


def _read_table(path: Path) -> None:
    from vta.sweep.table import Table

    Table(path).read()


def _read_assembly(path: Path) -> None:
    from vta.files.user_file import read_text
    from vta.isa.assembly import assemble

    text = read_text(path, EncodingError)
    try:
        assemble(text)
    except EncodingError as error:
        raise EncodingError(f"{path}: {error}") from error.__context__


def _read_tile_text(path: Path) -> None:
    from vta.codegen.tile_text import parse_region
    from vta.files.user_file import read_text
    from vta.tile.text.parser import parse_operators
    from vta.tile.text.printer import print_operators

    region = parse_region(read_text(path, TileTextError), source=str(path)).region
    text = print_operators(region)
    assert print_operators(parse_operators(text).region) == text, "what is read prints as it is read back"


def _read_inputs(path: Path) -> None:
    from vta.cli.arrays import calibration_samples, network_inputs
    from vta.ir.graph import graph_input
    from vta.runtime import Preprocessing

    nodes = [graph_input("x", (2, 3, 4, 4))]
    calibration_samples(path, nodes, Preprocessing(mean=(1.0,)), 4)
    network_inputs(path, nodes)


def _read_dataset(path: Path) -> None:
    from vta.runtime.evaluation.dataset import load_dataset

    load_dataset(path, 3)


def _read_bit(path: Path) -> None:
    from vta.boards.bit_file import check_bitstream
    from vta.boards.files import find_board

    check_bitstream(path, find_board("pynq-z1"))


def _read_manifest(path: Path) -> None:
    from vta.boards.files import find_board
    from vta.boards.manifest import find_bitstream
    from vta.config.hardware import HardwareConfig

    board = find_board("pynq-z1")
    find_bitstream(path.parent, board, board.design("core"), HardwareConfig.named("pynq"))


def _read_certificates(path: Path) -> None:
    from vta.rpc.wire.security import Security, channel_credentials, server_credentials

    for name in ("ca.pem", "client.pem", "client.key", "server.pem", "server.key"):
        path.with_name(name).write_bytes(path.read_bytes())
    security = Security(path.parent)
    channel_credentials(security)
    server_credentials(security)


_BINARY = (mutate_words, mutate_words, mutate_bytes)
_TEXT = (mutate_text, mutate_text, mutate_lines, mutate_bytes)
_JSON = (mutate_json, mutate_json, mutate_json, mutate_text, mutate_bytes)
_YAML = (mutate_yaml, mutate_yaml, *_TEXT)
_ZIP = (mutate_zip, mutate_zip, mutate_zip, mutate_words, mutate_bytes)

_ALL = (
    Parser("onnx", ".onnx", _read_model, (*[mutate_messages] * 6, mutate_bytes), {"weights.bin": EXTERNAL_DATA}, weight=6),
    Parser("tflite", ".tflite", _read_model, (*[mutate_words] * 5, mutate_bytes), weight=6),
    Parser("mxnet-symbol", "-symbol.json", _read_model, _JSON, {"mutant-0000.params": mxnet_params()}, weight=3),
    Parser("mxnet-params", ".params", _read_params, _BINARY, {"net-symbol.json": mxnet_symbol()}),
    Parser("pt2", ".pt2", _read_model, _ZIP, weight=1),
    Parser("vta", ".vta", _read_vta, (*[mutate_vta] * 8, mutate_zip, mutate_bytes), weight=6),
    Parser("vta-run", ".vta", _read_vta_run, (*[mutate_vta] * 8, mutate_zip, mutate_bytes), weight=6),
    Parser("config", ".json", _read_config, _JSON),
    Parser("timing", ".json", _read_timing, _JSON, weight=1),
    Parser("technology", ".json", _read_technology, _JSON, weight=1),
    Parser("board", ".yaml", _read_board, (*_YAML, mutate_json), weight=3),
    Parser("sweep", ".yaml", _read_sweep, (*_YAML, mutate_json), weight=3),
    Parser("records", ".log", _read_records, (*_TEXT, mutate_json), weight=3),
    Parser("sweep-table", ".csv", _read_table, _TEXT),
    Parser("assembly", ".s", _read_assembly, _TEXT, weight=3),
    Parser("tile-text", ".txt", _read_tile_text, _TEXT, weight=3),
    Parser("inputs", ".npz", _read_inputs, _ZIP, weight=3),
    Parser("dataset", ".npz", _read_dataset, _ZIP),
    Parser("bit", ".bit", _read_bit, _BINARY),
    Parser("manifest", "manifest.json", _read_manifest, _JSON),
    Parser("certificates", ".pem", _read_certificates, (mutate_bytes, mutate_lines), weight=1),
)

PARSERS: Mapping[str, Parser] = {parser.name: parser for parser in _ALL}
"""By name."""
