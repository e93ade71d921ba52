# tests/python/systems/test_float_modes.py -- how the calling thread rounds, and what it makes of
# subnormal numbers, holds for all that works for it.
import threading

import pytest

import ebb
from tests.python.fresh import printed
from tests.python.systems.programs import module

MANY = 1 << 20


@pytest.fixture(autouse=True)
def as_before():
    yield
    ebb.set_flush_denormal(False)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("dtype", [ebb.float32, ebb.float64])
def test_flushed_are_all_results_of_an_op(threads, dtype):
    ebb.set_num_threads(threads)
    x = ebb.full((MANY,), ebb.finfo(dtype).tiny, dtype=dtype)
    assert (x * 0.5 > 0).all()
    assert ebb.set_flush_denormal(True) is True
    assert (x * 0.5 == 0).all()
    assert ebb.set_flush_denormal(False) is True
    assert (x * 0.5 > 0).all()


def test_flushed_are_gradients_on_several_threads():
    ebb.set_num_threads(4)
    tiny = ebb.finfo(ebb.float32).tiny
    leaves = [ebb.full((MANY,), 1.0, requires_grad=True) for _ in range(8)]
    loss = sum((leaf * tiny).sum() for leaf in leaves) * 0.5
    ebb.set_flush_denormal(True)
    loss.backward()
    assert all((leaf.grad == 0).all() for leaf in leaves)


def test_another_thread_does_not_flush():
    found = []

    def look():
        ebb.set_flush_denormal(True)
        found.append((ebb.full((2,), 1e-38) * 0.1).tolist())

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    found.append((ebb.full((2,), 1e-38) * 0.1).tolist())
    assert found[0] == [0, 0] and found[1][0] > 0


def test_a_child_of_a_fork_flushes_as_its_parent_did():
    code = """
        import os, ebb
        ebb.set_num_threads(2)
        x = ebb.full((1 << 20,), 1e-38)
        x * 0.5
        ebb.set_flush_denormal(True)
        child = os.fork()
        if child == 0:
            os._exit(0 if (x * 0.1 == 0).all() else 1)
        assert os.waitpid(child, 0)[1] == 0
    """
    printed(code)


def test_threads_change_no_result_of_a_sample_of_ops_in_any_mode():
    assert module("beside_modes", 5, 60) == ""


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("share", range(8))
def test_threads_change_no_result_of_any_op_in_any_mode(share):
    assert module("beside_modes", share, 8, timeout=1100) == ""
