"""Runs many random programs and collects where engines disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field
from random import Random
from time import monotonic

from vta.config.timing import TimingParameters
from vta.isa import Program
from vta.isa.assembly import disassemble
from vta.isa.verify import require_verified
from vta.support.dataclass import dataclass
from vta.testing.fuzz.engines import Difference, compare, run_engines
from vta.testing.fuzz.generator import random_program
from vta.testing.fuzz.points import Point, vary_memory
from vta.testing.fuzz.shrink import shrink

__all__ = ["KINDS", "Failure", "Summary", "case_of", "fuzz"]

KINDS = ("bits", "cycles", "counters")


@dataclass(frozen=True)
class Failure:
    """A program on which engines disagree."""

    seed: int
    point: Point
    timing: TimingParameters
    differences: tuple[Difference, ...]
    program: Program
    """As small as the shrinker got it."""

    def reproducer(self) -> str:
        """The program as text assembly; what went wrong, and with which timing, in comments."""
        notes = [f"; {difference.kind}: {difference.message}" for difference in self.differences]
        return "\n".join(
            [f"; seed {self.seed}, {self.point.name}", f"; timing {self.timing.to_json()}", *notes, ""]
        ) + disassemble(self.program)


@dataclass
class Summary:
    """What a campaign found."""

    programs: int = 0
    instructions: int = 0
    cycles: int = 0
    """Of all programs, on the first engine that counts them."""
    mismatches: Counter[str] = field(default_factory=Counter)
    """Programs that differ, by kind: bits, cycles, counters."""
    failures: list[Failure] = field(default_factory=list)


def case_of(point: Point, seed: int) -> tuple[Program, TimingParameters]:
    """The program of `seed` on `point`, and the timing to run it with."""
    timing = vary_memory(point.timing, Random(f"memory {seed}"))
    return random_program(point.hw, seed, timing.queue_depth), timing


def fuzz(
    points: Sequence[Point],
    engines: Sequence[str],
    seeds: Sequence[int],
    limit_seconds: float | None = None,
    shrink_seconds: float = 60.0,
    progress: Callable[[int, int], None] = lambda done, total: None,
    report: Callable[[Failure], None] = lambda failure: None,
) -> Summary:
    """Run the program of each seed on `engines`, on point number seed mod their count, until done or `limit_seconds` are over.

    `progress` is called before each program, `report` with each failure as it is found.
    Raises `VerificationError` if the verifier refuses a program: then the generator or the verifier is wrong.
    """
    summary = Summary()
    started = monotonic()
    for done, seed in enumerate(seeds):
        if limit_seconds is not None and monotonic() - started > limit_seconds:
            break
        progress(done, len(seeds))
        failure = _run_case(summary, points[seed % len(points)], seed, engines, shrink_seconds)
        if failure is not None:
            summary.failures.append(failure)
            report(failure)
    return summary


def _run_case(summary: Summary, point: Point, seed: int, engines: Sequence[str], shrink_seconds: float) -> Failure | None:
    program, timing = case_of(point, seed)
    require_verified(program)
    outcomes = run_engines(program, timing, engines)
    summary.programs += 1
    summary.instructions += len(program.instructions)
    summary.cycles += next((outcome.cycles for outcome in outcomes if outcome.cycles is not None), 0)
    differences = compare(outcomes)
    if not differences:
        return None
    kinds = {difference.kind for difference in differences}
    summary.mismatches.update(kinds)

    def fails(candidate: Program) -> bool:
        return bool(kinds & {difference.kind for difference in compare(run_engines(candidate, timing, engines))})

    small = shrink(program, fails, shrink_seconds) if shrink_seconds > 0 else program
    found = tuple(compare(run_engines(small, timing, engines)))
    return Failure(seed, point, timing, found or tuple(differences), small)
