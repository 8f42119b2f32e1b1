"""What would make a network faster: each way against the causes that it is for, with the cycles that are expected of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from vta.config.targets import TARGETS
from vta.explanation.causes import Cause
from vta.explanation.counted import requantized_in, with_depthwise_unit
from vta.explanation.explanation import Explanation
from vta.explanation.searched import searched_cycles
from vta.explanation.suggestion import Estimate, Kind, Suggestion
from vta.explanation.what_if import WhatIf
from vta.records.shipped import ShippedSchedules

__all__ = ["suggestions"]

_LEAST_GAIN = 0.002
"""Of the cycles: what saves less is not worth a line."""
_WIDEST_BUS = 512
_SCALING = (Cause.REQUANTIZATION, Cause.CLIPS, Cause.STARTS, Cause.CONSTANT_LOADS)
_MEMORY = (Cause.BUS_WIDTH, Cause.MEMORY_LATENCY, Cause.TOKENS, Cause.FILL, Cause.DRAIN)
_TRAFFIC = (*_MEMORY, Cause.UOP_LOADS, Cause.CONSTANT_LOADS, Cause.STARTS, Cause.ISSUE)
_BUFFERS = ("LOG_INP_BUFF_SIZE", "LOG_WGT_BUFF_SIZE", "LOG_ACC_BUFF_SIZE")


def suggestions(told: Explanation, what_if: WhatIf) -> list[Suggestion]:
    """What helps by at least a little, the fewest cycles first."""
    ways: tuple[Callable[[WhatIf], Iterator[Suggestion]], ...] = (
        _bus,
        _schedules,
        _search,
        _buffers,
        _blocks,
        _units,
        _rescaling,
    )
    found = [suggestion for way in ways for suggestion in way(what_if)]
    worth = [suggestion for suggestion in found if suggestion.gain_cycles >= max(1, _LEAST_GAIN * told.total)]
    helping = [suggestion for suggestion in worth if any(told.lost[cause] for cause in suggestion.causes)]
    return sorted(helping, key=lambda suggestion: suggestion.predicted_cycles)


def _made(
    what_if: WhatIf,
    kind: Kind,
    change: dict[str, int | str],
    causes: tuple[Cause, ...],
    predicted: int | None,
    estimate: Estimate,
    how: str,
) -> Iterator[Suggestion]:
    if predicted is not None:
        name = next(iter(change), "tune")
        yield Suggestion(kind, name, change, causes, predicted, what_if.total - predicted, estimate, how)


def _bus(what_if: WhatIf) -> Iterator[Suggestion]:
    """A bus of twice the width, for the program as it is."""
    timing = what_if.timing
    bits = 2 * timing.bus_bits
    if bits > _WIDEST_BUS:
        return
    burst = min(timing.burst_beats, timing.burst_beats * timing.bus_bits * 8 // bits)
    predicted = what_if.same_program(replace(timing, bus_bits=bits, burst_beats=burst))
    how = "give the accelerator a memory bus of twice the width"
    change: dict[str, int | str] = {"bus_bits": bits}
    yield from _made(
        what_if, Kind.TIMING, change, (*_MEMORY, Cause.CONSTANT_LOADS, Cause.UOP_LOADS), predicted, Estimate.SAME_PROGRAM, how
    )


def _schedules(what_if: WhatIf) -> Iterator[Suggestion]:
    """The fastest of the schedules that come with the package."""
    predicted = what_if.with_schedules(ShippedSchedules(fastest=True))
    how = "compile with {schedules=vta.schedules(fastest=True)}"
    yield from _made(
        what_if, Kind.OPTION, {"schedules": "fastest"}, (Cause.ZERO_PADDING, *_TRAFFIC), predicted, Estimate.COMPILED, how
    )


def _search(what_if: WhatIf) -> Iterator[Suggestion]:
    """Other schedules."""
    predicted = searched_cycles(what_if)
    how = "look for faster schedules with {tune}, and compile with what it records"
    yield from _made(what_if, Kind.SCHEDULE, {}, (Cause.ZERO_PADDING, *_TRAFFIC), predicted, Estimate.SEARCHED, how)


def _buffers(what_if: WhatIf) -> Iterator[Suggestion]:
    """A buffer of twice the size; where its addresses do not fit a micro-op any more, one of half the size beside it."""
    for key in ("LOG_UOP_BUFF_SIZE", *_BUFFERS):
        yield from _config(what_if, {key: 1}, _TRAFFIC)
        for other in _BUFFERS:
            if key in _BUFFERS and other != key and what_if.with_config(_stepped(what_if, {key: 1})) is None:
                yield from _config(what_if, {key: 1, other: -1}, _TRAFFIC)


def _blocks(what_if: WhatIf) -> Iterator[Suggestion]:
    """Blocks of twice the size."""
    causes = (Cause.CHANNEL_PADDING, Cause.DEPTHWISE, *_SCALING, *_MEMORY)
    yield from _config(what_if, {"LOG_BLOCK": 1}, causes, ", which has four times the multipliers")


def _units(what_if: WhatIf) -> Iterator[Suggestion]:
    """Units of our own core that the config does not have, but can."""
    hw = what_if.hw
    if not TARGETS[hw.target].extensible:
        return
    if not hw.capabilities.requantize:
        predicted = what_if.with_requantize_unit()
        how = "compile for a config with `REQUANTIZE_UNIT` (isa-extensions.md)"
        yield from _made(what_if, Kind.CONFIG, {"REQUANTIZE_UNIT": 1}, _SCALING, predicted, Estimate.COMPILED, how)
    if not hw.capabilities.depthwise:
        predicted = with_depthwise_unit(what_if.regions, what_if.total)
        how = "compile for a config with `DEPTHWISE_UNIT` (isa-extensions.md)"
        yield from _made(what_if, Kind.CONFIG, {"DEPTHWISE_UNIT": 1}, (Cause.DEPTHWISE,), predicted, Estimate.COUNTED, how)


def _rescaling(what_if: WhatIf) -> Iterator[Suggestion]:
    """Fewer passes for networks that came quantised."""
    for name in ("close", "shift"):
        predicted = requantized_in(what_if.regions, what_if.total, name)
        how = f"compile with {{requantize='{name}'}}: results are no longer those of the source framework byte for byte"
        yield from _made(what_if, Kind.OPTION, {"requantize": name}, _SCALING, predicted, Estimate.COUNTED, how)


def _config(what_if: WhatIf, steps: dict[str, int], causes: tuple[Cause, ...], more: str = "") -> Iterator[Suggestion]:
    change = _stepped(what_if, steps)
    predicted = what_if.with_config(change)
    how = "compile for a config with " + ", ".join(f"`{key}` {value}" for key, value in change.items()) + more
    yield from _made(what_if, Kind.CONFIG, {**change}, causes, predicted, Estimate.COMPILED, how)


def _stepped(what_if: WhatIf, steps: dict[str, int]) -> dict[str, int]:
    """New values of some keys, by how much they change."""
    return {key: getattr(what_if.hw, key.lower()) + step for key, step in steps.items()}
