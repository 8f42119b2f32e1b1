"""Samples that are made: of the wanted shape and range, the same each time, others for other generators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.made_inputs import bytes_of_text, chances, music, part_of_photograph, pictures_of, speech, turned_words, words
from benchmarks.public_inputs import samples_of
from vta.ir.graph import Graph, call, graph_input

MAKERS = {
    "page": (words(), (1, 3, 64, 64), 1),
    "line": (words(0, 255), (1, 1, 48, 160), 1),
    "turned": (turned_words, (1, 3, 48, 192), 1),
    "part": (part_of_photograph(), (1, 32, 40, 3), 1),
    "speech": (speech(), (1, 4000), 1),
    "music": (music, (1, 4000, 1), 1),
    "text": (bytes_of_text, (1, 200), 255),
    "chances": (chances, (1, 4, 5), 8),
}


@pytest.mark.parametrize("name", MAKERS)
def test_samples_are_the_same_for_a_seed_and_others_for_another(name):
    make, shape, largest = MAKERS[name]
    found = [make(shape, np.random.default_rng(seed), []) for seed in (1, 1, 2)]
    assert found[0].shape == shape
    assert np.abs(found[0]).max() <= largest
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_speech_is_loud_in_parts_and_silent_in_others():
    sound = speech()((16_000,), np.random.default_rng(0), [])
    power = (sound.reshape(-1, 400) ** 2).mean(axis=1)
    assert power.max() > 30 * power.min()


def test_words_are_on_what_they_are_written_on():
    lines = [words()((1, 3, 48, 320), np.random.default_rng(seed), []) for seed in range(4)]
    assert all(len(np.unique(line)) > 10 for line in lines)


def test_photographs_are_those_of_the_folder(tmp_path: Path):
    from PIL import Image

    Image.new("RGB", (50, 40), (255, 255, 255)).save(tmp_path / "white.bmp")
    (picture,) = pictures_of(tmp_path)
    part = part_of_photograph(0, 255)((1, 3, 16, 16), np.random.default_rng(0), [picture])
    assert 0.5 < part.min() == part.max() <= 1
    assert pictures_of(None) == []


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_more_samples_begin_with_the_same_ones(dtype):
    data = graph_input("data", (1, 3, 16, 16), dtype)
    graph = Graph((data,), (call("nn.relu", [data], "out"),))
    few, many = (samples_of("a.onnx", Path("a.onnx"), graph, count, 5, [])["data"] for count in (2, 3))
    assert few.dtype == dtype
    assert few.shape == (2, 3, 16, 16)
    assert np.array_equal(few, many[:2])
