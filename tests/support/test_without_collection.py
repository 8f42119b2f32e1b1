"""Work during which nothing is collected."""

import gc

import pytest

from vta.support.without_collection import without_collection


def test_nothing_is_collected_meanwhile_and_then_as_before():
    with without_collection():
        assert not gc.isenabled()
        with without_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_ends_it():
    with pytest.raises(ValueError, match="wrong"), without_collection():
        raise ValueError("wrong")
    assert gc.isenabled()
