"""The verifier's verdicts against a search through every interleaving of tiny random programs."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.isa.builders import build, shipped
from vta.isa import Program, SymbolKind, Unit, units_of
from vta.isa import verify as verify_module
from vta.isa.findings import FindingKind, Queue

HW = shipped("sim")
# Queue: producer, its flag, consumer, its flag.
QUEUES = {
    Queue.LOAD_TO_COMPUTE: (Unit.LOAD, "push_next", Unit.COMPUTE, "pop_prev"),
    Queue.COMPUTE_TO_LOAD: (Unit.COMPUTE, "push_prev", Unit.LOAD, "pop_next"),
    Queue.COMPUTE_TO_STORE: (Unit.COMPUTE, "push_next", Unit.STORE, "pop_prev"),
    Queue.STORE_TO_COMPUTE: (Unit.STORE, "push_prev", Unit.COMPUTE, "pop_next"),
}
TOKEN_LIMIT = 2
OUT_PAGE = 256  # element index of page 1 for 16-byte elements


@dataclass(frozen=True)
class Step:
    """One instruction: its text without flags, and the shared cells that it reads and writes."""

    text: str
    unit: Unit
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()

    def conflicts(self, other: Step) -> set[str]:
        cells = (self.writes & (other.reads | other.writes)) | (other.writes & self.reads)
        return {cell.partition("/")[0] for cell in cells}


def load_step(row: int, cell: int) -> Step:
    text = f"load inp sram={row} dram={OUT_PAGE + cell} y=1 x=1 stride=1"
    return Step(text, Unit.LOAD, frozenset({f"dram/{cell}"}), frozenset({f"sram/inp{row}"}))


def gemm_step(dst: int, src: int) -> Step:
    uop = 2 * dst + src
    text = f"gemm uop={uop}:{uop + 1} loop=1,1"
    return Step(text, Unit.COMPUTE, frozenset({f"sram/inp{src}"}), frozenset({f"sram/out{dst}"}))


def acc_step() -> Step:
    cells = frozenset(f"dram/{cell}" for cell in range(4))
    return Step(f"load acc sram=5 dram={OUT_PAGE // 4} y=1 x=1 stride=1", Unit.COMPUTE, cells)


def store_step(row: int, cell: int) -> Step:
    text = f"store out sram={row} dram={OUT_PAGE + cell} y=1 x=1 stride=1"
    return Step(text, Unit.STORE, frozenset({f"sram/out{row}"}), frozenset({f"dram/{cell}"}))


bit = st.integers(0, 1)
steps = st.one_of(
    st.builds(load_step, bit, bit), st.builds(gemm_step, bit, bit), st.builds(store_step, bit, bit), st.builds(acc_step)
)


@dataclass
class Case:
    steps: list[Step]
    flags: list[set[str]] = field(default_factory=list)

    def program(self) -> Program:
        lines = ["load uop sram=0 dram=0 y=1 x=4 stride=4"]
        for step, flags in zip(self.steps, self.flags, strict=True):
            words = [step.text]
            for action in ("pop", "push"):
                sides = sorted(flag.partition("_")[2] for flag in flags if flag.startswith(action))
                words += [f"{action}={','.join(sides)}"] if sides else []
            lines.append(" ".join(words))
        uops = [(dst, src, 0) for dst in range(2) for src in range(2)]
        return build(HW, "\n".join([*lines, "finish"]), uops, out=SymbolKind.SCRATCH)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Random steps, tokens between random pairs of them, and now and then a flag that matches nothing."""
    case = Case(draw(st.lists(steps, min_size=2, max_size=7)))
    case.flags = [set() for _ in case.steps]
    for _ in range(draw(st.integers(0, 6))):
        push = draw(st.integers(0, len(case.steps) - 1))
        pop = draw(st.integers(0, len(case.steps) - 1))
        for producer, push_flag, consumer, pop_flag in QUEUES.values():
            if case.steps[push].unit == producer and case.steps[pop].unit == consumer:
                case.flags[push].add(push_flag)
                if draw(st.integers(0, 9)):
                    case.flags[pop].add(pop_flag)
    return case


@dataclass
class Verdict:
    """What some interleaving can do."""

    deadlock: bool = False
    races: set[str] = field(default_factory=set)
    most_tokens: dict[Queue, int] = field(default_factory=lambda: dict.fromkeys(Queue, 0))
    left: dict[Queue, int] = field(default_factory=dict)
    finish_early: bool = False


def explore(case: Case, tokens: dict[Queue, int]) -> Verdict:
    """Visit every state: how many instructions each unit has completed, and whether it is inside the next one."""
    program = case.program()
    records, units = program.instructions, units_of(program.instructions)
    lists = [[index for index in range(len(records)) if units[index] == unit] for unit in Unit]
    steps = [Step("", Unit.COMPUTE), *case.steps, Step("", Unit.COMPUTE)]

    def used(unit: Unit, flag: str, count: int) -> int:
        return sum(int(records[flag][index]) for index in lists[unit][:count])

    def held(done: tuple[int, ...], started: tuple[int, ...], queue: Queue) -> int:
        producer, push, consumer, pop = QUEUES[queue]
        return tokens[queue] + used(producer, push, done[producer]) - used(consumer, pop, started[consumer])

    verdict = Verdict()
    start = ((0, 0, 0), (0, 0, 0))
    seen, waiting = {start}, [start]
    while waiting:
        done, started = waiting.pop()
        running = [lists[unit][done[unit]] for unit in Unit if started[unit] > done[unit]]
        for queue in Queue:
            verdict.most_tokens[queue] = max(verdict.most_tokens[queue], held(done, started, queue))
        for place, first in enumerate(running):
            for second in running[place + 1 :]:
                verdict.races |= steps[first].conflicts(steps[second])
        finishing = len(records) - 1 in running
        if finishing and any(done[unit] < len(lists[unit]) for unit in (Unit.LOAD, Unit.STORE)):
            verdict.finish_early = True
        following = []
        for unit in Unit:
            if started[unit] > done[unit]:
                following.append((tuple(d + (u == unit) for u, d in enumerate(done)), started))
            elif started[unit] < len(lists[unit]):
                begun = tuple(s + (u == unit) for u, s in enumerate(started))
                if all(held(done, begun, queue) >= 0 for queue in Queue):
                    following.append((done, begun))
        if not following and any(done[unit] < len(lists[unit]) for unit in Unit):
            verdict.deadlock = True
        if not following:
            verdict.left = {queue: held(done, started, queue) for queue in Queue}
        for state in following:
            if state not in seen:
                seen.add(state)
                waiting.append(state)
    return verdict


@settings(deadline=None, max_examples=300)
@given(cases(), st.fixed_dictionaries(dict.fromkeys(Queue, st.sampled_from((0, 0, 0, 1)))))
def test_verdicts_equal_those_of_every_interleaving(case, tokens):
    expected = explore(case, tokens)
    verify_module.TOKEN_LIMIT, limit = TOKEN_LIMIT, verify_module.TOKEN_LIMIT
    try:
        findings = verify_module.verify(case.program(), tokens)
    finally:
        verify_module.TOKEN_LIMIT = limit
    found = {kind: [finding for finding in findings if finding.kind is kind] for kind in FindingKind}
    assert bool(found[FindingKind.DEADLOCK]) == expected.deadlock
    assert bool(found[FindingKind.SRAM_RACE]) == ("sram" in expected.races)
    assert bool(found[FindingKind.DRAM_RACE]) == ("dram" in expected.races)
    overflows = {finding.queue: finding.count for finding in found[FindingKind.TOKEN_OVERFLOW]}
    assert set(overflows) == {queue for queue, most in expected.most_tokens.items() if most > TOKEN_LIMIT}
    if not expected.deadlock:
        left = {finding.queue: finding.count for finding in found[FindingKind.LEFTOVER_TOKEN]}
        assert left == {queue: count for queue, count in expected.left.items() if count}
        if not left:
            assert bool(found[FindingKind.UNFINISHED]) == expected.finish_early
