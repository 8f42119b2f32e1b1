"""Small TFLite models that keep values from one run to the next."""

from __future__ import annotations

import numpy as np
import tflite

from vta.testing.tflite_model import Tflite, conv_options

__all__ = ["integer_lstm", "lstm", "rnn", "streaming_convolution", "svdf"]


def streaming_convolution(rng, new=1, memory=4, channels=5, filters=7, start=-128) -> bytes:
    """A convolution along time over the new rows and the last ones before them, which a variable holds."""
    net, once = Tflite(), Tflite()
    shape, quantization = (1, memory, 1, channels), ("int8", 0.05, -128)
    x = net.tensor((1, new, 1, channels), *quantization, name="x")
    handle, held = net.tensor((), "resource", name="handle"), net.tensor(shape, *quantization, name="held")
    net.operator("CALL_ONCE", [], [], "CallOnceOptions", InitSubgraphIndex=1)
    net.operator("VAR_HANDLE", [], handle, "VarHandleOptions", SharedName="past")
    net.operator("READ_VARIABLE", [handle], held)
    rows = net.tensor((1, memory + new, 1, channels), *quantization, name="rows")
    net.operator("CONCATENATION", [held, x], rows, "ConcatenationOptions", Axis=1)
    kept = net.tensor(shape, *quantization, name="kept")
    begin, end = net.constant([0, -memory, 0, 0], "int32"), net.constant([0, 0, 0, channels], "int32")
    masks = {"BeginMask": 5, "EndMask": 7, "EllipsisMask": 0, "NewAxisMask": 0, "ShrinkAxisMask": 0}
    net.operator("STRIDED_SLICE", [rows, begin, end, net.constant([1, 1, 1, 1], "int32")], kept, "StridedSliceOptions", **masks)
    net.operator("ASSIGN_VARIABLE", [handle, kept], [])
    weight = net.constant(rng.integers(-127, 128, (filters, memory + new, 1, channels)), "int8", 0.01)
    bias = net.constant(rng.integers(-500, 500, filters), "int32", 0.0005)
    y = net.tensor((1, 1, 1, filters), "int8", 0.2, 3, name="y")
    net.operator("CONV_2D", [rows, weight, bias], y, **conv_options("VALID"))
    handle = once.tensor((), "resource")
    once.operator("VAR_HANDLE", [], handle, "VarHandleOptions", SharedName="past")
    once.operator("ASSIGN_VARIABLE", [handle, once.constant(np.full(shape, start), *quantization)], [])
    return net.build([x], [y], [(once, [], [])])


def svdf(rng, dtype="float32", inputs=6, units=3, rank=2, memory=4, activation="NONE") -> bytes:
    """An SVDF layer."""
    net, filters = Tflite(), units * rank
    integers = dtype == "int8"
    x = net.tensor((1, inputs), dtype, 0.05 if integers else None, 4, name="x")
    if integers:
        feature = net.constant(rng.integers(-127, 128, (filters, inputs)), "int8", 0.01)
        times = net.constant(rng.integers(-2000, 2000, (filters, memory)), "int16", 0.001)
        bias = net.constant(rng.integers(-3000, 3000, units), "int32", 1e-6)
        state = net.tensor((1, filters * memory), "int16", 0.001, name="state", variable=True)
    else:
        feature = net.constant(rng.standard_normal((filters, inputs)), "float32")
        times = net.constant(rng.standard_normal((filters, memory)), "float32")
        bias = net.constant(rng.standard_normal(units), "float32")
        state = net.tensor((1, filters * memory), "float32", name="state", variable=True)
    y = net.tensor((1, units), dtype, 0.1 if integers else None, -3, name="y")
    fused = getattr(tflite.ActivationFunctionType, "RELU" if integers else activation)
    net.operator("SVDF", [x, feature, times, bias, state], y, "SVDFOptions", Rank=rank, FusedActivationFunction=fused)
    return net.build([x], [y])


def rnn(rng, steps=3, inputs=4, units=5, time_major=False) -> bytes:
    """A recurrent layer over a sequence."""
    net = Tflite()
    lead = (steps, 1) if time_major else (1, steps)
    x = net.tensor((*lead, inputs), "float32", name="x")
    weights = [net.constant(rng.standard_normal(shape) / 2, "float32") for shape in ((units, inputs), (units, units), (units,))]
    state = net.tensor((1, units), "float32", name="state", variable=True)
    y = net.tensor((*lead, units), "float32", name="y")
    options = {"TimeMajor": time_major, "FusedActivationFunction": tflite.ActivationFunctionType.TANH}
    net.operator("UNIDIRECTIONAL_SEQUENCE_RNN", [x, *weights, state], y, "SequenceRNNOptions", **options)
    return net.build([x], [y])


def lstm(
    rng,
    steps=3,
    inputs=4,
    units=5,
    *,
    coupled=False,
    peepholes=False,
    projected=0,
    cell_clip=0.0,
    time_major=False,
    kind="sequence",
    hybrid=False,
    normalized=False,
) -> bytes:
    """A layer of the full LSTM kernel, over a sequence or for one step; `hybrid`: with weights of bytes between real numbers."""
    net = Tflite()
    lead = (1,) if kind == "step" else (steps, 1) if time_major else (1, steps)
    shown = projected or units

    def constant(*shape: int) -> int:
        values = rng.standard_normal(shape) / 2
        if hybrid and len(shape) > 1:
            return net.constant(np.clip(np.rint(values * 60), -127, 127).astype(np.int8), scale=1 / 60)
        return net.constant(values, "float32")

    x = net.tensor((*lead, inputs), "float32", name="x")
    own = [constant(units, inputs) for _ in range(4)]
    recurrent = [constant(units, shown) for _ in range(4)]
    peeks = [constant(units) if peepholes else -1 for _ in range(3)]
    biases = [constant(units) for _ in range(4)]
    norms = [constant(units) for _ in range(4)] if normalized else [-1] * 4
    for parts in (own, recurrent, biases, *([peeks, norms] if coupled else [])):
        parts[0] = -1 if coupled else parts[0]
    projection = [constant(projected, units), constant(projected)] if projected else [-1, -1]
    states = [net.tensor((1, size), "float32", name=name, variable=True) for name, size in (("h", shown), ("c", units))]
    y = net.tensor((*lead, shown), "float32", name="y")
    options = {"FusedActivationFunction": tflite.ActivationFunctionType.TANH, "CellClip": cell_clip, "ProjClip": 0.0}
    name = "LSTM" if kind == "step" else "UNIDIRECTIONAL_SEQUENCE_LSTM"
    table = "LSTMOptions" if kind == "step" else "UnidirectionalSequenceLSTMOptions"
    options |= {} if kind == "step" else {"TimeMajor": time_major}
    everything = [x, *own, *recurrent, *peeks, *biases, *projection, *states, *(norms if normalized else [])]
    net.operator(name, everything, y, table, **options)
    return net.build([x], [y])


def integer_lstm(
    rng,
    steps=3,
    inputs=4,
    units=5,
    *,
    coupled=False,
    peepholes=False,
    projected=0,
    cell_clip=0.0,
    projection_clip=0.0,
    normalized=False,
    time_major=False,
    kind="sequence",
    cell_bits=4,
    samples=1,
    intermediates=5,
    weight_zero=0,
) -> bytes:
    """A layer of the LSTM kernel in integers: bytes in and out, cells of 16 bits of which `cell_bits` are integer bits."""
    net = Tflite()
    lead = (samples,) if kind == "step" else (steps, samples) if time_major else (samples, steps)
    shown = projected or units

    def weights(*shape: int) -> int:
        return net.constant(rng.integers(-127, 128, shape), "int8", rng.uniform(0.004, 0.02), weight_zero)

    def wide(dtype: str, most: int, scale: float, count: int = units) -> int:
        return net.constant(rng.integers(-most, most + 1, count), dtype, scale)

    x = net.tensor((*lead, inputs), "int8", rng.uniform(0.02, 0.1), int(rng.integers(-128, 128)), name="x")
    own = [weights(units, inputs) for _ in range(4)]
    recurrent = [weights(units, shown) for _ in range(4)]
    peeks = [wide("int16", 32767, rng.uniform(1e-5, 1e-4)) if peepholes else -1 for _ in range(3)]
    biases = [wide("int32", 3000, 1e-4) for _ in range(4)]
    norms = [wide("int16", 32767, rng.uniform(1e-5, 1e-4)) if normalized else -1 for _ in range(4)]
    for parts in (own, recurrent, biases, *([peeks, norms] if coupled else [])):
        parts[0] = -1 if coupled else parts[0]
    projection = [weights(projected, units), wide("int32", 3000, 1e-4, projected)] if projected else [-1, -1]
    output = rng.uniform(0.004, 0.01), int(rng.integers(-20, 20))
    states = [
        net.tensor((samples, shown), "int8", *output, name="h", variable=True),
        net.tensor((samples, units), "int16", 2.0 ** (cell_bits - 15), name="c", variable=True),
    ]
    y = net.tensor((*lead, shown), "int8", *output, name="y")
    inner = [net.tensor((1,), "int16", rng.uniform(0.0002, 0.001), name=f"gate{at}") for at in range(4)]
    hidden = (rng.uniform(0.004, 0.01), int(rng.integers(-20, 20))) if projected else output
    inner += [net.tensor((1,), "int8", *hidden, name=f"hidden{at}") for at in range(max(1, intermediates - 4))]
    options = {"FusedActivationFunction": tflite.ActivationFunctionType.TANH, "CellClip": cell_clip, "ProjClip": projection_clip}
    name = "LSTM" if kind == "step" else "UNIDIRECTIONAL_SEQUENCE_LSTM"
    table = "LSTMOptions" if kind == "step" else "UnidirectionalSequenceLSTMOptions"
    options |= {} if kind == "step" else {"TimeMajor": time_major}
    everything = [x, *own, *recurrent, *peeks, *biases, *projection, *states, *norms]
    net.operator(name, everything, y, table, intermediates=inner[:intermediates], **options)
    return net.build([x], [y])


def bidirectional(
    rng, kind, steps=3, inputs=4, *, time_major=False, merged=True, projected=0, peepholes=False, second=False
) -> bytes:
    """A recurrent layer, `kind` "LSTM" or "RNN", that reads a sequence in both directions."""
    # LiteRT takes cells of one size alone.
    net, units = Tflite(), (5, 5) if kind == "LSTM" else (5, 3)
    lead = (steps, 1) if time_major else (1, steps)

    def constant(*shape: int) -> int:
        return net.constant(rng.standard_normal(shape) / 2, "float32")

    def layer(size: int) -> list[int]:
        if kind == "RNN":
            state = net.tensor((1, size), "float32", name=f"state{size}", variable=True)
            return [constant(size, inputs), constant(size, size), constant(size), state]
        shown = projected or size
        own, recurrent = [constant(size, inputs) for _ in range(4)], [constant(size, shown) for _ in range(4)]
        peeks = [constant(size) if peepholes else -1 for _ in range(3)]
        biases = [constant(size) for _ in range(4)]
        return [*own, *recurrent, *peeks, *biases, *([constant(shown, size), constant(shown)] if projected else [-1, -1])]

    x = net.tensor((*lead, inputs), "float32", name="x")
    layers = [part for size in units for part in layer(size)]
    if kind == "LSTM":
        layers += [
            net.tensor((1, size), "float32", name=f"{name}{way}", variable=True)
            for way, of in enumerate(units)
            for name, size in (("h", projected or of), ("c", of))
        ]
    again = net.tensor((*lead, inputs), "float32", name="again") if second else -1
    extra = [again, *[-1] * (8 if kind == "LSTM" else 2)]
    widths = [projected or size for size in units]
    outputs = [
        net.tensor((*lead, width), "float32", name=f"y{way}") for way, width in enumerate([sum(widths)] if merged else widths)
    ]
    options = {"FusedActivationFunction": tflite.ActivationFunctionType.TANH, "TimeMajor": time_major, "MergeOutputs": merged}
    table = f"BidirectionalSequence{kind}Options"
    net.operator(f"BIDIRECTIONAL_SEQUENCE_{kind}", [x, *layers, *extra], outputs, table, **options)
    return net.build([x, again] if second else [x], outputs)
