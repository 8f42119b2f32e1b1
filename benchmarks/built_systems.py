"""Tables of the systems that were placed and routed: those of docs/bitstreams.md, from the reports in bitstreams/builds.

    python -m benchmarks.built_systems

Nothing is built. The first table has what each system takes and how fast it runs, beside the clock that is estimated from all
other systems; the second the seconds of the stages of its build.
"""

from __future__ import annotations

from benchmarks.core_resources import markdown
from vta.bitstream.clock.build_report import BuildReport, built_systems
from vta.bitstream.clock.estimate import estimated_from_others, shipped_estimator
from vta.bitstream.stages import STAGES
from vta.config.files import shipped_configs
from vta.config.hardware import HardwareConfig

__all__ = ["clock_rows", "error_words", "second_rows"]


def clock_rows() -> list[list[str]]:
    """A row a system."""
    estimated = {id(report): mhz for report, mhz in estimated_from_others(_without_ethernet())}
    rows = []
    for report in built_systems():
        found, mhz = report.resources, estimated.get(id(report))
        guess = f"{mhz:.1f}, {mhz / report.fmax_mhz - 1:+.1%}" if mhz else ""
        counts = (f"{count:,}" for count in (found.lut, found.ff, found.dsp, found.bram))
        rows.append([*_names(report), *counts, f"{report.wanted_mhz:g}", f"{report.fmax_mhz:.1f}", guess])
    counted = ["look-up tables", "flip-flops", "multipliers", "memories"]
    return [["config", "board", *counted, "MHz wanted", "MHz", "estimated from other systems"], *rows]


def second_rows() -> list[list[str]]:
    """A row a system."""
    rows = []
    for report in built_systems():
        seconds = [report.seconds[stage] for stage in STAGES]
        rows.append([*_names(report), f"{report.wanted_mhz:g}", *(f"{time:,.0f}" for time in (*seconds, sum(seconds)))])
    return [["config", "board", "MHz wanted", *(f"`{stage}`" for stage in STAGES), "all"], *rows]


def error_words() -> str:
    """How far estimates are off, and of how many builds that is known."""
    known = shipped_estimator()
    assert known is not None, "there are reports"
    reports = _without_ethernet()
    errors = [abs(mhz / report.fmax_mhz - 1) for report, mhz in estimated_from_others(reports)]
    counts = f"{len(errors)} builds of {len({report.system for report in reports})} systems"
    return f"{counts}, off by {known[1]:.1%} on average and {max(errors):.1%} at most"


def _without_ethernet() -> list[BuildReport]:
    return [report for report in built_systems() if not report.ethernet]


def _names(report: BuildReport) -> tuple[str, str]:
    """Of the shipped config with the core, or else of its bitstream; and of the board, with its link."""
    same = [name for name in shipped_configs() if HardwareConfig.named(name).bitstream == report.config.bitstream]
    return f"`{(same or [report.config.bitstream])[0]}`", f"`{report.board}`{', Ethernet' if report.ethernet else ''}"


def main() -> None:
    """Print both tables, and how far estimates are off."""
    print(markdown(clock_rows()), markdown(second_rows()), error_words(), sep="\n\n")


if __name__ == "__main__":
    main()
