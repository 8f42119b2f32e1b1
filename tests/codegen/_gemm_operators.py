"""Random operators that multiply, and schedules to emit them by: every feature of the template in all combinations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from hypothesis import strategies as st

from vta.config.hardware import HardwareConfig
from vta.isa.instruction import AluOp
from vta.schedule.schedule import Schedule
from vta.tile.gemm_operator import GemmOperator, OutputPadding
from vta.tile.gemm_term import GemmTerm, RadixDigit
from vta.tile.operator import Tensor
from vta.tile.step import Branch, Immediate, Join, PerChannel, Requantization, Step, TensorOperand

__all__ = ["FEATURES", "addresses_of", "gemm_operators", "schedules"]

Feature = Callable[[GemmOperator, Schedule], bool]

_OPS = st.sampled_from([AluOp.ADD, AluOp.ADD, AluOp.MAX, AluOp.MIN, AluOp.SHR])


def rarely(draw, one_in=4):
    """True once in so many times."""
    return draw(st.integers(1, one_in)) == one_in


def pairs(draw, low, high):
    """Two numbers, one for rows and one for columns."""
    return draw(st.tuples(st.integers(low, high), st.integers(low, high)))


class _Drawn:
    """Draws one operator."""

    def __init__(self, draw, hw: HardwareConfig, name: str) -> None:
        self.draw, self.hw, self.name = draw, hw, name
        self.rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        self.batch, self.blocks = draw(st.integers(1, 2)), draw(st.integers(1, 3))
        self.height, self.width = pairs(draw, 1, 6)
        self.known: list[Tensor] = []

    def operator(self) -> GemmOperator:
        """The operator."""
        digits = tuple(self.digit(index) for index in range(self.draw(st.sampled_from([0, 1, 1, 1, 2, 3]))))
        epilogue = tuple(self.steps())
        if self.hw.requantize_unit and self.draw(st.booleans()):
            epilogue = (*epilogue, self.requantization(wide=rarely(self.draw)))
        output, padding = self.output()
        return GemmOperator(
            name=self.name,
            kind="conv2d",
            output=output,
            digits=digits or (RadixDigit(0, (self.term(),)),),
            epilogue=epilogue,
            accumulator_init=self.values(self.blocks) if rarely(self.draw) else None,
            output_padding=padding,
        )

    def output(self) -> tuple[Tensor, OutputPadding | None]:
        """The output, and what lies around it."""
        planes = 4 if rarely(self.draw) else 1
        if planes > 1 or not rarely(self.draw, 3):
            return self.tensor("y", self.blocks, self.height, self.width, planes), None
        (top, left), (bottom, right) = pairs(self.draw, 0, 3), pairs(self.draw, 0, 3)
        stored = self.tensor("stored", self.blocks, top + self.height + bottom, left + self.width + right)
        inner = Tensor(f"{self.name}.y", self.batch, self.blocks, self.height, self.width)
        return inner, OutputPadding(stored, top, left, self.draw(st.integers(-128, 127)))

    def tensor(self, name: str, blocks: int, height: int, width: int, planes: int = 1) -> Tensor:
        """A tensor of its own, or part of one."""
        whole = Tensor(f"{self.name}.{name}", self.batch, blocks, height, width, planes)
        if planes > 1 or not rarely(self.draw):
            return whole
        before, after = pairs(self.draw, 0, 2)
        return Tensor(f"{whole.name}.whole", self.batch, before + blocks + after, height, width).part(whole.name, before, blocks)

    def digit(self, index: int = 0) -> RadixDigit:
        """Terms after a shift."""
        terms = [self.term() for _ in range(self.draw(st.integers(int(index == 0), 2)))]
        return RadixDigit(self.draw(st.integers(1, 16)) if index or rarely(self.draw) else 0, tuple(terms))

    def term(self) -> GemmTerm:
        """A term over a source of any size: what is missing of it is zero."""
        diagonal, pointwise = self.draw(st.booleans()), rarely(self.draw, 3)
        kernel, window = (1, 1) if pointwise else pairs(self.draw, 1, 3), None
        blocks = self.blocks if diagonal else self.draw(st.integers(1, 3))
        shared = diagonal and self.draw(st.booleans())
        if diagonal and not pointwise and rarely(self.draw, 3):
            window, kernel = kernel, (1, 1)
        shape = (1 if shared else self.blocks, 1 if diagonal else blocks, *kernel, self.hw.block, self.hw.block)
        # Random weights are slow to draw where blocks are large; two values tell blocks and zeros apart.
        weights = np.ones(shape, np.int8) * np.arange(1, 1 + int(np.prod(shape[:4]))).astype(np.int8).reshape(*shape[:4], 1, 1)
        sparse = rarely(self.draw, 3)
        if sparse:
            weights = weights * (self.rng.random((*shape[:4], 1, 1)) < self.draw(st.sampled_from([0, 0.3, 0.8]))).astype(np.int8)
        size, geometry = (self.height, self.width), {}
        if pointwise and window is None and rarely(self.draw, 6):
            size, geometry = (1, 1), {"strides": (0, 0)}
        elif not pointwise:
            size = pairs(self.draw, 1, 9)
            geometry = {"dilation": pairs(self.draw, 1, 3), "padding": pairs(self.draw, -2, 18 if rarely(self.draw, 6) else 4)}
            geometry["source_dilation" if rarely(self.draw, 3) else "strides"] = pairs(self.draw, 1, 3)
        source = self.source(blocks, *size)
        slides = diagonal and not pointwise and geometry.get("source_dilation", (1, 1)) == (1, 1)
        if self.hw.depthwise_unit and slides and not sparse and self.draw(st.booleans()):
            geometry["taps"], weights = 3, weights[:, :, :, :1]
            window = window and (window[0], 1)
        flags = {"diagonal": diagonal, "window": window, "sparse": sparse, "is_transfer": self.draw(st.booleans())}
        return GemmTerm(source, weights, **flags, **geometry)

    def source(self, blocks: int, height: int, width: int) -> Tensor:
        """A tensor to read, now and then one that another term reads too."""
        same = [tensor for tensor in self.known if (tensor.blocks, tensor.height, tensor.width) == (blocks, height, width)]
        if same and self.draw(st.booleans()):
            return same[-1]
        self.known.append(self.tensor(f"x{len(self.known)}", blocks, height, width))
        return self.known[-1]

    def steps(self) -> Iterator[Step]:
        """An epilogue: a branch comes before the steps that join it."""
        slots: list[int] = []
        for _ in range(self.draw(st.sampled_from([0, 0, 1, 2, 3, 5]))):
            kind = self.draw(st.sampled_from(["immediate", "vector", "phases", "tensor", "branch", "join"]))
            if kind == "tensor":
                digits = [self.digit(index) for index in range(self.draw(st.integers(1, 2)))]
                steps = (self.requantization(wide=True),) if self.hw.requantize_unit and self.draw(st.booleans()) else ()
                yield Step(self.draw(_OPS), TensorOperand(tuple(digits), steps))
            elif kind == "branch":
                steps = tuple(self.constant_step() for _ in range(self.draw(st.integers(0, 2))))
                slots.append(self.draw(st.integers(0, 1)))
                yield Step(AluOp.ADD, Branch(steps, slots[-1], self.draw(st.booleans())))
            elif kind == "join" and slots:
                yield Step(self.draw(_OPS), Join(self.draw(st.sampled_from(slots))))
            else:
                yield self.constant_step(kind)

    def requantization(self, *, wide: bool) -> Step:
        """A step with any parameters."""
        bias, multiplier, control = (self.values(self.blocks) for _ in range(3))
        table = (
            self.rng.integers(-128, 128, 256).astype(np.int8) if self.hw.table_unit and not wide and rarely(self.draw) else None
        )
        operand = Requantization(bias=bias, multiplier=multiplier, control=control & ~0x80, wide=wide, table=table)
        return Step(AluOp.REQUANTIZE, operand)

    def constant_step(self, kind: str | None = None) -> Step:
        """A step with an immediate or a value per channel."""
        kind = kind or self.draw(st.sampled_from(["immediate", "vector", "phases"]))
        if kind == "vector":
            return Step(self.draw(_OPS), PerChannel(self.values(self.draw(st.integers(1, self.blocks)))))
        if kind == "phases":
            return Step(AluOp.ADD, PerChannel(self.values(self.blocks, *pairs(self.draw, 1, 3))))
        return Step(self.draw(_OPS), Immediate(self.draw(st.integers(-300, 300))))

    def values(self, blocks: int, *phases: int) -> np.ndarray:
        """Per-channel values of so many blocks; the last may not be full."""
        channels = blocks * self.hw.block - self.draw(st.integers(0, self.hw.block - 1))
        return self.rng.integers(-100, 100, (channels, *phases))


@st.composite
def gemm_operators(draw: st.DrawFn, hw: HardwareConfig, name: str = "op") -> GemmOperator:
    """An operator on blocks of `hw`."""
    return _Drawn(draw, hw, name).operator()


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Any schedule of small tiles, whether it fits or not."""
    names = "tile_co", "tile_h", "tile_w", "tile_ci", "tile_kh", "tile_kw", "inp_slots", "wgt_slots", "acc_slots"
    sizes = {name: draw(st.integers(1, high)) for name, high in zip(names, (3, 6, 6, 3, 3, 3, 3, 3, 2), strict=True)}
    return Schedule(**sizes, **{name: draw(st.booleans()) for name in ("weights_outer", "flat", "skip_padding")})


def addresses_of(operators: Sequence[GemmOperator]) -> tuple[Mapping[str, int], int]:
    """The memory of all tensors, one after the other, and the size of all in elements."""
    addresses, end = {}, 0
    for memory in (tensor.memory for operator in operators for tensor in operator.tensors):
        if memory.name not in addresses:
            addresses[memory.name] = end
            end += memory.elements * memory.planes
    return addresses, end


def _branches(operator: GemmOperator) -> list[Branch]:
    return [step.operand for step in operator.epilogue if isinstance(step.operand, Branch)]


def _any_term(holds: Callable[[GemmTerm], bool]) -> Feature:
    return lambda operator, schedule: any(holds(term) for term in operator.terms)


def _any_step(holds: Callable[[Step], bool]) -> Feature:
    return lambda operator, schedule: any(holds(step) for step in operator.epilogue)


FEATURES: dict[str, Feature] = {
    "several digits": lambda op, _: len(op.digits) > 1,
    "a shift before the first digit": lambda op, _: op.digits[0].shift > 0,
    "a digit without terms": lambda op, _: any(not digit.terms for digit in op.digits),
    "a sparse term": _any_term(lambda term: term.sparse and not term.diagonal),
    "a sparse diagonal term": _any_term(lambda term: term.sparse and term.diagonal and not term.pointwise),
    "a sparse pointwise term": _any_term(lambda term: term.sparse and term.diagonal and term.pointwise),
    "a sparse transposed term": _any_term(lambda term: term.sparse and term.source_dilation != (1, 1)),
    "a sparse term of zeros": _any_term(lambda term: term.sparse and not term.weights.any()),
    "one weight block for all channels": _any_term(lambda term: term.diagonal and len(term.weights) == 1),
    "a sum over a window": _any_term(lambda term: term.window is not None),
    "a transposed term": _any_term(lambda term: term.source_dilation != (1, 1)),
    "a transfer": _any_term(lambda term: term.is_transfer),
    "an immediate": _any_step(lambda step: isinstance(step.operand, Immediate)),
    "a vector": _any_step(lambda step: isinstance(step.operand, PerChannel) and not step.operand.has_phases),
    "a vector by phase": _any_step(lambda step: isinstance(step.operand, PerChannel) and step.operand.has_phases),
    "a tensor operand": _any_step(lambda step: isinstance(step.operand, TensorOperand) and not step.joins_products),
    "products that join the tile": _any_step(lambda step: step.joins_products),
    "a branch": lambda op, _: bool(_branches(op)),
    "a vector in a branch": lambda op, _: any(branch.vectors for branch in _branches(op)),
    "an elided copy": lambda op, _: any(branch.copy_elided for branch in _branches(op)),
    "several slots": lambda op, _: len({branch.slot for branch in _branches(op)}) > 1,
    "a join": _any_step(lambda step: isinstance(step.operand, Join)),
    "no steps": lambda op, _: not op.epilogue,
    "an accumulator init": lambda op, _: op.accumulator_init is not None,
    "output padding": lambda op, _: op.output_padding is not None,
    "planes": lambda op, _: op.output.planes > 1,
    "a part of a tensor": lambda op, _: any(tensor.container for tensor in op.tensors),
    "one axis": lambda op, schedule: schedule.flat and op.flattened is not op,
    "several tiles": lambda op, schedule: not schedule.flat and schedule.tile_h < op.output.height,
    "weights outside": lambda op, schedule: schedule.weights_outer,
    "products with padding left out": lambda op, schedule: schedule.skip_padding,
}
"""What of the template an operator with a schedule uses, by name."""
