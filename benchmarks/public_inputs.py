"""Samples for the networks of `benchmarks.public_nets`, of the kind that each is for.

Images are parts of photographs, with words on them where a network reads words; sound is made. What another network of the
package computes, as features of speech are, is computed by that, in the source framework. States are those that some sound left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.made_inputs import (
    Maker,
    Pictures,
    bytes_of_text,
    chances,
    music,
    part_of_photograph,
    speech,
    turned_words,
    words,
)
from benchmarks.source_outputs import named_outputs, sourced
from vta.ir.graph import Graph

__all__ = ["samples_of"]

Array = NDArray[Any]
Samples = dict[str, Array]
_Shapes = Mapping[str, tuple[int, ...]]
_Made = Callable[[Path, _Shapes, np.random.Generator, Pictures], Samples]
"""One sample for each input of the file."""

_FULL_SCALE = 32767.0
"""Of 16-bit sound, which the networks of wake words read as floats."""
_MEL_STEP, _MEL_WINDOW = 160, 480
"""Samples between two frames of a spectrum, and of a frame."""
_EMBEDDED_FRAMES, _EMBEDDED_STEP = 76, 8
"""Frames that one embedding is of, and from one to the next."""
_STREAMED = (2, 8)
"""Chunks of sound that leave the state of a sample."""
_SPECTRUM, _HOP, _BANDS = 960, 480, 32
"""Of DeepFilterNet."""


def _each(maker: Maker) -> _Made:
    def made(path: Path, shapes: _Shapes, rng: np.random.Generator, pictures: Pictures) -> Samples:
        return {name: maker(shape, rng, pictures) for name, shape in shapes.items()}

    return made


def _streamed(path: Path, shapes: _Shapes, rng: np.random.Generator, pictures: Pictures) -> Samples:
    """A chunk of speech, with the states that some chunks before it left: inputs behind the first, in the order of outputs."""
    source, *states = shapes
    chunks = int(rng.integers(*_STREAMED))
    sound = speech()((chunks, *shapes[source][1:]), rng, pictures)
    held = {name: np.zeros(shapes[name], np.float32) for name in states}
    for chunk in sound[:-1]:
        found = sourced(path, {source: chunk[None], "sr": np.asarray(16_000, np.int64)} | held)
        assert found is not None
        held = dict(zip(states, found[-len(states) :], strict=True))
    return {source: sound[-1:]} | held


def _sibling(path: Path, name: str) -> Path:
    return path.with_name(name + path.suffix)


def _frames(path: Path, frames: int, rng: np.random.Generator) -> Array:
    """The spectrum of speech, as the networks behind it read it, (1, frames, 32, 1)."""
    sound = speech(_FULL_SCALE)((1, (frames - 1) * _MEL_STEP + _MEL_WINDOW + _MEL_STEP), rng, [])
    file = _sibling(path, "melspectrogram")
    found = sourced(file, {"input": sound})
    assert found is not None
    return np.asarray(found[0].reshape(1, -1, _BANDS, 1)[:, :frames] / 10 + 2, np.float32)


def _spectra(path: Path, shapes: _Shapes, rng: np.random.Generator, pictures: Pictures) -> Samples:
    return {name: _frames(path, shape[1], rng) for name, shape in shapes.items()}


def _embeddings(path: Path, shapes: _Shapes, rng: np.random.Generator, pictures: Pictures) -> Samples:
    """Embeddings of one stretch of speech, (1, T, 96)."""
    ((name, shape),) = shapes.items()
    spectrum = _frames(path, (shape[1] - 1) * _EMBEDDED_STEP + _EMBEDDED_FRAMES, rng)
    rows = []
    for at in range(shape[1]):
        begun = at * _EMBEDDED_STEP
        found = sourced(_sibling(path, "embedding_model"), {"input_1": spectrum[:, begun : begun + _EMBEDDED_FRAMES]})
        assert found is not None
        rows.append(found[0].reshape(1, 1, -1))
    return {name: np.concatenate(rows, axis=1)}


def _noisy_features(path: Path, shapes: _Shapes, rng: np.random.Generator, pictures: Pictures) -> Samples:
    """Features of noisy speech: loudness of bands, and the lowest parts of the spectrum over what each is on average."""
    frames = shapes["feat_erb"][2]
    count = _SPECTRUM + (frames - 1) * _HOP
    sound = np.interp(np.arange(count) / 3, np.arange(count // 3 + 1), speech()((count // 3 + 1,), rng, pictures))
    sound = sound + 10 ** rng.uniform(-3, -1) * rng.standard_normal(count)
    pieces = np.stack([sound[at * _HOP : at * _HOP + _SPECTRUM] for at in range(frames)])
    spectrum = np.fft.rfft(pieces * np.hanning(_SPECTRUM), axis=1) / _SPECTRUM
    edges = np.unique(np.round(np.geomspace(1, spectrum.shape[1], _BANDS + 9)).astype(int))[-_BANDS - 1 :]
    loudness = 10 * np.log10(np.add.reduceat(np.abs(spectrum) ** 2, edges[:-1], axis=1) + 1e-10)
    lowest = spectrum[:, : shapes["feat_spec"][3]]
    even = lowest / np.sqrt(np.abs(lowest).mean(axis=0) + 1e-6)
    return {
        "feat_erb": ((loudness + np.linspace(60, 90, _BANDS)) / 40)[None, None].astype(np.float32),
        "feat_spec": np.stack([even.real, even.imag])[None].astype(np.float32),
    }


def _encoded(path: Path, shapes: _Shapes, rng: np.random.Generator, pictures: Pictures) -> Samples:
    """What DeepFilterNet's encoder makes of noisy speech."""
    frames = shapes["emb"][1]
    features = _noisy_features(path, {"feat_erb": (1, 1, frames, 32), "feat_spec": (1, 2, frames, 96)}, rng, pictures)
    encoded = named_outputs(path.with_name("enc.onnx"), features)
    return {name: encoded[name] for name in shapes}


_SIGNED, _SHARE = part_of_photograph(), part_of_photograph(0, 255)
_KINDS: Mapping[str, _Made] = {
    "face_detection": _each(_SIGNED),
    "landmark": _each(_SHARE),
    "pnet": _each(part_of_photograph(127.5, 128)),
    "rnet": _each(part_of_photograph(127.5, 128)),
    "onet": _each(part_of_photograph(127.5, 128)),
    "efficientnet": _each(_SIGNED),
    "yolov8n": _each(_SHARE),
    "PP-OCR": _each(words()),
    "ppocr_mobile_v2.0_cls": _each(turned_words),
    "common_det": _each(words(0, 1)),
    "common_old": _each(words(0, 255)),
    "nmp": _each(music),
    "magika": _each(bytes_of_text),
    "melspectrogram": _each(speech(_FULL_SCALE)),
    "silero_vad": _streamed,
    "embedding_model": _spectra,
    "openwakeword": _embeddings,
    "pyopen_wakeword": _embeddings,
    "enc.onnx": _noisy_features,
    "df_dec.onnx": _encoded,
    "erb_dec.onnx": _encoded,
}
"""By what a file's path inside of its package contains; the first one counts."""


def samples_of(file: str, path: Path, graph: Graph, count: int, seed: int, pictures: Pictures) -> Samples:
    """So many samples of each input of a network, along the first axis; other seeds give other samples.

    `file` is the path inside of the package, of which the file at `path` was made.
    """
    if any(node.dtype == "int8" for node in graph.arguments):
        rng = np.random.default_rng(seed)
        shapes = {node.name: (count * node.shape[0], *node.shape[1:]) for node in graph.arguments}
        return {name: rng.integers(-128, 128, shape, np.int8) for name, shape in shapes.items()}
    make = next((make for part, make in _KINDS.items() if part in file), _each(chances))
    shapes = {node.name: node.shape for node in graph.arguments}
    # Each sample by its own generator: more of them begin with the same ones.
    one = [make(path, shapes, np.random.default_rng([seed, index]), pictures) for index in range(count)]
    types = {node.name: node.dtype for node in graph.arguments}
    return {name: np.concatenate([sample[name] for sample in one]).astype(types[name]) for name in shapes}
