"""Grows an ONNX model step by step; shapes and types are what ONNX's own inference says, so that nearly all models are legal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
from onnx import TypeProto, checker, defs, helper, numpy_helper, shape_inference

from vta.testing.import_fuzz.description import Array, Description, Grid, Illegal, Step, Value
from vta.testing.import_fuzz.names import new_name
from vta.testing.import_fuzz.onnx_files import attribute_proto, element_type

__all__ = ["MOST_VALUES", "OnnxNet"]

MOST_VALUES = 4096
"""Of a tensor."""

_MANTISSA = 24

_EXACT = frozenset(
    [
        "Abs",
        "Add",
        "And",
        "Cast",
        "CastLike",
        "Ceil",
        "Clip",
        "Concat",
        "Constant",
        "ConstantOfShape",
        "DepthToSpace",
        "DequantizeLinear",
        "Div",
        "Dropout",
        "Equal",
        "Expand",
        "Flatten",
        "Floor",
        "Gather",
        "Greater",
        "GreaterOrEqual",
        "GlobalMaxPool",
        "Identity",
        "Less",
        "LessOrEqual",
        "Max",
        "MaxPool",
        "Min",
        "Mul",
        "Neg",
        "Not",
        "Or",
        "Pad",
        "ConvInteger",
        "MatMulInteger",
        "QLinearConv",
        "QLinearMatMul",
        "QLinearAdd",
        "QLinearConcat",
        "ArgMax",
        "ArgMin",
        "QuantizeLinear",
        "ReduceMax",
        "ReduceMin",
        "Relu",
        "Reshape",
        "Round",
        "Shape",
        "Sign",
        "Size",
        "Slice",
        "SpaceToDepth",
        "Split",
        "Sqrt",
        "Squeeze",
        "Sub",
        "Tile",
        "Transpose",
        "Unsqueeze",
        "Where",
        "Xor",
        "Trilu",
    ]
)
"""Operators that round each result at most once, as IEEE 754 says, or not at all: every implementation gives the same bits."""

_KEEPS_GRID = frozenset(
    [
        "Abs",
        "Concat",
        "DepthToSpace",
        "Dropout",
        "Expand",
        "Flatten",
        "Gather",
        "GlobalMaxPool",
        "Identity",
        "Max",
        "MaxPool",
        "Min",
        "Neg",
        "Relu",
        "Reshape",
        "Slice",
        "SpaceToDepth",
        "Split",
        "Squeeze",
        "Tile",
        "Transpose",
        "Unsqueeze",
        "ReduceMax",
        "ReduceMin",
        "Where",
    ]
)
"""Operators whose results are values that they read, or their negatives, or 0."""


class OnnxNet:
    """A model under construction."""

    def __init__(self, rng: Random, opset: int, family: str = "") -> None:
        self.rng = rng
        self.opset = opset
        self.family = family
        self.values: dict[str, Value] = {}
        self.steps: list[Step] = []
        self.numbers = np.random.default_rng(rng.randrange(2**32))

    def checkpoint(self) -> Callable[[], None]:
        """Return what takes back all that is added from now on."""
        steps, values = list(self.steps), dict(self.values)

        def take_back() -> None:
            self.steps, self.values = steps, values

        return take_back

    def input(self, shape: Sequence[int], dtype: str = "float32", draw: str = "normal") -> str:
        """Add an input."""
        name = new_name(self.rng, self.values, "x")
        grid: Grid | None = (3, 5) if dtype == "float32" and draw == "eighths" else None
        self.values[name] = Value(name, dtype, tuple(shape), draw=draw, grid=grid)
        return name

    def constant(self, data: Any, grid: Grid | None = None) -> str:
        """Add a constant: an initializer, one that is listed among the inputs as in old files, or a Constant node."""
        name = new_name(self.rng, self.values, "c")
        array = np.asarray(data)
        style = self.rng.choice(("initializer", "initializer", "input", "node"))
        self.values[name] = Value(name, array.dtype.name, array.shape, array, style, grid=grid)
        return name

    def integers(self, *values: int) -> str:
        """Add a vector of int64: a shape, axes, bounds."""
        return self.constant(np.array(values, np.int64))

    def floats(self, shape: Sequence[int], draw: str = "") -> str:
        """Add float weights: multiples of 1/8 or anything, up to about 2 in magnitude."""
        draw = draw or self.rng.choice(("eighths", "normal"))
        if draw == "eighths":
            return self.constant((self.numbers.integers(-15, 16, tuple(shape)) / 8).astype(np.float32), (3, 1))
        data = self.numbers.standard_normal(tuple(shape)).astype(np.float32)
        return self.constant(np.abs(data) + np.float32(0.25) if draw == "positive" else data)

    def add(
        self,
        kind: str,
        *inputs: str,
        outputs: int = 1,
        domain: str = "",
        types: Sequence[tuple[str, tuple[int, ...]]] | None = None,
        exact: bool | None = None,
        grid: Grid | None = None,
        **attributes: Any,
    ) -> tuple[str, ...]:
        """Add an operator and return its outputs' names; `types` says what ONNX's inference does not know.

        Raises `Illegal` if ONNX refuses it or cannot tell the shapes, or a shape is empty or large.
        """
        taken, names = set(self.values), list[str]()
        for _ in range(outputs):
            names.append(new_name(self.rng, taken, "v"))
            taken.add(names[-1])
        given = {name: value for name, value in attributes.items() if value is not None}
        step = Step(kind, inputs, tuple(names), given, domain, self._layer_name(kind))
        found = self._inferred(step) if types is None else list(types)
        sure = kind in _EXACT or grid is not None if exact is None else exact
        sources = [self.values[name] for name in inputs if name]
        exact = sure and all(source.exact for source in sources)
        grid = grid or self._grid(kind, sources)
        for name, (dtype, shape) in zip(names, found, strict=True):
            if min(shape, default=1) < 1 or math.prod(shape) > MOST_VALUES:
                raise Illegal(f"{kind}: shape {shape}")
            self.values[name] = Value(name, dtype, shape, exact=exact or grid is not None, grid=grid)
        self.steps.append(step)
        return tuple(names)

    def apply(self, kind: str, *inputs: str, **options: Any) -> str:
        """Add an operator of one output and return its name."""
        return self.add(kind, *inputs, **options)[0]

    def pick(self, *dtypes: str, where: Callable[[Value], bool] = lambda value: True) -> str:
        """Return a value that is no constant, recent ones more often; raises `Illegal` if none fits."""
        fitting = [v.name for v in self.values.values() if v.data is None and v.dtype in (dtypes or ("float32",)) and where(v)]
        if not fitting:
            raise Illegal(f"no value of {dtypes}")
        return fitting[-1] if self.rng.random() < 0.6 else self.rng.choice(fitting)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return a value's shape."""
        return self.values[name].shape

    def rank(self, name: str) -> int:
        """Return a value's number of dimensions."""
        return len(self.values[name].shape)

    def axis(self, name: str) -> int:
        """Return some axis of a value, counted from the front or from the back."""
        rank = self.rank(name)
        if not rank:
            raise Illegal("a scalar has no axis")
        return self.rng.randrange(-rank, rank)

    def axes(self, name: str, least: int = 1) -> list[int]:
        """Return some axes of a value, each counted from the front or from the back."""
        rank = self.rank(name)
        chosen = self.rng.sample(range(rank), self.rng.randint(min(least, rank), rank))
        return [axis - rank if self.rng.random() < 0.3 else axis for axis in chosen]

    def described(self, outputs: Sequence[str] | None = None) -> Description:
        """Return the model. By default values that nothing reads are outputs, and a few that something does."""
        read = {name for step in self.steps for name in step.inputs}
        computed = [name for step in self.steps for name in step.outputs]
        if outputs is None:
            ends = [name for name in computed if name not in read]
            inside = [name for name in computed if name in read and self.rng.random() < 0.1]
            outputs = ends + inside
            self.rng.shuffle(outputs)
        old = self.rng.random() < 0.15
        if old:
            # Before version 4 of the format every initialiser is listed among the inputs.
            self.values = {name: _listed(value) for name, value in self.values.items()}
        inputs = tuple(name for name, value in self.values.items() if value.data is None and name not in set(computed))
        return Description(
            "onnx", self.family, self.values, tuple(self.steps), inputs, tuple(outputs), self.opset, 3 if old else 8
        ).pruned()

    def _layer_name(self, kind: str) -> str:
        chance = self.rng.random()
        if chance < 0.3:
            return ""
        return new_name(self.rng, {step.name for step in self.steps}, f"/layer/{kind}_" if chance < 0.6 else kind)

    def _grid(self, kind: str, sources: Sequence[Value]) -> Grid | None:
        floats = [source for source in sources if source.dtype == "float32"]
        grids = [source.grid for source in floats if source.grid is not None]
        if not grids or len(grids) != len(floats):
            return None
        fine, large = max(grid[0] for grid in grids), max(grid[1] for grid in grids)
        if kind in ("Add", "Sub", "Sum"):
            large += math.ceil(math.log2(max(2, len(grids))))
        elif kind == "Mul":
            fine, large = sum(grid[0] for grid in grids), sum(grid[1] for grid in grids)
        elif kind not in _KEEPS_GRID:
            return None
        return (fine, large) if fine + large <= _MANTISSA else None

    def product_grid(self, left: str, right: str, terms: int) -> Grid | None:
        """Return the grid of sums of so many products, if none of them rounds."""
        one, other = self.values[left].grid, self.values[right].grid
        if one is None or other is None:
            return None
        fine, large = one[0] + other[0], one[1] + other[1] + math.ceil(math.log2(max(1, terms)))
        return (fine, large) if fine + large <= _MANTISSA else None

    def _inferred(self, step: Step) -> list[tuple[str, tuple[int, ...]]]:
        """Types of the outputs, by ONNX's own rules."""
        node = helper.make_node(step.kind, step.inputs, step.outputs)
        sources = {name: self.values[name] for name in step.inputs if name}
        try:
            node.attribute.extend(attribute_proto(name, value) for name, value in step.attributes.items())
            schema = defs.get_schema(step.kind, self.opset, step.domain)
            found = shape_inference.infer_node_outputs(
                schema,
                node,
                {name: helper.make_tensor_type_proto(element_type(v.dtype), v.shape) for name, v in sources.items()},
                {name: numpy_helper.from_array(_array(v), name) for name, v in sources.items() if v.data is not None},
                opset_imports=[helper.make_opsetid("", self.opset)],
            )
            return [_type_of(found[name]) for name in step.outputs]
        except (defs.SchemaError, shape_inference.InferenceError, checker.ValidationError, KeyError, ValueError) as error:
            raise Illegal(f"{step.kind}: {error}") from None


def _listed(value: Value) -> Value:
    return replace(value, style="input") if value.style == "initializer" else value


def _array(value: Value) -> Array:
    assert value.data is not None
    return value.data


def _type_of(proto: TypeProto) -> tuple[str, tuple[int, ...]]:
    tensor = proto.tensor_type
    if not tensor.HasField("shape") or any(not dim.HasField("dim_value") for dim in tensor.shape.dim):
        raise Illegal("a shape that ONNX does not tell")
    return helper.tensor_dtype_to_np_dtype(tensor.elem_type).name, tuple(dim.dim_value for dim in tensor.shape.dim)
