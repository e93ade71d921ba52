# tests/python/tensor/test_hostile.py -- nonsense as keys and data, hostile objects, odd endings: no
# crash.
#
# Nonsense as arguments of functions is tests/fuzz/hostile/test_calls.py.
import random

import pytest

import ebb
from tests.fuzz.hostile.values import Angry, junk
from tests.python.fresh import finished


def survive(call):
    """Call; an ordinary error is fine, a bug of ebb is not."""
    try:
        call()
    except ebb.InternalError:
        raise
    except (TypeError, ValueError, LookupError, RuntimeError, MemoryError, OverflowError):
        pass


def test_keys_and_values_survive_nonsense():
    rng = random.Random(1)
    for _ in range(500):
        x = ebb.ones(2, 3, requires_grad=rng.random() < 0.5)
        key = junk(rng) if rng.random() < 0.5 else (junk(rng), junk(rng))
        survive(lambda x=x, key=key: x[key])
        survive(lambda x=x, key=key: x.__setitem__(key, junk(rng)))


def test_data_survives_nonsense():
    rng = random.Random(2)
    for _ in range(500):
        data = [junk(rng) for _ in range(rng.randrange(3))]
        data = data if rng.random() < 0.5 else junk(rng)
        survive(lambda data=data: ebb.tensor(data, dtype=rng.choice([None, ebb.int8])))


def test_an_exception_of_the_user_keeps_its_type():
    class Stop:
        def __index__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ebb.ones(4).reshape(Stop())
    with pytest.raises(KeyboardInterrupt):
        ebb.zeros([1, Stop()])
    with pytest.raises(KeyError, match="angry"):
        ebb.ones(4)[Angry()]


def test_a_list_that_changes_while_it_is_read():
    class Grows:
        def __index__(self):
            sizes.extend([1] * 1000)
            return 1

    sizes = [Grows(), 2, 2]
    assert ebb.ones(4).reshape(sizes).shape == (1, 2, 2)


def run(code):
    done = finished(code)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_interpreter_ends_well_with_tensors_alive():
    run("""
        import sys, threading, numpy as np, ebb
        x = ebb.ones(3, requires_grad=True)
        x.cycle = [x, (x * 2).grad_fn]
        x.grad = ebb.ones(3)
        x.grad.note = x
        array = ebb.from_numpy(np.ones(3))
        node = (x * array).grad_fn
        node.metadata["x"] = x
        view = array.numpy()
        sys.kept = [x, array, node, view]
        def work():
            while True:
                ebb.ones(10) + 1
        threading.Thread(target=work, daemon=True).start()
    """)


def test_threads_that_end_leave_their_tensors():
    run("""
        import threading, ebb
        kept = []
        def work():
            x = ebb.ones(50, requires_grad=True)
            kept.append((x * 2).sum())
        threads = [threading.Thread(target=work) for _ in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        [y.backward() for y in kept]
        kept.clear()
    """)


def test_a_forked_child_can_compute():
    run("""
        import os, ebb
        x = ebb.ones(600, 600)
        x @ x
        pid = os.fork()
        if pid == 0:
            ok = (x @ x)[0, 0].item() == 600.0
            os._exit(0 if ok else 1)
        assert os.waitpid(pid, 0)[1] == 0
    """)
