"""Names of files on the command line: those to read, those to write, and that none is both."""

from __future__ import annotations

import argparse
import os
from pathlib import Path, PosixPath

from vta.errors import UsageError
from vta.frontend.suffixes import SYMBOL_SUFFIX
from vta.support.shorten import printable

__all__ = ["OutputPath", "check_outputs", "existing_file", "log_file", "model_name", "model_stem", "output_file", "picture_file"]

_MODEL_SUFFIXES = (".onnx", ".tflite", ".json", ".params", ".pt2", ".pth", ".pt")

_PICTURES = (".png", ".svg", ".pdf")

_GOES_ON = {("save_state", "load_state")}
"""What may take the place of what is read: it has the same arrays, one run later."""


class OutputPath(PosixPath):
    """The path of a file that a command writes."""


def existing_file(text: str) -> Path:
    """Parse the path of a file that must exist."""
    path = Path(text)
    if not os.path.isfile(path):
        raise argparse.ArgumentTypeError(f"{printable(text)}: {_why_not(path)}")
    return path


def _why_not(path: Path) -> str:
    """Why a path is no file that can be read."""
    if os.path.isdir(path):
        return "is a directory"
    return "is no regular file" if os.path.exists(path) else "no such file"


def output_file(text: str) -> Path:
    """Parse the path of a file to write, whose directory must exist. What the command reads is never written over."""
    path = OutputPath(text)
    if os.path.isdir(path):
        raise argparse.ArgumentTypeError(f"{text}: is a directory; name a file")
    if not os.path.isdir(path.parent):
        raise argparse.ArgumentTypeError(f"{text}: the directory {path.parent} does not exist")
    return path


def model_name(text: str) -> str:
    """Parse a model: the path of a file that exists, or a built-in name, which the importer checks."""
    looks_like_path = "/" in text or text.lower().endswith(_MODEL_SUFFIXES)
    if looks_like_path and not os.path.exists(text):
        raise argparse.ArgumentTypeError(f"{text}: no such file")
    return text


def model_stem(model: str) -> str:
    """What a model is called, without folder and ending."""
    name = os.path.basename(model)
    ending = next((suffix for suffix in (SYMBOL_SUFFIX, *_MODEL_SUFFIXES) if name.lower().endswith(suffix)), "")
    return name[: len(name) - len(ending)] or name


def picture_file(text: str) -> Path:
    """Parse the path of a picture to draw, whose name ends with its form."""
    path = output_file(text)
    if path.suffix.lower() not in _PICTURES:
        raise argparse.ArgumentTypeError(f"{text}: allowed are names that end with {', '.join(_PICTURES)}")
    return path


def log_file(text: str) -> Path:
    """Parse the path of a log to append to: a regular file, if it is there."""
    from vta.files.text_lines import may_hold_objects

    path = output_file(text)
    if path.exists() and not path.is_file():
        raise argparse.ArgumentTypeError(f"{text}: is no regular file; a log of records is one")
    if path.exists() and not may_hold_objects(path):
        raise argparse.ArgumentTypeError(f"{text}: is no log of records: what it holds is not text")
    return path


def check_outputs(options: argparse.Namespace) -> None:
    """Raise `UsageError` if a file to write is also one to read, or is to be written twice.

    Logs of records that are read and appended to are given once, so that they are none of these. Devices such as /dev/null
    take anything.
    """
    given = list(vars(options).items())
    outputs = [(name, value) for name, value in given if isinstance(value, OutputPath) and _keeps(value)]
    for at, (name, output) in enumerate(outputs):
        for other, value in [*((key, entry) for key, entry in given if not isinstance(entry, OutputPath)), *outputs[at + 1 :]]:
            if (name, other) not in _GOES_ON and any(_same(output, entry) for entry in _entries(value)):
                doing = "both are to be written there" if isinstance(value, OutputPath) else "it would be written over"
                raise UsageError(
                    f"{output}: the {_word(name)} is the same file as the {_word(other)}; {doing}: name another file"
                )


def _entries(value: object) -> list[str | Path]:
    values = value if isinstance(value, (list, tuple)) else [value]
    return [entry for entry in values if isinstance(entry, (str, Path))]


def _word(name: str) -> str:
    return name.replace("_", " ")


def _keeps(path: Path) -> bool:
    return path.is_file() or not path.exists()


def _same(output: Path, other: str | Path) -> bool:
    try:
        return os.path.samefile(output, other)
    except (OSError, ValueError):
        # One of them is not there, or is no name of a file at all.
        return isinstance(other, OutputPath) and os.path.realpath(output) == os.path.realpath(other)
