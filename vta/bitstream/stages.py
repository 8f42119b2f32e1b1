"""Stages of a build: each makes files of others, is skipped where they are there already, and leaves nothing half made."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from vta.errors import DeviceError
from vta.files.atomic_file import make_folder, write_whole
from vta.support.dataclass import dataclass

__all__ = ["LOGS", "PART", "STAGES", "Stage", "Stages", "run_tool"]

STAGES = ("rtl", "system", "synth", "arrange", "place_route", "pack")
"""The stages, in their order."""
PART = ".part"
"""What the names of files end in until their stage is complete."""

LOGS = "logs"
"""The folder of what the tools print."""

_RECORD = "stages.json"
_LONGEST_SECONDS = 4 * 3600
_MESSAGE_LINES = 3


@dataclass(frozen=True)
class Stage:
    """One stage, or one of several that do the same with other seeds."""

    name: str
    """One of `STAGES`."""
    variant: str
    """What tells it from others of the same name; empty if there are none."""
    inputs: tuple[str, ...]
    """Files in the build's folder that it reads."""
    outputs: tuple[str, ...]
    """Files that it makes; it writes them with `PART` at their ends."""
    settings: str
    """Everything else that its outputs follow from."""
    run: Callable[[], None]


class Stages:
    """The stages of the build in `directory`, and the record of what is complete there."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / _RECORD
        self._record = _read_record(self._path)

    def run(self, stage: Stage, on_start: Callable[[str], None]) -> float:
        """Bring the outputs of `stage` about; returns the seconds that making them took, now or then.

        `on_start` is told the stage's name if it has to run. Raises what the stage raises; its outputs are then gone.
        """
        key = stage.name + (f"-{stage.variant}" if stage.variant else "")
        digest = _digest([stage.settings], (self._directory / name for name in stage.inputs))
        known = self._record.get(key)
        if known and known["inputs"] == digest and known["outputs"] == self._made(stage):
            return float(known["seconds"])
        on_start(stage.name)
        self._record.pop(key, None)
        started = time.perf_counter()
        try:
            stage.run()
            for name in stage.outputs:
                os.replace(self._directory / f"{name}{PART}", self._directory / name)
        finally:
            for name in stage.outputs:
                with suppress(OSError):
                    (self._directory / f"{name}{PART}").unlink()
        seconds = round(time.perf_counter() - started, 1)
        self._record[key] = {"inputs": digest, "outputs": self._made(stage), "seconds": seconds}
        write_whole(self._path, json.dumps(self._record, indent=2) + "\n", "the record of the build")
        return seconds

    def _made(self, stage: Stage) -> str:
        return _digest([], (self._directory / name for name in stage.outputs))


def run_tool(directory: Path, command: Iterable[str], log: str, what: str) -> None:
    """Run a tool in `directory`; what it prints goes to the log of that name.

    Raises `DeviceError` with the tool's own words and the place of the log if it fails.
    """
    make_folder(directory / LOGS)
    path = directory / LOGS / f"{log}.log"
    try:
        with path.open("w", encoding="utf-8") as stream:
            done = subprocess.run(
                list(command), cwd=directory, stdout=stream, stderr=subprocess.STDOUT, check=False, timeout=_LONGEST_SECONDS
            )
    except subprocess.TimeoutExpired:
        raise DeviceError(f"{what} did not end within {_LONGEST_SECONDS} s; its log is {path}") from None
    except OSError as error:
        raise DeviceError(f"{what} cannot be started: {error.strerror}") from None
    if done.returncode:
        said = "; ".join(_complaints(path)) or f"exit status {done.returncode}"
        raise DeviceError(f"{what} failed: {said}; its log is {path}")


def _complaints(log: Path) -> list[str]:
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return ([line for line in lines if "ERROR" in line] or lines)[-_MESSAGE_LINES:]


def _digest(texts: Iterable[str], files: Iterable[Path]) -> str:
    total = hashlib.sha256()
    for text in texts:
        total.update(text.encode() + b"\0")
    for path in files:
        with suppress(FileNotFoundError):
            total.update(hashlib.sha256(path.read_bytes()).digest())
            continue
        total.update(b"missing")
    return total.hexdigest()


def _read_record(path: Path) -> dict[str, Any]:
    """The record; what is damaged or not there counts as nothing."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    fields = {"inputs", "outputs", "seconds"}
    if not isinstance(values, dict) or not all(isinstance(entry, dict) and set(entry) == fields for entry in values.values()):
        return {}
    return values
