"""Hardware and schedules that nobody would choose, and that must give the same bits all the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from vta.config.hardware import HardwareConfig
from vta.errors import ConfigError
from vta.schedule.choose import choose_schedule
from vta.schedule.resources import broken_limits
from vta.schedule.schedule import Schedule
from vta.tile.gemm_operator import GemmOperator


@st.composite
def odd_configs(draw: st.DrawFn) -> HardwareConfig:
    """Any legal geometry, most with buffers of a few rows."""
    target = draw(st.sampled_from(("sim", "pynq", "tsim", "intelfocl")))
    while True:
        batch, block = draw(st.integers(0, 4)), draw(st.integers(2, 6))
        wide = draw(st.sampled_from((5, 5, 5, 4)))
        element = {"uop": 2, "inp": batch + block, "wgt": 2 * block, "acc": batch + block + wide - 3}
        rows = {name: draw(st.one_of(st.integers(1, 4), st.integers(1, 11))) for name in element}
        sizes = {f"log_{name}_buff_size": min(30, element[name] + rows[name]) for name in element}
        try:
            return HardwareConfig(target, "0.0.2", 3, 3, wide, batch, block, **sizes)
        except ConfigError:
            continue


def random_chooser(seed: int) -> Callable[[GemmOperator, HardwareConfig], Schedule]:
    """Chooses any schedule that fits."""
    rng = np.random.default_rng(seed)

    def choose(operator: GemmOperator, hw: HardwareConfig) -> Schedule:
        chosen = choose_schedule(operator, hw)
        for _ in range(20):
            drawn = _drawn(operator.flattened if chosen.flat else operator, chosen, rng)
            cut = operator.flattened if drawn.flat else operator
            if not broken_limits(cut, drawn, hw):
                return drawn
        return chosen

    return choose


def _drawn(operator: GemmOperator, chosen: Schedule, rng: np.random.Generator) -> Schedule:
    def pick(most: int) -> int:
        return int(rng.integers(1, most + 1))

    out, terms = operator.output, operator.terms
    return replace(
        chosen,
        tile_co=pick(out.blocks),
        tile_h=pick(out.height),
        tile_w=pick(out.width),
        tile_ci=pick(max(term.source.blocks for term in terms)),
        tile_kh=pick(max(term.kernel[0] for term in terms)),
        tile_kw=pick(max(term.kernel[1] for term in terms)),
        inp_slots=pick(4),
        wgt_slots=pick(4),
        acc_slots=pick(2),
        weights_outer=bool(pick(2) - 1),
        skip_padding=bool(pick(2) - 1),
    )
