# tests/python/autograd/test_lifetime.py -- identity, attributes, weak references, cycles and leaks.
import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import ebb
from tests.python.held import live, live_without_garbage
from tests.python.threads import on_threads


class Named(ebb.Tensor):
    pass


class Array(np.ndarray):
    pass


def test_a_tensor_keeps_its_object():
    x = ebb.ones(2, requires_grad=True)
    x.sum().backward()
    assert x.grad is x.grad and x.add_ is not None
    y = x.detach()
    assert y is not x and y.add_(1) is y


def test_grad_fn_keeps_its_object():
    y = ebb.ones(2, requires_grad=True) * 2
    node = y.grad_fn
    assert y.grad_fn is node and (y + 1).grad_fn.next_functions[0][0] is node


def test_attributes_stay_while_only_cpp_holds_the_tensor():
    x = ebb.ones(2, requires_grad=True)
    x.grad = ebb.zeros(2)
    x.grad.note = "kept"
    x.grad.other = x.grad.note
    gc.collect()
    assert x.grad.note == "kept" and x.grad.__dict__ == {"note": "kept", "other": "kept"}


def test_a_subclass_stays_while_only_cpp_holds_the_tensor():
    x = ebb.ones(2, requires_grad=True)
    x.grad = ebb.zeros(2).as_subclass(Named)
    gc.collect()
    assert type(x.grad) is Named
    x.grad = None
    gc.collect()
    assert x.grad is None


def test_what_cpp_held_is_freed_with_its_attributes():
    class Token:
        pass

    x = ebb.ones(2, requires_grad=True)
    x.grad = ebb.zeros(2)
    token = Token()
    gone = weakref.ref(token)
    x.grad.token = token
    del token
    gc.collect()
    assert gone() is not None
    x.grad = None
    assert gone() is None


def test_weak_references_die_with_pythons_last_reference():
    called = []
    x = ebb.ones(2)
    weak = weakref.ref(x, called.append)
    assert weak() is x
    del x
    assert weak() is None and len(called) == 1


def test_cycles_through_attributes_are_collected():
    gc.collect()
    x = ebb.ones(2)
    x.myself = x
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None
    y = Named([1.0])
    y.list = [y]
    gone = weakref.ref(y)
    del y
    gc.collect()
    assert gone() is None


def test_only_tensors_with_attributes_are_tracked():
    x = ebb.ones(2)
    assert not gc.is_tracked(x)
    x.note = 1
    assert gc.is_tracked(x)


def test_finalizers_of_subclasses_run_once():
    log = []

    class Loud(ebb.Tensor):
        def __del__(self):
            log.append("gone")

    x = Loud([1.0])
    del x
    gc.collect()
    assert log == ["gone"]


def test_subclasses_construct_and_work():
    x = Named([1.0, 2.0], requires_grad=True)
    assert type(x) is Named and x.requires_grad and type(x + 1) is ebb.Tensor
    y = Named._make_subclass(Named, ebb.ones(2), True)
    assert type(y) is Named and y.is_leaf and isinstance(y, ebb.Tensor)

    class Slotted(ebb.Tensor):
        __slots__ = ("extra",)

    z = Slotted([1.0])
    z.extra = 5
    assert z.extra == 5 and z.tolist() == [1.0]


def test_no_reference_is_lost_or_leaked_by_ops():
    x = ebb.ones(2)
    before = sys.getrefcount(x)
    for _ in range(100):
        x.add_(1)
        ebb.add(x, other=x, out=x)
        x + 1.0
        with pytest.raises(TypeError):
            ebb.add(x, "a")
        x[0], x.shape, x.dtype, x.tolist()
    assert sys.getrefcount(x) == before
    assert sys.getrefcount(ebb.float32) < 1000


def test_live_bytes_come_back_after_many_steps():
    x = ebb.ones(8, 8, requires_grad=True)

    def step():
        (x * 2 + x).sum().backward()
        x.grad = None

    for _ in range(10):
        step()
    before = live_without_garbage()
    for _ in range(1000):
        step()
    assert live() == before


def test_create_graph_leaves_no_cycle():
    def step():
        x = ebb.ones(4, requires_grad=True)
        (x * x * x).sum().backward(create_graph=True)
        assert x.grad.requires_grad

    gc.collect()
    step()
    before = live_without_garbage()
    for _ in range(10_000):
        step()
    assert live() == before  # bytes of tensors and of nodes


def test_a_long_chain_is_destroyed_without_recursion():
    x = ebb.ones(1, requires_grad=True)
    y = x
    for _ in range(300_000):
        y = y + x
    y.backward()
    assert x.grad.item() == 300_001.0
    del y


def test_tensors_cross_threads():
    made = []

    def work():
        x = ebb.ones(100, requires_grad=True)
        for _ in range(200):
            y = (x * 2).sum()
        y.backward()
        made.append(x.grad)

    on_threads(*[work] * 4)
    assert len(made) == 4 and all(one.tolist() == [2.0] * 100 for one in made)


def test_large_ops_run_while_other_threads_hold_python():
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    x = ebb.ones(512, 512)
    for _ in range(20):
        x @ x
    stop.set()
    thread.join()
    assert ticks


def test_what_backward_drops_without_the_lock_is_freed_when_it_returns():
    array = np.ones(4, np.float32).view(Array)
    gone = weakref.ref(array)
    x = ebb.ones(4, requires_grad=True)
    y = (x * ebb.from_numpy(array)).sum()
    del array
    gc.collect()
    assert gone() is not None
    y.backward()  # frees what the node saved, while Python is unlocked
    gc.collect()
    assert gone() is None


def test_gradients_with_attributes_may_be_replaced_while_others_look():
    x = ebb.ones(4, requires_grad=True)
    stop = threading.Event()

    def look():
        while not stop.is_set():
            if x.grad is not None:
                x.grad.note = object()

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        (x * x).sum().backward(create_graph=True)
    stop.set()
    for thread in threads:
        thread.join()
    assert x.grad.tolist() == [200.0] * 4
    x.grad = None
