"""Components that their constructors refuse."""

import gc
import re
import warnings

import pytest
from amaranth.hdl import UnusedElaboratable

from vta.errors import ConfigError


def assert_refused(words, make):
    """`make()` raises a `ConfigError` that says `words`; that Amaranth then misses the component is no warning."""
    with pytest.raises(ConfigError, match=f"^{re.escape(words)}$"):
        make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedElaboratable)
        gc.collect()
