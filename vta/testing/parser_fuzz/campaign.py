"""Many mutants of many files, in worker processes: who fails, and on what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from pathlib import Path
from time import monotonic

from vta.autotune.measure.workers import Crashed, Finished, Outcome, TimedOut, WorkerPool
from vta.support.dataclass import dataclass
from vta.support.on_cores import usable_cores
from vta.testing.parser_fuzz.parsers import PARSERS, Parser
from vta.testing.parser_fuzz.shrink import shrink
from vta.testing.parser_fuzz.worker import Chunk, Given, Limits, Verdict, judge_chunk, judge_given, mutant

__all__ = ["Failure", "Summary", "fuzz_parsers"]

_CHUNK = 20
_PATIENCE = 30.0
"""A worker that is busy for so many times as long as one file may take has stopped listening to its timer."""
_SHRINK_TRIES = 300


@dataclass(frozen=True)
class Failure:
    """A mutant that was neither read nor refused as it should be."""

    parser: str
    seed: int
    index: int
    kind: str
    detail: str
    content: bytes
    """As small as it could be made."""

    @property
    def name(self) -> str:
        """The name of the file that holds it."""
        return f"{self.parser}-{self.seed}-{self.index}{PARSERS[self.parser].suffix}"


@dataclass
class Summary:
    """What a campaign found."""

    mutants: Counter[str] = field(default_factory=Counter)
    """By parser, those that were judged."""
    refused: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)


def fuzz_parsers(
    seeds: Mapping[str, Sequence[Path]],
    mutants: int,
    seed: int,
    limits: Limits,
    limit_seconds: float | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    report: Callable[[Failure], None] = lambda failure: None,
) -> Summary:
    """Judge `mutants` mutants of the files in `seeds`, by parser, until done or `limit_seconds` are over.

    `report` is told each failure, once for each parser and kind, made small.
    """
    summary = Summary()
    chunks = _chunks(seeds, mutants, seed, limits)
    started, count = monotonic(), jobs or usable_cores()
    with WorkerPool(count) as pool:
        while batch := list(islice(chunks, 4 * count)):
            if limit_seconds is not None and monotonic() - started > limit_seconds:
                break
            progress(summary.mutants.total(), mutants)
            outcomes = pool.map(judge_chunk, batch, limits.seconds * _PATIENCE)
            for chunk, outcome in zip(batch, outcomes, strict=True):
                for verdict in _verdicts(pool, chunk, outcome):
                    _count(pool, summary, chunk, verdict, report)
    return summary


def _chunks(seeds: Mapping[str, Sequence[Path]], mutants: int, seed: int, limits: Limits) -> Iterator[Chunk]:
    """All parsers in turn, a large one more often."""
    turns = [name for name in seeds for _ in range(PARSERS[name].weight)]
    first: Counter[str] = Counter()
    left, turn = mutants, 0
    while left > 0:
        name = turns[turn % len(turns)]
        size = min(_CHUNK, left)
        yield Chunk(name, tuple(map(str, seeds[name])), seed, first[name], size, limits)
        first[name] += size
        left -= size
        turn += 1


def _verdicts(pool: WorkerPool, chunk: Chunk, outcome: Outcome) -> list[Verdict]:
    if isinstance(outcome, Finished):
        verdicts: list[Verdict] = outcome.value
        return verdicts
    if not isinstance(outcome, (Crashed, TimedOut)):
        raise RuntimeError(f"the fuzzer itself failed: {outcome.message}")
    if chunk.count == 1:
        kind = "crash" if isinstance(outcome, Crashed) else "hang"
        return [Verdict(chunk.first, kind, outcome.message)]
    # One of them took the worker with it: each by itself.
    alone = [
        Chunk(chunk.parser, chunk.seeds, chunk.seed, index, 1, chunk.limits)
        for index in range(chunk.first, chunk.first + chunk.count)
    ]
    outcomes = pool.map(judge_chunk, alone, chunk.limits.seconds * _PATIENCE)
    return [verdict for single, ended in zip(alone, outcomes, strict=True) for verdict in _verdicts(pool, single, ended)]


def _count(pool: WorkerPool, summary: Summary, chunk: Chunk, verdict: Verdict, report: Callable[[Failure], None]) -> None:
    summary.mutants[chunk.parser] += 1
    summary.refused[chunk.parser] += verdict.refused
    if not verdict.failure:
        return
    parser = PARSERS[chunk.parser]
    content = mutant(parser, [Path(path).read_bytes() for path in chunk.seeds], chunk.seed, verdict.index)
    detail = _end_of(verdict.detail)
    same = (parser.name, verdict.failure, _place(detail))
    known = any((other.parser, other.kind, _place(other.detail)) == same for other in summary.failures)
    if not known and verdict.failure not in ("crash", "hang", "slow"):
        content = _smaller(pool, parser, content, verdict.failure, chunk.limits)
    failure = Failure(parser.name, chunk.seed, verdict.index, verdict.failure, detail, content)
    summary.failures.append(failure)
    if not known:
        report(failure)


def _place(detail: str) -> str:
    """Where in our code a failure is, as a traceback tells it."""
    return next((line for line in reversed(detail.splitlines()) if "/vta/" in line), "")


def _end_of(detail: str) -> str:
    """The end of a traceback, or the message."""
    lines = [line for line in detail.splitlines() if "~~" not in line and "^^" not in line]
    return "\n".join(lines[-7:])[:2000]


def _smaller(pool: WorkerPool, parser: Parser, content: bytes, kind: str, limits: Limits) -> bytes:
    def fails(smaller: bytes) -> bool:
        (outcome,) = pool.map(judge_given, [Given(parser.name, smaller, limits)], limits.seconds * _PATIENCE)
        return isinstance(outcome, Finished) and outcome.value.failure == kind

    return shrink(content, fails, _SHRINK_TRIES)
