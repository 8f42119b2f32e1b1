"""Packed layout: definition, round trips, tails and byte planes."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from vta.config.hardware import HardwareConfig
from vta.tile.packing import pack, pack_samples, packed_nbytes, packed_shape, planes_of, unpack, unpack_samples


def hardware(log_batch: int = 0, log_block: int = 4) -> HardwareConfig:
    return HardwareConfig(
        target="sim",
        hw_version="0.0.2",
        log_inp_width=3,
        log_wgt_width=3,
        log_acc_width=5,
        log_batch=log_batch,
        log_block=log_block,
        log_uop_buff_size=12,
        log_inp_buff_size=log_batch + log_block + 8,
        log_wgt_buff_size=2 * log_block + 8,
        log_acc_buff_size=log_batch + log_block + 10,
    )


geometries = st.builds(hardware, st.integers(0, 2), st.integers(2, 5))
shapes = st.one_of(
    st.tuples(st.integers(1, 5), st.integers(1, 40)),
    st.tuples(st.integers(1, 5), st.integers(1, 40), st.integers(1, 4), st.integers(1, 4)),
)


@st.composite
def tensors(draw):
    dtype = draw(st.sampled_from([np.int8, np.int32]))
    return draw(hnp.arrays(dtype, draw(shapes)))


@settings(deadline=None, max_examples=80)
@given(tensors(), geometries)
def test_unpack_undoes_pack(tensor, hw):
    packed = pack(tensor, hw)
    assert packed.dtype == np.uint8
    assert packed.shape == (packed_nbytes(tensor.shape, hw, planes_of(tensor.dtype.name)),)
    back = unpack(packed, tensor.shape, tensor.dtype.name, hw)
    assert back.dtype == tensor.dtype
    assert back.flags.c_contiguous
    np.testing.assert_array_equal(back, tensor)


@settings(deadline=None, max_examples=30)
@given(tensors(), geometries)
def test_every_scalar_lies_where_the_layout_says(tensor, hw):
    planes = planes_of(tensor.dtype.name)
    packed = pack(tensor, hw).reshape(planes, *packed_shape(tensor.shape, hw))
    expected = np.zeros_like(packed)
    full = tensor.reshape((*tensor.shape, 1, 1)[:4])
    b, c = hw.batch, hw.block
    for n, channel, y, x in itertools.product(*map(range, full.shape)):
        for plane in range(planes):
            byte = (int(full[n, channel, y, x]) >> (8 * plane)) & 255
            expected[plane, n // b, channel // c, y, x, n % b, channel % c] = byte
    np.testing.assert_array_equal(packed, expected)


def test_results_do_not_alias_their_source():
    hw = hardware()
    tensor = np.arange(16, dtype=np.int8).reshape(1, 16)
    packed = pack(tensor, hw)
    back = unpack(packed, (1, 16), "int8", hw)
    assert not np.shares_memory(packed, tensor)
    assert not np.shares_memory(back, packed)


def test_pack_accepts_strided_views():
    hw = hardware()
    base = np.arange(2 * 20 * 6 * 6, dtype=np.int32).reshape(2, 6, 6, 20)
    for view in (base.transpose(0, 3, 1, 2), base.transpose(0, 3, 1, 2)[:, ::2].astype(np.int8)[:, :, ::2]):
        packed = pack(view, hw)
        np.testing.assert_array_equal(unpack(packed, view.shape, view.dtype.name, hw), view)


def test_what_cannot_be_packed_is_refused():
    hw = hardware()
    with pytest.raises(ValueError, match=r"dtype float32 cannot be packed; allowed: int8, int32"):
        pack(np.zeros((1, 16), np.float32), hw)
    with pytest.raises(ValueError, match=r"shape \(3,\) cannot be packed"):
        pack(np.zeros(3, np.int8), hw)
    with pytest.raises(ValueError, match=r"has 16 bytes, got 15"):
        unpack(np.zeros(15, np.uint8), (1, 3), "int8", hw)


@pytest.mark.parametrize("dtype", ["int8", "int32"])
@pytest.mark.parametrize("shape", [(2, 5, 3, 4), (1, 16, 2, 2), (4, 33), (3, 20)])
@pytest.mark.parametrize("log_batch", [0, 1])
def test_samples_are_packed_each_by_itself(log_batch, shape, dtype):
    hw = hardware(log_batch)
    samples = np.random.default_rng(0).integers(-99, 99, (3, *shape)).astype(dtype)
    packed = pack_samples(samples, hw)
    np.testing.assert_array_equal(packed, [pack(sample, hw) for sample in samples])
    np.testing.assert_array_equal(unpack_samples(packed, shape, dtype, hw), samples)
