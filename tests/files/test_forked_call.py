"""A call in a copy of the process: what it returns, and nothing where it fails, is stopped or takes too long."""

from tests.split_processes import run_program

START = """
import signal, sys
from vta.files import second_process
from vta.files.forked_call import ForkedCall
"""


def run(code):
    return run_program(START + code)


def test_the_result_is_that_of_the_function():
    code = """
with ForkedCall(lambda: bytes([os.getpid() != first, os.environ["OMP_NUM_THREADS"] == "1"]) * 3_000_000) as call:
    assert call.result(50) == b"\\1\\1" * 3_000_000
assert no_child_is_left()
assert "OMP_NUM_THREADS" not in os.environ
"""
    run(code)


def test_it_comes_after_this_process_where_that_is_wanted():
    code = """
with ForkedCall(lambda: bytes([os.nice(0)]), 3) as call:
    assert call.result(50) == bytes([os.nice(0) + 3])
"""
    run(code)


def test_an_empty_result_is_one():
    run("assert ForkedCall(lambda: b'').result(50) == b''")


def test_there_is_no_result_where_the_function_fails_or_its_process_dies():
    code = """
sys.excepthook = lambda *_: None
for work in (lambda: 1 // 0, lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: os._exit(0)):
    with ForkedCall(work) as call:
        assert call.result(50) is None
        assert call.result(50) is None
assert no_child_is_left()
"""
    run(code)


def test_it_ends_when_nobody_waits_or_the_wait_is_over():
    code = """
for seconds in (None, 0.01):
    with ForkedCall(lambda: os.read(os.pipe()[0], 1)) as call:
        assert seconds is None or call.result(seconds) is None
    assert no_child_is_left()
"""
    run(code)


def test_it_is_possible_where_the_process_may_be_split():
    assert run("print(ForkedCall.possible()); allow_second_process(); print(ForkedCall.possible())") == ["False", "True"]


def test_a_core_is_idle_until_there_are_as_many_calls_as_cores():
    code = """
print(ForkedCall.has_idle_core())
with ForkedCall(lambda: b"") as call:
    print(ForkedCall.has_idle_core())
    call.result(50)
    print(ForkedCall.has_idle_core())
print(ForkedCall.has_idle_core())
"""
    assert run(code) == ["True", "False", "True", "True"]
