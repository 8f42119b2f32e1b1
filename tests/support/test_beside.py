"""Calls beside others: all of them, in order; errors told; nothing kept."""

import threading
import weakref

import pytest

from vta.support import beside as module
from vta.support.beside import Beside


@pytest.fixture(params=[1, 2], autouse=True)
def threads(request, monkeypatch):
    monkeypatch.setattr(module, "threads_at_once", lambda: request.param)
    return request.param


def test_all_calls_are_made_in_order():
    found = []
    with Beside() as beside:
        for number in range(100):
            beside.do(lambda number=number: found.append(number))
    assert found == list(range(100))


def test_with_more_threads_it_is_another_one(threads):
    found = []
    with Beside() as beside:
        beside.do(lambda: found.append(threading.get_ident()))
    assert (found == [threading.get_ident()]) == (threads == 1)


def test_an_error_is_raised_and_nothing_is_called_after_it():
    found = []

    def fail():
        raise MemoryError("no room")

    def all_calls():
        with Beside() as beside:
            beside.do(fail)
            for number in range(100):
                beside.do(lambda number=number: found.append(number))

    with pytest.raises(MemoryError, match="no room"):
        all_calls()
    assert found == []


def test_an_error_of_the_block_ends_it():
    def fail():
        with Beside() as beside:
            beside.do(lambda: None)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not any(thread.name == "vta-beside" for thread in threading.enumerate())


def test_what_a_call_held_goes_when_it_is_done():
    class Value:
        pass

    with Beside() as beside:
        value = Value()
        gone = weakref.ref(value)
        beside.do(lambda value=value: None)
        del value
        done = threading.Event()
        beside.do(done.set)
        assert done.wait(10)
        assert gone() is None
