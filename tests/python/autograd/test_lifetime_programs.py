# tests/python/autograd/test_lifetime_programs.py -- forty small programs, none of which leaves
# anything.
"""What a program made is gone when its function returns.

Live bytes count tensors, nodes and what nodes saved. A program may leave work to Python's collector
where a cycle goes through Python, and only there. Views have a file of their own.
"""

import contextlib
import copy
import pickle
import weakref

import pytest

import ebb
from ebb.autograd import forward_ad, graph
from ebb.utils.checkpoint import checkpoint
from tests.python.autograd.function_support import Square
from tests.python.held import live_without_garbage
from tests.python.threads import on_threads


def leaf(*shape):
    return ebb.ones(*(shape or (4,)), requires_grad=True)


class KeepsItsOutput(ebb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.out = x * 2
        return ctx.out

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Fails(ebb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        raise KeyError("made by the test")


def a_graph_that_is_never_run():
    (leaf() * leaf()).sum()


def a_run():
    (leaf() * leaf()).sum().backward()


def a_run_that_keeps_its_graph():
    y = (leaf() * leaf()).sum()
    for _ in range(3):
        y.backward(retain_graph=True)


def a_gradient_with_a_graph():
    x = leaf()
    (x * x * x).sum().backward(create_graph=True)


def a_gradient_of_a_gradient():
    x = leaf()
    (first,) = ebb.autograd.grad((x * x * x).sum(), x, create_graph=True)
    first.sum().backward(create_graph=True)


def gradients_that_are_added_with_a_graph():
    x = leaf()
    for _ in range(3):
        (x * x).sum().backward(create_graph=True)


def a_gradient_that_is_differentiated():
    x = leaf()
    (x * x * x).sum().backward(create_graph=True)
    x.grad.sum().backward()


def a_retained_gradient():
    y = leaf() * 2
    y.retain_grad()
    (y * y).sum().backward(create_graph=True)


def a_leaf_that_dies_first():
    x = leaf()
    y = (x * x).sum()
    del x
    y.backward()


def a_leaf_that_became_a_result():
    x = ebb.ones(4)
    x.mul_(leaf())
    x.sum().backward()


def a_detached_result():
    y = leaf() * 2
    y.detach().add_(1)
    y.detach_()


def a_leaf_whose_memory_is_exchanged():
    x = leaf()
    y = (x * x).sum()
    x.data = ebb.zeros(4)
    y.backward()


def a_leaf_that_wants_no_gradient_any_more():
    x = leaf()
    (x * x).sum().backward()
    x.requires_grad_(False)
    x.add_(1)


def a_run_that_fails():
    x = leaf()
    y = Fails.apply(x * x) + x * x
    with pytest.raises(KeyError):
        y.sum().backward()


def a_run_that_fails_and_is_repeated():
    y = Fails.apply(leaf() * 2).sum()
    for _ in range(2):
        with pytest.raises(KeyError):
            y.backward(retain_graph=True)


def a_stale_value():
    x = leaf()
    y = x * 2
    z = y * y
    y.add_(1)
    with pytest.raises(ebb.AutogradError):
        z.sum().backward()


def only_some_inputs():
    x, y = leaf(), leaf()
    (x * y).sum().backward(inputs=[x])
    with pytest.raises(ValueError):
        ebb.autograd.grad(x.sum(), y)


def a_graph_that_is_cut():
    x = leaf()
    y = x * 2
    ebb.autograd.grad((y * y).sum(), x, no_grad_vars=[y], allow_unused=True)


def batched_gradients():
    x = leaf()
    ebb.autograd.grad(x * x, x, ebb.ones(3, 4), is_grads_batched=True)


def an_edge_of_a_tensor_that_is_gone():
    edge = graph.get_gradient_edge(leaf() * 2)
    ebb.autograd.backward(edge, ebb.ones(4))


def a_node_that_is_kept():
    node = (leaf() * leaf()).sum().grad_fn
    assert node.next_functions[0][0].name()


def a_hook():
    x = leaf()
    y = x * 2
    y.register_hook(lambda grad: grad * 2)
    y.sum().backward()


def a_hook_that_is_removed():
    x = leaf()
    x.register_hook(lambda grad: None).remove()
    (x * 2).sum().backward()


def a_hook_that_holds_its_tensor():
    y = leaf() * 2
    y.register_hook(lambda grad: grad * y.sum())
    y.sum().backward()


def a_handle_that_outlives_its_tensor():
    x = leaf()
    handle = x.register_hook(lambda grad: None)
    del x
    handle.remove()


def hooks_of_nodes_and_leaves():
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda owner: setattr(owner, "grad", None))
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: None)
    y.grad_fn.register_hook(lambda *grads: None)
    y.sum().backward()


def a_hook_that_starts_a_run():
    x = leaf()
    y = x * 2

    @ebb.enable_grad()
    def run(grad):
        (leaf() * grad).sum().backward()

    y.register_hook(run)
    y.sum().backward()


def a_hook_on_several_tensors():
    x, y = leaf(), leaf()
    graph.register_multi_grad_hook((x, y), lambda grads: None)
    (x * y).sum().backward()


def values_packed_and_never_asked_for():
    with graph.saved_tensors_hooks(lambda value: [value.clone()], lambda packed: packed[0]):
        x = leaf()
        x * x


def values_packed_and_unpacked():
    with graph.saved_tensors_hooks(lambda value: [value.clone()], lambda packed: packed[0]):
        x = leaf()
        y = (x * x).sum()
    y.backward()


def values_on_the_cpu():
    with graph.save_on_cpu():
        x = leaf()
        (x * x).sum().backward()


def values_that_are_written_over():
    with graph.allow_mutation_on_saved_tensors():
        x = leaf()
        y = x * 2
        z = (y * y).sum()
        y.mul_(3)
        z.backward()


def a_checkpoint():
    x = leaf()
    checkpoint(lambda value: (value * value).sin(), x, use_reentrant=False).sum().backward()


def a_checkpoint_that_is_never_run():
    x = leaf()
    checkpoint(lambda value: (value * value).sin(), x, use_reentrant=False)


def a_function():
    Square.apply(leaf()).sum().backward()


def a_function_differentiated_twice():
    x = leaf()
    (first,) = ebb.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
    first.sum().backward()


def a_function_whose_context_holds_its_output():
    KeepsItsOutput.apply(leaf()).sum().backward()


def a_dual_tensor():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(leaf(), ebb.ones(4))
        forward_ad.unpack_dual((x * x).sum())


def a_hessian():
    ebb.autograd.functional.hessian(lambda x: (x * x * x).sum(), ebb.ones(3))


def copies():
    x = leaf()
    (x * x).sum().backward()
    assert copy.deepcopy(x).requires_grad
    assert pickle.loads(pickle.dumps(x)).requires_grad


def another_thread():
    y = (leaf() * leaf()).sum()
    on_threads(y.backward)


def a_graph_that_another_thread_drops():
    box = [(leaf() * leaf()).sum()]
    on_threads(box.clear)


def attributes_that_close_a_cycle():
    x = leaf()
    x.result = x * 2
    x.result.origin = x


def weak_references():
    y = leaf() * 2
    weakref.ref(y)
    weakref.finalize(y, lambda: None)
    y.sum().backward()


def an_exception_that_holds_a_frame():
    x = leaf()
    with contextlib.suppress(ValueError):
        (x * ebb.ones(5)).sum().backward()


PROGRAMS = [
    program
    for program in list(globals().values())
    if getattr(program, "__module__", None) == __name__
    and callable(program)
    and not isinstance(program, type)
    and program is not leaf
]


def test_there_are_forty():
    assert len(PROGRAMS) >= 40


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_nothing_stays_of_a_program(program):
    for _ in range(3):
        program()
    before = live_without_garbage()
    for _ in range(20):
        program()
    assert live_without_garbage() == before
