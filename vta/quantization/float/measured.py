"""What stays in float because int8 costs accuracy there: tried on a few samples, where nobody has said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.files.forked_call import ForkedCall
from vta.files.second_process import Postponed, SecondProcess, made
from vta.ir import names as ops
from vta.ir.diagnostics import KEPT_IN_FLOAT, NOT_EQUALIZED, ZERO_POINTS, Diagnostics
from vta.ir.graph import Graph, Node
from vta.ir.macs import macs_of
from vta.quantization.config import QuantizeConfig
from vta.quantization.float.calibration.calibrate import batches_of
from vta.quantization.float.one_thread import on_one_thread
from vta.quantization.float.plan.layer_walks import last_layers, layers_before_logarithms, weighted_layers
from vta.quantization.float.quantizer import equalizes
from vta.quantization.float.suspects import noisiest_layers
from vta.quantization.float.trials import Trials
from vta.quantization.float.unsigned import has_zero_points

__all__ = ["with_measured_layers"]

Array = NDArray[Any]
_Samples = Mapping[str, Array]
_Measure = Callable[[], list[float]]

_FEWEST_TRIED, _MOST_TRIED, _TRIED_PRODUCTS = 4, 16, 80_000_000
"""Batches of calibration data: what a few samples do not show may be most of the noise of others, so that there are as many as
the products of a network allow."""
_WORTH_SPLITTING = 16_000_000
"""Products of all batches that are worth a second process."""
_LAST, _LONGEST_WAIT = 19, 600.0
"""Steps of the scheduler that a process which computes what may not be asked for comes after others; seconds of a wait for it."""
_IMAGE_CHANNELS = 4
"""A first convolution that reads more is none of an image or a waveform."""
_FIRST_MAY_COST_DB = 1.0
_GOOD_DB = 30.0
"""The first convolution is quantised if the noisiest output gets noisier by no more, or is as good as this."""
_MOST_SHARE, _MOST_PRODUCTS = 0.5, 10_000_000
"""A layer with more of the products of a network, and more than the host does in no time, is not left in float: most of the work
would be the host's."""
_FEW_LAYERS, _SUSPECTS = 12, 4
"""Where there are no more layers each is tried in float by itself, elsewhere so many of those that are the noisiest."""
_ZERO_POINTS_MAY_COST_DB = 0.25
"""More levels make each value less noisy, and by chance an output noisier: more than this is no chance that one has to take."""
_EQUALIZED_ON, _FEW_BATCHES = 16, 8
_OF_FEW_HELD, _OF_MANY_HELD = 2, 4
_EQUALIZATION_MAY_COST_DB = 3.0
"""So many batches show whether evening out channels pays, as it hangs on what they show of ranges. Of few a half is held out to
measure on, of more a quarter. What the others show is less than what all of them will, so that much has to speak against it."""
_NOISY_DB, _MUST_GAIN_DB = 20.0, 3.0
"""An output noisier than this has its head, and what comes before logarithms, in float if it gets less noisy by so much."""


def with_measured_layers(
    graph: Graph, data: _Samples | None, config: QuantizeConfig, hw: HardwareConfig, said: Diagnostics
) -> QuantizeConfig:
    """Return `config` with the layers that stay in float, where it leaves them open.

    The first convolution is quantised if that costs little. Layers before logarithms, the last layer before an output, and any
    single layer of a small network, stay in float if that makes a noisy output better; not the first convolution nor a single
    layer that is most of the network. All are measured by quantising the network
    and running a few samples. So are zero points, which are left out if the noisiest output is less noisy without, and evened out
    channels, on samples that were held out. Without data, or with states, the first convolution stays in float if it reads an
    image. `said` is told of every layer that was measured.
    """
    first = next((node for node in graph.calls() if node.op == ops.CONV2D), None)
    if config.skip_conv_layers is not None:
        return config
    careful = replace(config, skip_conv_layers=(0,))
    if first is None:
        return careful
    reads_image = first.inputs[0].shape[1] <= _IMAGE_CHANNELS
    if data is None or graph.states:
        return careful if reads_image else replace(config, skip_conv_layers=())
    with on_one_thread():
        return _Choice(graph, data, hw, said).chosen(first, careful)


class _Choice:
    """What is chosen by what it costs."""

    def __init__(self, graph: Graph, data: _Samples, hw: HardwareConfig, said: Diagnostics) -> None:
        self.graph, self.hw, self.said = graph, hw, said
        self.given = data
        each: Counter[str] = Counter()
        for node in graph.calls():
            each[node.name] += macs_of(node)
        self._products = each.total()
        least = max(_MOST_SHARE * self._products, _MOST_PRODUCTS)
        self._large = {name for name, products in each.items() if products > least}
        """Layers that are most of the network: one, or none."""
        tried = min(max(_TRIED_PRODUCTS // max(self._products, 1), _FEWEST_TRIED), _MOST_TRIED)
        self.batches = list(islice(batches_of(graph, data), tried))
        self.trials = Trials(graph, self.batches, self.batches, hw)

    def chosen(self, first: Node, config: QuantizeConfig) -> QuantizeConfig:
        """`config`, which has the first convolution in float, with what the trials say."""
        careful = self._with_equalization(config)
        config, noise = self._with_first(first, careful)
        config, noise = self._with_front_end(config, noise)
        config, noise = self._with_heads(config, noise)
        return self._with_zero_points(*self._with_single_layers(config, noise))

    def _with_first(self, first: Node, careful: QuantizeConfig) -> tuple[QuantizeConfig, list[float]]:
        """The config with the first convolution quantised, or in float as in `careful`, and the noise then."""
        bold = replace(careful, skip_conv_layers=())
        with self._begun(lambda: self.trials.noise(careful)) as in_float:
            after = self.trials.tried(bold)
            if min(after) >= _GOOD_DB:
                text = f"the first convolution is quantised: {min(after):.1f} dB with it in int8"
                self.said.add(KEPT_IN_FLOAT, first.name, text)
                return bold, after
            before = in_float()
        cost = min(before) - min(after)
        kept = cost > _FIRST_MAY_COST_DB and first.name not in self._large
        verdict = "stays in float" if kept else "is quantised"
        if not kept and cost > _FIRST_MAY_COST_DB:
            verdict += ", as it is most of the network"
        text = f"the first convolution {verdict}: {min(after):.1f} dB with it in int8, {min(before):.1f} dB with it in float"
        self.said.add(KEPT_IN_FLOAT, first.name, text)
        return (careful, before) if kept else (bold, after)

    def _with_equalization(self, config: QuantizeConfig) -> QuantizeConfig:
        """The config without evening out channels if the noisiest output gains by that, on samples that were held out.

        On the very samples that ranges were taken from evening them out looks better than it is. Chances of few samples say
        little: those that are sure of a class have hardly any noise.
        """
        if config.equalize != "measured" or not equalizes(self.graph, config):
            return config
        batches = list(islice(batches_of(self.graph, self.given), _EQUALIZED_ON))
        if len(batches) == 1:
            return config
        part = _OF_FEW_HELD if len(batches) < _FEW_BATCHES else _OF_MANY_HELD
        # Samples may come by kinds, or by turns.
        mixed = [batches[at] for at in np.random.default_rng(0).permutation(len(batches))]
        held = len(batches) // part
        trials = Trials(self.graph, mixed[held:], mixed[:held], self.hw, scores=True)
        even = replace(config, skip_conv_layers=())
        plain = replace(even, equalize="none")
        noise, without = self._both(lambda: trials.tried(even), lambda: trials.tried(plain))
        if min(without) <= min(noise) + _EQUALIZATION_MAY_COST_DB:
            return config
        text = f"channels are left as they are: {min(noise):.1f} dB if they are evened out, {min(without):.1f} dB if not"
        self.said.add(NOT_EQUALIZED, self.graph.outputs[int(np.argmin(noise))].name, text)
        return replace(config, equalize="none")

    @contextmanager
    def _begun(self, measure: _Measure) -> Iterator[_Measure]:
        """What a measure gives, which may not be asked for: where a core is idle, another process computes it meanwhile."""
        call = None
        is_long = self._products * len(self.batches) >= _WORTH_SPLITTING
        if is_long and ForkedCall.possible() and ForkedCall.has_idle_core():
            with suppress(OSError):
                call = ForkedCall(partial(_as_bytes, measure), _LAST)
        with call or nullcontext():

            def found() -> list[float]:
                sent = None if call is None else call.result(_LONGEST_WAIT)
                return measure() if sent is None else np.frombuffer(sent).tolist()

            yield found

    def _both(self, one: _Measure, other: _Measure) -> list[list[float]]:
        """What each gives, by two processes where there may be some."""
        found: list[list[float]] = []
        with SecondProcess(self._products * len(self.batches) >= _WORTH_SPLITTING):
            for number, measure in enumerate((one, other)):
                with suppress(Postponed):
                    found.append(np.frombuffer(made(bytes([number]) * 32, partial(_as_bytes, measure))).tolist())
        return found

    def _with_zero_points(self, config: QuantizeConfig, noise: list[float]) -> QuantizeConfig:
        """The config without zero points if the noisiest output is less noisy then."""
        if config.zero_points != "measured" or not has_zero_points(self.graph, config.zero_points):
            return config
        without = replace(config, zero_points="none")
        plain = self.trials.tried(without)
        left_out = min(plain) > min(noise) + _ZERO_POINTS_MAY_COST_DB
        verdict = "are left out" if left_out else "are kept"
        text = f"zero points {verdict}: {min(noise):.1f} dB with them, {min(plain):.1f} dB without"
        self.said.add(ZERO_POINTS, self.graph.outputs[int(np.argmin(noise))].name, text)
        return without if left_out else config

    def _with_front_end(self, config: QuantizeConfig, noise: list[float]) -> tuple[QuantizeConfig, list[float]]:
        """The config with the layers before logarithms in float if that makes a noisy output better, and the noise then.

        A spectrum has small values beside large ones, all of which a logarithm makes as important.
        """
        names = layers_before_logarithms(self.graph)
        if not names or min(noise) >= _NOISY_DB:
            return config, noise
        spectral = _with_layers(config, {0: names})
        better = self.trials.tried(spectral)
        won = [at for at, value in enumerate(noise) if value < _NOISY_DB and better[at] >= value + _MUST_GAIN_DB]
        if not won:
            return config, noise
        for name in names:
            text = f"stays in float before a logarithm, as output {won[0]} has {noise[won[0]]:.1f} dB with such layers in int8, "
            self.said.add(KEPT_IN_FLOAT, name, f"{text}{better[won[0]]:.1f} dB without")
        return spectral, better

    def _with_heads(self, config: QuantizeConfig, noise: list[float]) -> tuple[QuantizeConfig, list[float]]:
        """The config with the last layers before noisy outputs in float, of those outputs that it helps, and the noise then."""
        heads = {at: last_layers(self.graph.outputs[at]) for at, value in enumerate(noise) if value < _NOISY_DB}
        if not any(heads.values()):
            return config, noise
        better = self.trials.tried(_with_layers(config, heads))
        helped = {at: names for at, names in heads.items() if names and better[at] >= noise[at] + _MUST_GAIN_DB}
        for at, names in helped.items():
            text = f"stays in float, as output {at} has {noise[at]:.1f} dB with it in int8, {better[at]:.1f} dB without"
            for name in names:
                self.said.add(KEPT_IN_FLOAT, name, text)
        return _with_layers(config, helped), [better[at] if at in helped else value for at, value in enumerate(noise)]

    def _with_single_layers(self, config: QuantizeConfig, noise: list[float]) -> tuple[QuantizeConfig, list[float]]:
        """The config with those layers in float, one after the other, that make the noisiest output better, and the noise then.

        Of a small network all layers are tried, of others those that are noisy by themselves.
        """
        left = [name for name in weighted_layers(self.graph) if name not in {*config.skip_layers, *self._large}]
        if len(left) > _FEW_LAYERS and min(noise) < _NOISY_DB:
            suspects = noisiest_layers(self.graph, self.trials.data, config, self.hw, min(noise))
            for name in [name for name in suspects if name not in self._large][:_SUSPECTS]:
                config, noise = self._with_single_layer(config, noise, [name])
            return config, noise
        while left and min(noise) < _NOISY_DB:
            before = config
            config, noise = self._with_single_layer(config, noise, left)
            if config is before:
                break
            left.remove(config.skip_layers[-1])
        return config, noise

    def _with_single_layer(
        self, config: QuantizeConfig, noise: list[float], names: Sequence[str]
    ) -> tuple[QuantizeConfig, list[float]]:
        """The config with the one of some layers in float, as the last that it skips, that helps most, and the noise then."""
        tried = {name: self.trials.tried(_with_layers(config, {0: [name]})) for name in names}
        best = max(names, key=lambda name: min(tried[name]))
        if min(noise) >= _NOISY_DB or min(tried[best]) < min(noise) + _MUST_GAIN_DB:
            return config, noise
        verdict = f"{min(noise):.1f} dB with it in int8, {min(tried[best]):.1f} dB without"
        self.said.add(KEPT_IN_FLOAT, best, f"stays in float, as the noisiest output has {verdict}")
        return _with_layers(config, {0: [best]}), tried[best]


def _as_bytes(measure: _Measure) -> bytes:
    return np.array(measure(), np.float64).tobytes()


def _with_layers(config: QuantizeConfig, heads: Mapping[int, Sequence[str]]) -> QuantizeConfig:
    """The config with more layers in float."""
    return replace(config, skip_layers=(*config.skip_layers, *sorted({name for names in heads.values() for name in names})))
