"""What holds for every traffic, for as many cycles as fill and empty a small queue several times."""

import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")
pytest.importorskip("pyosys", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.hdl import Module, Mux, Signal

from tests.hardware.formal.bounded import counterexample
from vta.hardware.control.tokens import TokenQueue
from vta.hardware.memories.queue import Queue
from vta.hardware.system.slices import StreamSlice

CYCLES = 10


def watched(m, tail, head, inputs, always_ready):
    """One payload, chosen by `which`, is told from all others: it is the only one with a 1. It has to come out as the same."""
    which, pushed, popped = Signal(3, name="which"), Signal(5), Signal(5)
    chosen, started, holds = Signal(3), Signal(), Signal(name="holds")
    offer, take, room = Signal(name="offer"), Signal(name="take"), Signal(init=1)
    target = Mux(started, chosen, which)
    m.d.sync += [started.eq(1), chosen.eq(target)]
    if always_ready:
        m.d.comb += room.eq(pushed - popped < always_ready)
    push, pop = offer & room & tail.ready, head.valid & take
    m.d.comb += [
        tail.valid.eq(offer & room),
        tail.payload.eq(pushed == target),
        head.ready.eq(take),
        holds.eq(~head.valid | (head.payload == (popped == target))),
    ]
    m.d.sync += [pushed.eq(pushed + push), popped.eq(popped + pop)]
    return [*inputs, which, offer, take], holds, pushed - popped


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_what_enters_a_queue_leaves_it_once_and_in_order(depth, tmp_path):
    m = Module()
    m.submodules.queue = queue = Queue(shape=1, depth=depth)
    inputs, order, held = watched(m, queue.tail, queue.head, [], 0)
    holds = Signal(name="all_holds")
    m.d.comb += holds.eq(order & (queue.tail.ready == (held != depth)) & (queue.head.valid == (held != 0)))
    assert not counterexample(m, inputs, holds, CYCLES, tmp_path)


def test_a_queue_whose_writer_counts(tmp_path):
    m = Module()
    m.submodules.queue = queue = Queue(shape=1, depth=3, always_ready=True)
    inputs, holds, _ = watched(m, queue.tail, queue.head, [], 3)
    assert not counterexample(m, inputs, holds, CYCLES, tmp_path)


def test_a_slice_keeps_order_and_what_it_shows(tmp_path):
    m = Module()
    m.submodules.slices = slices = StreamSlice(1)
    inputs, order, held = watched(m, slices.given, slices.taken, [], 0)
    kept, shown, holds = Signal(), Signal(), Signal(name="all_holds")
    m.d.sync += [kept.eq(slices.taken.valid & ~slices.taken.ready), shown.eq(slices.taken.payload)]
    stays = ~kept | (slices.taken.valid & (slices.taken.payload == shown))
    m.d.comb += holds.eq(order & stays & (held <= 2) & (slices.given.ready | (held == 2)))
    assert not counterexample(m, inputs, holds, CYCLES, tmp_path)


def test_tokens_are_neither_lost_nor_made(tmp_path):
    m, limit = Module(), 3
    m.submodules.queue = queue = TokenQueue(limit=limit)
    give, take, holds = Signal(name="give"), Signal(name="take"), Signal(name="holds")
    count = Signal(8)
    taken = take & queue.taken.valid
    m.d.comb += [
        queue.given.valid.eq(give),
        queue.taken.ready.eq(take),
        holds.eq(
            (queue.register.count == count)
            & (queue.taken.valid == (count != 0))
            & (queue.overflow == (give & ~taken & (count == limit)))
        ),
    ]
    m.d.sync += count.eq(count + (give & ~queue.overflow) - taken)
    assert not counterexample(m, [give, take], holds, CYCLES, tmp_path)


def test_what_does_not_hold_is_found_out(tmp_path):
    """A writer that thinks the queue is larger than it is."""
    m = Module()
    m.submodules.queue = queue = Queue(shape=1, depth=2, always_ready=True)
    inputs, holds, _ = watched(m, queue.tail, queue.head, [], 5)
    assert "proof did fail" in counterexample(m, inputs, holds, CYCLES, tmp_path)
