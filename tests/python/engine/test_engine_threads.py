# tests/python/engine/test_engine_threads.py -- backward() on several threads, deep, forked,
# interrupted.
"""Threads never change a gradient, and nothing hangs: not Ctrl-C, not a fork, not the exit."""

import os
import random
import signal
import threading
import time

import numpy as np
import pytest

import ebb
from tests.python.autograd.function_support import noting_double
from tests.python.fresh import finished, printed
from tests.python.held import backward_threads
from tests.python.threads import on_threads


def wide_graph(seed, leaves):
    """Some independent branches from a few leaves, and their sum."""
    rng = random.Random(seed)
    values = [leaves[i % len(leaves)] * 1.5 for i in range(rng.randint(3, 8))]
    for _ in range(60 * len(values)):
        i = rng.randrange(len(values))
        kind = rng.randrange(12)
        if kind == 0:
            values[i] = values[i] + values[rng.randrange(len(values))]
        elif kind < 4:
            values[i] = values[i] * rng.choice(leaves)
        else:
            values[i] = rng.choice((ebb.tanh, ebb.sin, ebb.sigmoid))(values[i])
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total.sum()


def gradients(seed, threads, parallel):
    ebb.set_num_threads(threads)
    rng = np.random.default_rng(seed)
    leaves = [
        ebb.tensor(rng.standard_normal((60, 70)).astype(np.float32), requires_grad=True)
        for _ in range(4)
    ]
    with ebb.autograd.set_multithreading_enabled(parallel):
        wide_graph(seed, leaves).backward()
    return [leaf.grad.numpy().tobytes() for leaf in leaves]


@pytest.mark.parametrize("seed", range(6))
def test_gradients_are_the_same_bits_for_any_number_of_threads(seed, eager_teams):
    expected = gradients(seed, 1, False)
    before = backward_threads()["teams"]
    for threads in (1, 2, 3, 4, 8):
        assert gradients(seed, threads, True) == expected
    assert backward_threads()["teams"] > before


def test_the_switch_acts_at_once_and_as_a_context_manager():
    assert ebb.autograd.is_multithreading_enabled()
    with ebb.autograd.set_multithreading_enabled(False):
        assert not ebb.autograd.is_multithreading_enabled()
    assert ebb.autograd.is_multithreading_enabled()
    ebb.autograd.set_multithreading_enabled(False)
    assert not ebb.autograd.is_multithreading_enabled()
    ebb.autograd.set_multithreading_enabled(True)


def test_the_environment_decides_at_start():
    code = "import ebb; print(ebb.autograd.is_multithreading_enabled())"
    assert printed(code, EBB_PARALLEL_BACKWARD="0") == "False\n"


def test_python_hooks_run_on_the_calling_thread(eager_teams):
    ebb.set_num_threads(4)
    x = ebb.ones(50, requires_grad=True)
    seen = []
    total = x
    for _ in range(6):
        value = x * 1.0
        for _ in range(40):
            value = value * 1.0
        value.register_hook(lambda grad: seen.append(threading.get_ident()))
        for _ in range(40):
            value = value * 1.0
        total = total + value
    total.sum().backward()
    assert seen == [threading.get_ident()] * 6
    assert x.grad[0].item() == 7


def test_custom_functions_run_on_the_calling_thread(eager_teams):
    ebb.set_num_threads(4)
    seen = set()
    double = noting_double(seen.add)
    x = ebb.ones(50, requires_grad=True)
    total = x
    for _ in range(6):
        value = x * 1.0
        for _ in range(60):
            value = value * 1.0
        total = total + double(value)
        for _ in range(60):
            total = total * 1.0
    total.sum().backward()
    assert seen == {threading.get_ident()}
    assert x.grad[0].item() == 13


def test_a_hook_that_raises_stops_all_threads(eager_teams):
    ebb.set_num_threads(4)
    x = ebb.ones(50, requires_grad=True)
    total = x
    for branch in range(6):
        value = x * 1.0
        for step in range(80):
            value = value * 1.0
            if branch == 3 and step == 40:
                value.register_hook(lambda grad: 1 / 0)
        total = total + value
    with pytest.raises(ZeroDivisionError):
        total.sum().backward()
    assert x.grad is None
    (x * 2).sum().backward()
    assert x.grad[0].item() == 2


def nested(x, depth):
    """A value whose hook runs backward of one whose hook runs backward ... `depth` times."""
    value = x * 1.0
    for _ in range(depth):
        below, value = value, x * 1.0
        value.register_hook(lambda grad, below=below: below.backward())
    return value


def test_hooks_nest_backward_a_thousand_deep():
    x = ebb.ones((), requires_grad=True)
    before = set(threading.enumerate())
    nested(x, 1000).backward()
    assert x.grad.item() == 1001
    assert set(threading.enumerate()) <= before


@pytest.mark.long
def test_hooks_nest_backward_ten_thousand_deep():
    x = ebb.ones((), requires_grad=True)
    nested(x, 10_000).backward()
    assert x.grad.item() == 10_001


def test_an_error_comes_up_through_all_levels():
    class DeepError(Exception):
        pass

    def fail(grad):
        raise DeepError("deepest")

    x = ebb.ones((), requires_grad=True)
    value = x * 1.0
    value.register_hook(fail)
    for _ in range(350):
        below, value = value, x * 1.0
        value.register_hook(lambda grad, below=below: below.backward())
    with pytest.raises(DeepError, match="deepest"):
        value.backward()
    assert x.grad is None


def test_threads_add_up_in_a_shared_leaf():
    x = ebb.ones((), requires_grad=True)
    shared = x * 2.0

    def work():
        for _ in range(100):
            (x * 3.0).backward()
            (shared * 1.0).backward(retain_graph=True)

    on_threads(*[work] * 16)
    assert x.grad.item() == 16 * 100 * 5


def test_other_python_threads_go_on_during_backward():
    x = ebb.ones(300, 300, requires_grad=True)
    value = x
    for _ in range(150):
        value = value @ x * 0.001
    loss = value.sum()
    counts = {"during": 0}
    done = threading.Event()

    def count():
        while not done.is_set():
            counts["during"] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    before = counts["during"]
    loss.backward()
    after = counts["during"]
    done.set()
    thread.join()
    assert after > before


def test_ctrl_c_stops_a_long_backward():
    x = ebb.ones(200, 200, requires_grad=True)
    value = x
    for _ in range(8000):
        value = value @ x * 0.001
    loss = value.sum()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        loss.backward()
    timer.join()
    assert x.grad is None  # which the end of the run would have set
    (x * 2).sum().backward()
    assert x.grad[0, 0].item() == 2


FORKS = """
import os, sys, ebb
ebb.set_num_threads(2)
ebb._C._set_eager_teams(True)

def work():
    x = ebb.ones(64, requires_grad=True)
    total = x
    for _ in range(8):
        value = x * 1.0
        for _ in range(40):
            value = value * 1.0
        total = total + value
    total.sum().backward()
    big = ebb.ones(300, 300, requires_grad=True)
    (big @ big).sum().backward()
    return x.grad[0].item() == 9

assert work()
for _ in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        os._exit(0 if work() else 1)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.long)])
def test_children_of_a_fork_run_backward(count):
    printed(FORKS, count, timeout=300)


EXIT = """
import random, sys, threading, time, ebb
from ebb.autograd.graph import saved_tensors_hooks
ebb.set_num_threads(2)

def pause(value):  # Python gives its lock away in here
    sum(i for i in range(300))
    return value

class Identity(ebb.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return pause(value).clone()

    @staticmethod
    def backward(ctx, grad):
        return pause(grad)

def in_no_time(value):
    value.register_hook(lambda grad: None)
    return value

def in_hooks(value):
    value.register_hook(pause)
    value.grad_fn.register_hook(lambda *grads: pause(None))
    return value

def in_functions(value):
    return Identity.apply(value)

def in_saved_hooks(value):
    with saved_tensors_hooks(pause, pause):
        return value * value

def work(finish):
    x = ebb.ones(100, requires_grad=True)
    while True:
        total = x
        for _ in range(4):
            value = x * 1.0
            for _ in range(100):
                value = value * 1.0
            total = total + finish(value)
        total.sum().backward()

finish = globals()[sys.argv[2]]
threading.Thread(target=work, args=(finish,), daemon=True).start()
time.sleep(random.Random(int(sys.argv[1])).random() * 0.05)
"""


@pytest.mark.parametrize("place", ["in_no_time", "in_hooks", "in_functions", "in_saved_hooks"])
@pytest.mark.parametrize("count", [5, pytest.param(100, marks=pytest.mark.long)])
def test_the_interpreter_exits_during_a_daemon_threads_backward(count, place):
    for attempt in range(count):
        done = finished(EXIT, attempt, place)
        assert (done.returncode, done.stderr) == (0, ""), attempt
