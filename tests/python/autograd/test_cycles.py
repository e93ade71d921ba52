# tests/python/autograd/test_cycles.py -- cycles through Python: what the collector finds, and the
# ways out of those that it cannot see (docs/semantics.md).
"""Bytes alive after a cycle was dropped."""

import contextlib

import pytest

import ebb
from ebb.autograd import Function, graph
from tests.python.held import live_without_garbage

SIZE = 10_000


@contextlib.contextmanager
def nothing_left():
    """Tensors made inside are gone at the end; a few bytes are made once per process."""
    before = live_without_garbage()
    yield
    assert live_without_garbage() - before < SIZE  # a tensor has four times that


class Packed:
    def __init__(self, value):
        self.value = value


class Packing:
    """Hooks that remember what they packed."""

    def __init__(self):
        self.packed = []

    def pack(self, value):
        self.packed.append(Packed(value))
        return self.packed[-1]

    def hooks(self):
        return graph.saved_tensors_hooks(self.pack, lambda packed: packed.value)


@pytest.fixture
def x():
    return ebb.ones(SIZE, requires_grad=True)


def test_backward_ends_a_cycle_through_what_a_hook_packed(x):
    with nothing_left():
        packing = Packing()
        with packing.hooks():
            y = x * x
        packing.packed[0].graph = y
        y.sum().backward()
        x.grad = None
        del y, packing


def test_a_detached_result_in_what_a_hook_packed_makes_no_cycle(x):
    with nothing_left():
        packing = Packing()
        with packing.hooks():
            y = x * x
        packing.packed[0].values = y.detach()
        del y, packing


def test_a_tensor_may_have_a_view_of_its_values_as_an_attribute():
    with nothing_left():
        x = ebb.ones(SIZE)
        x.first = x.detach()[0]
        del x


def test_a_tensor_is_freed_once_its_view_is_no_attribute_any_more():
    with nothing_left():
        x = ebb.ones(SIZE)
        x.first = x[0]
        del x.first
        del x


def two_outputs(keep):
    """A function of two outputs, which `keep(ctx, first, second)` may keep."""

    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            first, second = x * 2, x * 3
            keep(ctx, first, second)
            return first, second

        @staticmethod
        def backward(ctx, first, second):
            return first * 2 + second * 3

    return Two


def keep_one(ctx, first, second):
    ctx.first = first


def save_both(ctx, first, second):
    ctx.save_for_backward(first, second)


@pytest.mark.parametrize("keep", [keep_one, save_both])
def test_a_function_of_two_outputs_is_collected(x, keep):
    function = two_outputs(keep)
    with nothing_left():
        first, second = function.apply(x)
        del first, second
