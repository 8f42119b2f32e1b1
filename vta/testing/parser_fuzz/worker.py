"""The life of a mutant: made, read by the parser, judged. Runs in worker processes, which have little memory."""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from vta.errors import VTAError
from vta.support.dataclass import dataclass
from vta.testing.parser_fuzz.parsers import PARSERS, Parser

__all__ = ["Chunk", "Given", "Limits", "Verdict", "judge_chunk", "judge_given", "mutant"]

_LONGEST_MESSAGE = 20_000
_MOST_MUTATIONS = 4


@dataclass(frozen=True)
class Limits:
    """What a parser may use on one file."""

    seconds: float
    """Of the processor's time."""
    memory_bytes: int
    """More than the process has before."""


@dataclass(frozen=True)
class Verdict:
    """What a parser did with one mutant."""

    index: int
    failure: str = ""
    """What kind of failure it is; empty for none."""
    detail: str = ""
    """The error's text or traceback."""
    refused: bool = False
    """Whether it was refused, as it should be, rather than read."""


@dataclass(frozen=True)
class Chunk:
    """Mutants to make and judge: numbers `first` and on, as many as `count`, of the seed files of a parser."""

    parser: str
    seeds: tuple[str, ...]
    seed: int
    first: int
    count: int
    limits: Limits


@dataclass(frozen=True)
class Given:
    """Bytes to judge, as often as there are."""

    parser: str
    content: bytes
    limits: Limits


class _TooSlow(BaseException):
    """Raised by the timer, whatever is running."""


def mutant(parser: Parser, seeds: Sequence[bytes], seed: int, index: int) -> bytes:
    """The bytes of a mutant; the same for the same arguments."""
    rng = Random(f"{parser.name} {seed} {index}")
    content = rng.choice(seeds)
    for _ in range(rng.randint(1, _MOST_MUTATIONS)):
        content = rng.choice(parser.mutations)(content, rng, seeds)
    return content


def judge_chunk(chunk: Chunk) -> list[Verdict]:
    """Make and judge the mutants of a chunk; returns a verdict on each."""
    parser = PARSERS[chunk.parser]
    seeds = [Path(path).read_bytes() for path in chunk.seeds]
    _warm_up(parser, seeds)
    indices = range(chunk.first, chunk.first + chunk.count)
    return [_judged(parser, mutant(parser, seeds, chunk.seed, index), index, chunk.limits) for index in indices]


def judge_given(given: Given) -> Verdict:
    """Judge bytes."""
    return _judged(PARSERS[given.parser], given.content, 0, given.limits)


_warm: set[str] = set()


def _warm_up(parser: Parser, seeds: Sequence[bytes]) -> None:
    """Read good files, without limits, so that imports count for no mutant."""
    if parser.name not in _warm:
        for content in seeds:
            with contextlib.suppress(VTAError), _written(parser, content) as path:
                parser.read(path)
        _warm.add(parser.name)


def _judged(parser: Parser, content: bytes, index: int, limits: Limits) -> Verdict:
    with _written(parser, content) as path:
        try:
            with _limited(limits), _quietly():
                parser.read(path)
        except VTAError as error:
            failure = _fault_of(error, path)
            return Verdict(index, failure, str(error) if failure else "", refused=True)
        except _TooSlow:
            return Verdict(index, "slow", traceback.format_exc(limit=-6))
        except MemoryError:
            return Verdict(index, "memory", traceback.format_exc(limit=-6))
        except Exception as error:
            return Verdict(index, type(error).__name__, traceback.format_exc(limit=-6))
    return Verdict(index)


def _fault_of(error: VTAError, path: Path) -> str:
    """What is wrong with how a file was refused."""
    text = str(error)
    if any(isinstance(cause, MemoryError) for cause in _behind(error)):
        return "memory"
    if not any(str(part) in text for part in (path.name, path.parent)):
        return "message does not name the file"
    if len(text) > _LONGEST_MESSAGE:
        return "long message"
    return ""


def _behind(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it came from."""
    while error is not None:
        yield error
        error = error.__context__


@contextlib.contextmanager
def _written(parser: Parser, content: bytes) -> Iterator[Path]:
    """A file of the content in a folder of its own, with what the parser needs beside it."""
    with tempfile.TemporaryDirectory(prefix="vta-fuzz-") as folder:
        path = Path(folder) / (parser.suffix if parser.suffix[0] not in ".-" else f"mutant{parser.suffix}")
        for name, data in parser.beside.items():
            (Path(folder) / name).write_bytes(data)
        path.write_bytes(content)
        yield path


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without warnings and remarks: readers that skip something say so."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def _limited(limits: Limits) -> Iterator[None]:
    def too_slow(*_: object) -> None:
        raise _TooSlow

    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    old = signal.signal(signal.SIGPROF, too_slow)
    resource.setrlimit(resource.RLIMIT_AS, (pages * os.sysconf("SC_PAGE_SIZE") + limits.memory_bytes, before[1]))
    signal.setitimer(signal.ITIMER_PROF, limits.seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, before)
        signal.signal(signal.SIGPROF, old)
        sys.stdout.flush()
