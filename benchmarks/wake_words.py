"""Streams of sound through the wake words of pymicro-wakeword, compared with LiteRT byte for byte.

    python -m benchmarks.wake_words --audio speech.wav --frames 10000

Sound is 16 kHz, mono, 16 bits; it repeats, louder and softer, until there are enough frames. Without a file it is noise. Features
of a file take the package pymicro-features.
"""

from __future__ import annotations

import argparse
import time
import wave
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.compiler.compile import compile_model
from vta.config.hardware import HardwareConfig
from vta.devices.cycle import CycleDevice
from vta.devices.sim import SimDevice
from vta.errors import UsageError
from vta.runtime.module import Module
from vta.runtime.values.frames import FramesReport
from vta.support.dataclass import dataclass
from vta.support.table import make_table
from vta.testing.tflite_model import reference_stream

__all__ = ["Row", "measured"]

_SCALE = 0.1019608
"""Of the features, whose levels start at -128."""
_CHUNK_SAMPLES = 160
_FEATURES = 40
_TIMED_FRAMES = 3


@dataclass(frozen=True)
class Row:
    """What one network did."""

    network: str
    frames: int
    equal: int
    """Frames whose outputs are LiteRT's."""
    highest: int
    """The largest output, of 255."""
    regions: int
    on_vta: int
    """Operators."""
    on_host: int
    state_bytes: int
    cycles: int
    """Of a frame."""
    microseconds: float
    """Of a frame on the host of the functional simulator."""


def measured(path: Path, features: NDArray[np.int8], frames: int) -> Row:
    """Run `frames` frames of features, (time, 40), through the network of a file."""
    hw = HardwareConfig.named("sim")
    compiled = compile_model(path, hw)
    shape = compiled.graph.arguments[0].shape
    data = np.resize(features, (frames * shape[1], _FEATURES)).reshape(frames, *shape)
    wanted = np.stack([values[0] for values in reference_stream(path.read_bytes(), data)])
    with Module(compiled, SimDevice(hw)) as module:
        begun = time.perf_counter()
        got = module.run_frames(data).outputs[0]
        seconds = time.perf_counter() - begun
    with Module(compiled, CycleDevice(hw)) as module:
        timed: FramesReport = module.run_frames(data[:_TIMED_FRAMES])
    places = [placement.where for placement in compiled.placements]
    return Row(
        path.stem,
        frames,
        int((got == wanted).reshape(frames, -1).all(axis=1).sum()),
        int(got.max()),
        len(compiled.regions),
        places.count("vta"),
        places.count("host"),
        sum(state.initial.nbytes for state in compiled.graph.states),
        max(timed.cycles or (0,)),
        seconds / frames * 1e6,
    )


def _features(audio: Path | None, count: int) -> NDArray[np.int8]:
    """At least `count` rows of features."""
    if audio is None:
        rng = np.random.default_rng(0)
        return rng.integers(-128, 128, (count, _FEATURES)).astype(np.int8)
    from pymicro_features import MicroFrontend

    frontend, rows = MicroFrontend(), list[NDArray[Any]]()
    for chunk in _chunks(audio):
        made = frontend.process_samples(chunk.astype("<i2").tobytes())
        rows += [np.asarray(made.features)] if made.features else []
        if len(rows) >= count:
            break
    return np.clip(np.round(np.stack(rows) / _SCALE - 128), -128, 127).astype(np.int8)


def _chunks(audio: Path) -> Iterator[NDArray[Any]]:
    """The sound again and again, each time at another loudness."""
    with wave.open(str(audio)) as sound:
        if (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) != (16000, 1, 2):
            raise UsageError(f"{audio}: the sound must be 16 kHz, mono, 16 bits")
        samples = np.frombuffer(sound.readframes(sound.getnframes()), "<i2")
    rng = np.random.default_rng(0)
    while True:
        louder = samples * rng.uniform(0.1, 1.0) + rng.standard_normal(len(samples)) * rng.uniform(1, 300)
        for at in range(0, len(louder) - _CHUNK_SAMPLES + 1, _CHUNK_SAMPLES):
            yield np.clip(louder[at : at + _CHUNK_SAMPLES], -32768, 32767)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one row a network."""
    parser = argparse.ArgumentParser(description="Streams through wake words, compared with LiteRT.")
    parser.add_argument("--audio", type=Path, metavar="FILE.wav", help="sound, 16 kHz, mono, 16 bits (default: noise)")
    parser.add_argument("--frames", type=int, default=1000, metavar="N", help="frames (default: %(default)s)")
    options = parser.parse_args(arguments)
    spec = find_spec("pymicro_wakeword")
    if spec is None or not spec.submodule_search_locations:
        raise UsageError("the networks are those of the package pymicro-wakeword: pip install 'vta[nets]'")
    features = _features(options.audio, 3 * options.frames)
    files = sorted((Path(spec.submodule_search_locations[0]) / "models").glob("*.tflite"))
    rows = [measured(path, features, options.frames) for path in files]
    print(make_table(tuple(vars(rows[0])), (tuple(vars(row).values()) for row in rows)))


if __name__ == "__main__":
    main()
