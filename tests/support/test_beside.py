"""Calls from another thread: in order, with what fails told, and nothing left over."""

import threading

import numpy as np
import pytest

from vta.support.beside import called_beside


def test_calls_come_in_order_from_another_thread():
    seen, threads = [], set()

    def work(number):
        seen.append(number)
        threads.add(threading.current_thread())

    with called_beside(work) as call:
        for number in range(50):
            call(number)
    assert seen == list(range(50))
    assert threading.current_thread() not in threads
    assert not any(thread.is_alive() for thread in threads)


def test_what_fails_is_raised_and_later_calls_are_dropped():
    seen = []

    def work(number):
        seen.append(number)
        if number == 3:
            raise ValueError("three")

    def call_all():
        with called_beside(work) as call:
            for number in range(50):
                call(number)

    with pytest.raises(ValueError, match="three"):
        call_all()
    assert seen == [0, 1, 2, 3]


def test_an_error_of_the_caller_ends_the_thread():
    before = threading.active_count()

    def fail():
        with called_beside(lambda argument: None) as call:
            call(1)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()
    assert threading.active_count() == before


@pytest.mark.filterwarnings("error")
def test_numpy_errors_are_handled_as_in_the_caller():
    found = []
    with np.errstate(all="ignore"), called_beside(lambda value: found.append(np.log(value))) as call:
        call(np.float32(0))
    assert np.isinf(found[0])
