# tests/python/engine/test_run_signals.py -- signal handlers and finalizers that run amid
# backward().
import signal
import time

import pytest

import ebb


class Ticks:
    """Calls a function from a signal handler every few milliseconds."""

    def __init__(self, function):
        self.function = function

    def __enter__(self):
        self.before = signal.signal(signal.SIGALRM, lambda *_: self.function())
        signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.before)


def long_chain(nodes=10_000, size=131_072):
    """A loss whose run takes a few times the 50 ms after which it looks for signals."""
    x = ebb.ones(size, requires_grad=True)
    y = x
    for _ in range(nodes):
        y = y * 1.0
    return x, y.sum()


def run_until(loss, is_enough, **options):
    """Repeat backward() until the handlers that ran have seen enough."""
    deadline = time.monotonic() + 30
    while not is_enough() and time.monotonic() < deadline:
        loss.backward(retain_graph=True, **options)
    assert is_enough()


def in_run():
    return ebb.autograd.graph.current_graph_task_id() != -1


@pytest.mark.parametrize("mode", [ebb.enable_grad, ebb.no_grad, ebb.inference_mode])
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_signal_handler_has_the_modes_of_the_caller(mode, create_graph):
    _, loss = long_chain()
    seen = []

    def note():
        inference = ebb.is_inference_mode_enabled()
        y = ebb.ones(1, requires_grad=not inference) * 2
        if in_run():
            seen.append((y.requires_grad, inference))

    expected = {
        ebb.enable_grad: (True, False),
        ebb.no_grad: (False, False),
        ebb.inference_mode: (False, True),
    }
    with mode(), Ticks(note):
        run_until(loss, lambda: len(seen) >= 2, create_graph=create_graph)
    assert set(seen) == {expected[mode]}


def test_what_a_signal_handler_sets_lasts_beyond_the_run():
    x, loss = long_chain()
    done = []

    def switch_off():
        if in_run():
            done.append(ebb.is_grad_enabled())
            ebb.set_grad_enabled(False)

    try:
        with Ticks(switch_off):
            run_until(loss, lambda: len(done) >= 2)
        assert done[:2] == [True, False] and not ebb.is_grad_enabled()
    finally:
        ebb.set_grad_enabled(True)
    assert not x.grad.requires_grad


def test_the_handler_of_a_signal_in_a_nested_run_has_the_modes_of_the_hook():
    _, loss = long_chain()
    seen, outer = [], ebb.ones(1, requires_grad=True) * 2

    def hook(grad):
        with ebb.enable_grad():
            run_until(loss, lambda: len(seen) >= 1)

    outer.register_hook(hook)
    with ebb.no_grad(), Ticks(lambda: in_run() and seen.append(ebb.is_grad_enabled())):
        outer.backward()
    assert set(seen) == {True}


class SetsModes:
    """A packed value that turns recording on as it goes."""

    def __init__(self, value, seen):
        self.value = value
        self.seen = seen

    def __del__(self):
        self.seen.append(ebb.is_grad_enabled())
        ebb.set_grad_enabled(True)


def test_what_a_finalizer_sets_during_a_run_ends_with_it():
    seen, recorded = [], []
    x = y = ebb.ones(2, requires_grad=True)
    for _ in range(4):
        with ebb.autograd.graph.saved_tensors_hooks(
            lambda value: SetsModes(value, seen), lambda packed: packed.value
        ):
            y = y * y
        y.register_hook(lambda grad: recorded.append(ebb.is_grad_enabled()))
    with ebb.no_grad():
        y.backward(ebb.ones(2))
        assert not ebb.is_grad_enabled()
    assert len(seen) == 8 and not seen[0]
    assert recorded == [False] * 4 and not x.grad.requires_grad
