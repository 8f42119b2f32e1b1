"""Inputs of the kind that a network is for, made from a seed: words on images, speech, music, text as bytes.

Each maker takes a shape and a random generator, and gives one sample. What two generators give are different samples of one kind.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

__all__ = [
    "Maker",
    "Pictures",
    "bytes_of_text",
    "chances",
    "music",
    "part_of_photograph",
    "pictures_of",
    "speech",
    "turned_words",
    "words",
    "written_on",
]

Array = NDArray[Any]
Pictures = list[Image.Image]
Maker = Callable[[tuple[int, ...], np.random.Generator, Pictures], Array]
"""Makes a sample (of a batch of one), float32 or integers; photographs are what it may write on, or cut from."""

_WORDS = ("Amsterdam", "open 24 hours", "No. 4711", "STOP", "coffee", "Platform 9", "EXIT", "fragile")
_SMALLEST = 0.4
"""Side of the smallest part of a photograph, as a share of the largest square in it."""

_RATE = 16_000
_VOWELS = ((730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480), (570, 840, 2410))
"""Formants in Hz, of the vowels in father, see, boot, bed and bought (Peterson and Barney, 1952)."""
_BANDWIDTH = 120.0
_SYLLABLE = (0.12, 0.3)
"""Seconds."""
_NOTES = (45, 81)
"""Of a keyboard, 69 is the a of 440 Hz."""


def written_on(part: Image.Image, rng: np.random.Generator, lines: int = 3, size: tuple[float, float] = (0.06, 0.12)) -> None:
    """Write some words on an image, one below the other, in black or white; of a `size` between two shares of its height."""
    draw = ImageDraw.Draw(part)
    for at, word in enumerate(rng.choice(_WORDS, lines, replace=False)):
        height = part.height * rng.uniform(*size)
        place = part.width * rng.uniform(0.02, 0.3), part.height * (at + rng.uniform(0.2, 0.6)) / lines
        color = (255, 255, 255) if rng.uniform() < 0.5 else (0, 0, 0)
        draw.text(place, str(word), color, ImageFont.load_default(height))


def _part(pictures: Pictures, size: tuple[int, int], rng: np.random.Generator) -> Image.Image:
    """A part of a photograph, as bright as it is or darker; of one colour without any photographs."""
    if not pictures:
        return Image.new("RGB", size, tuple(rng.integers(60, 200, 3).tolist()))
    picture = pictures[rng.integers(len(pictures))]
    side = round(min(picture.size) * rng.uniform(_SMALLEST, 1))
    left, top = (round((length - side) * rng.uniform()) for length in picture.size)
    part = picture.crop((left, top, left + side, top + side)).resize(size, Image.Resampling.BILINEAR)
    brightness = rng.uniform(0.6, 1)
    return part.point(lambda level: level * brightness)


def _as_read(part: Image.Image, shape: tuple[int, ...], offset: float, scale: float) -> Array:
    """An image as a network reads it, channels first or last as its shape has them: ``(bytes - offset) / scale``."""
    pixels = np.asarray(part.convert("L"))[:, :, None] if 1 in (shape[1], shape[3]) else np.asarray(part)
    values = ((pixels - offset) / scale).astype(np.float32)
    return np.ascontiguousarray(values.transpose(2, 0, 1) if shape[1] in (1, 3) else values)[None]


def _size(shape: tuple[int, ...]) -> tuple[int, int]:
    """Width and height."""
    height, width = shape[2:] if shape[1] in (1, 3) else shape[1:3]
    return width, height


def part_of_photograph(offset: float = 127.5, scale: float = 127.5) -> Maker:
    """Parts of photographs, as real numbers ``(bytes - offset) / scale``."""
    return lambda shape, rng, pictures: _as_read(_part(pictures, _size(shape), rng), shape, offset, scale)


def words(offset: float = 127.5, scale: float = 127.5) -> Maker:
    """Pages with some words on photographs, or on one colour every other time; of lines that are wider than high one word."""

    def made(shape: tuple[int, ...], rng: np.random.Generator, pictures: Pictures) -> Array:
        return _as_read(_written(_size(shape), rng, pictures), shape, offset, scale)

    return made


def turned_words(shape: tuple[int, ...], rng: np.random.Generator, pictures: Pictures) -> Array:
    """Lines of words from -1 to 1, upside down every other time."""
    part = _written(_size(shape), rng, pictures)
    return _as_read(part.rotate(180) if rng.uniform() < 0.5 else part, shape, 127.5, 127.5)


def _written(size: tuple[int, int], rng: np.random.Generator, pictures: Pictures) -> Image.Image:
    part = _part(pictures if rng.uniform() < 0.5 else [], size, rng)
    width, height = size
    if width >= 2 * height:
        written_on(part, rng, lines=1, size=(0.4, 0.6))
    else:
        written_on(part, rng, lines=int(rng.integers(2, 6)), size=(0.04, 0.15))
    return part


def speech(peak: float = 1.0) -> Maker:
    """Syllables of vowels with hisses between them, at 16 kHz, of a magnitude up to `peak`, (1, samples)."""

    def made(shape: tuple[int, ...], rng: np.random.Generator, pictures: Pictures) -> Array:
        sound = _spoken(int(np.prod(shape)), rng)
        return (peak * rng.uniform(0.1, 0.9) * sound).astype(np.float32).reshape(shape)

    return made


def _spoken(count: int, rng: np.random.Generator) -> Array:
    """So many samples of made speech, at most 1; it starts anywhere in a sentence."""
    skipped = int(rng.integers(_RATE))
    pitch, sounds, made = rng.uniform(90, 240), [], 0
    while made < skipped + count:
        sounds.append(_syllable(pitch * rng.uniform(0.85, 1.2), rng))
        made += len(sounds[-1])
    sound = np.concatenate(sounds)[skipped : skipped + count]
    return np.asarray(np.clip(sound + 0.003 * rng.standard_normal(count), -1, 1))


def _syllable(pitch: float, rng: np.random.Generator) -> Array:
    """A hiss or a silence, and a vowel: harmonics of a pitch, as loud as the formants are near."""
    length = int(_RATE * rng.uniform(*_SYLLABLE))
    time = np.arange(length) / _RATE
    harmonics = pitch * np.arange(1, int(4000 / pitch))
    formants = np.array(_VOWELS[rng.integers(len(_VOWELS))])
    resonance = (1 / (1 + ((harmonics[:, None] - formants) / _BANDWIDTH) ** 2)).max(axis=1)
    loudness = resonance / np.sqrt(np.arange(1, len(harmonics) + 1))
    bend = time * (1 - rng.uniform(-0.1, 0.1) * time / time[-1])
    vowel = loudness @ np.sin(2 * np.pi * harmonics[:, None] * bend + rng.uniform(0, 2 * np.pi, (len(harmonics), 1)))
    vowel *= np.hanning(length) / max(float(np.abs(vowel).max()), 1e-9)
    before = int(_RATE * rng.uniform(0.02, 0.12))
    hiss = np.diff(rng.standard_normal(before + 1)) * np.hanning(before) * rng.choice([0.0, 0.05, 0.15])
    return np.concatenate([hiss, vowel])


def music(shape: tuple[int, ...], rng: np.random.Generator, pictures: Pictures) -> Array:
    """Notes with overtones that fade, some at a time, at 22.05 kHz, at most 1."""
    count = int(np.prod(shape))
    time, sound = np.arange(count) / 22_050, np.zeros(count)
    for _ in range(int(rng.integers(4, 12))):
        begun, frequency = rng.uniform(0, time[-1]), 440 * 2 ** ((rng.integers(*_NOTES) - 69) / 12)
        since = np.maximum(time - begun, 0)
        for overtone in range(1, 6):
            sound += np.sin(2 * np.pi * overtone * frequency * since) * np.exp(-3 * since * overtone) / overtone
    loudest = max(float(np.abs(sound).max()), 1e-9)
    return (rng.uniform(0.2, 1) * sound / loudest).astype(np.float32).reshape(shape)


def bytes_of_text(shape: tuple[int, ...], rng: np.random.Generator, pictures: Pictures) -> Array:
    """Bytes of words one behind the other, or of anything every other time."""
    count = int(np.prod(shape))
    if rng.uniform() < 0.5:
        return rng.integers(0, 256, shape)
    text = " ".join(rng.choice(_WORDS, count))
    return np.frombuffer(text.encode()[:count], np.uint8).astype(np.int64).reshape(shape)


def chances(shape: tuple[int, ...], rng: np.random.Generator, pictures: Pictures) -> Array:
    """Random values of mean 0 and deviation 1."""
    return rng.standard_normal(shape).astype(np.float32)


def pictures_of(folder: Path | None) -> Pictures:
    """The photographs (.bmp) of a folder; none without one."""
    return [] if folder is None else [Image.open(path).convert("RGB") for path in sorted(folder.glob("*.bmp"))]
