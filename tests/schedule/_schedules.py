"""Schedules at random."""

from hypothesis import strategies as st

from vta.schedule.schedule import Schedule

_HIGHEST = {"tile_co": 3, "tile_h": 5, "tile_w": 8, "tile_ci": 3, "tile_kh": 3, "tile_kw": 3}
_MOST_SLOTS = {"inp_slots": 6, "wgt_slots": 6, "acc_slots": 2}


@st.composite
def schedules(draw):
    """Small tiles; whether anything has room for them is another matter."""
    sizes = {name: draw(st.integers(1, high)) for name, high in (_HIGHEST | _MOST_SLOTS).items()}
    return Schedule(**sizes, weights_outer=draw(st.booleans()))
