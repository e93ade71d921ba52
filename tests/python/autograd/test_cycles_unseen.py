# tests/python/autograd/test_cycles_unseen.py -- cycles through Python that no collector finds, and
# the way out of each, as the table in docs/semantics.md lists them.
"""If one of these is found one day, its row in docs/semantics.md goes."""

import gc
import re
import weakref
from pathlib import Path

import pytest

import ebb
from ebb import nn
from ebb.autograd import Function, graph
from ebb.utils.checkpoint import checkpoint

SEMANTICS = Path(__file__).parents[3] / "docs" / "semantics.md"


@pytest.fixture(autouse=True, scope="module")
def look_at_new_objects_only():
    """Else each collection walks all that pytest and the package hold."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


class Box:
    """Holds whatever it is given, also what leads back to itself."""


class Remembers(Function):
    """Keeps its second argument on ctx."""

    @staticmethod
    def forward(ctx, x, kept):
        ctx.kept = kept
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2, None


class Saves(Function):
    @staticmethod
    def forward(ctx, x, constant):
        ctx.save_for_backward(constant)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2, None


class Two(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = (x * 2, x * 3)
        return ctx.kept

    @staticmethod
    def backward(ctx, first, second):
        return first * 2 + second * 3


def hook_of(box):
    return lambda *grads: box and None


def hook_and_later_result(box):
    box.h = box.w * 2
    box.handle = box.h.register_hook(hook_of(box))
    box.out = box.h.sin()


def hook_of_a_dropped_result(box):
    h = box.w * 2
    box.handle = h.register_hook(hook_of(box))
    box.out = h.sin()


def leaf_hook_and_result(box):
    box.handle = box.w.register_hook(hook_of(box))
    box.out = box.w * 2


def post_accumulate_hook_and_result(box):
    box.handle = box.w.register_post_accumulate_grad_hook(hook_of(box))
    box.out = box.w * 2


def multi_grad_hook(box):
    box.h = box.w * 2
    box.handle = graph.register_multi_grad_hook([box.w, box.h], hook_of(box))


def gradient_with_history(box):
    box.w.register_hook(hook_of(box))
    (box.w * box.w).sum().backward(create_graph=True)


def module_hook_and_later_result(box):
    box.module = nn.Linear(1, 1)
    box.module.register_full_backward_hook(hook_of(box))
    box.out = box.module(ebb.ones(1, 1)).sum()


def both_outputs_on_ctx(box):
    outputs = box.outputs = Two.apply(box.w)
    outputs[0].box = box


def ctx_and_later_result(box):
    box.out = Remembers.apply(box.w, box) * 2


def node_hook(box):
    box.h = box.w * 2
    box.handle = box.h.grad_fn.register_hook(hook_of(box))


def packed_value(box):
    with graph.saved_tensors_hooks(lambda value: (box, value), lambda packed: packed[1]):
        box.y = box.w * box.w


def unpack_hook(box):
    with graph.saved_tensors_hooks(lambda value: value, lambda value: value if box else None):
        box.y = box.w * box.w


def checkpointed_function(box):
    box.y = checkpoint(lambda: box.w * box.w)


def attribute_of_a_base(box):
    x = ebb.ones(2)
    x.box, box.view = box, x[0]


def attribute_of_a_saved_result(box):
    h = box.w * 2
    h.box, box.out = box, h.sin()


def attribute_of_a_saved_constant(box):
    constant = ebb.ones(2)
    constant.box, box.y = box, Saves.apply(box.w, constant)


def attribute_of_a_grad(box):
    box.w.sum().backward()
    box.w.grad.box = box


def metadata(box):
    box.y = box.w * 2
    box.y.grad_fn.metadata["box"] = box


def remove(box):
    box.handle.remove()


def run(box):
    box.y.sum().backward()


def detach(box):
    box.out = box.out.detach()


def drop_attribute(name):
    return lambda box: delattr(box, name)


def drop_gradients(box):
    box.w.grad = None


def keep_node(box):
    box.node = box.y.grad_fn


# Row of the table: how each cycle is made, and what ends it.
CYCLES = {
    "owners": {
        hook_and_later_result: remove,
        hook_of_a_dropped_result: remove,
        leaf_hook_and_result: remove,
        post_accumulate_hook_and_result: detach,
        multi_grad_hook: remove,
        gradient_with_history: drop_gradients,
        module_hook_and_later_result: detach,
        both_outputs_on_ctx: None,  # save_for_backward(): test_cycles.py
        ctx_and_later_result: detach,
    },
    "node hook": {node_hook: remove},
    "packed": {packed_value: run, unpack_hook: run, checkpointed_function: run},
    "attributes": {
        attribute_of_a_base: drop_attribute("view"),
        attribute_of_a_saved_result: detach,
        attribute_of_a_saved_constant: run,
        attribute_of_a_grad: drop_attribute("w"),
    },
    "metadata": {metadata: keep_node},
}
EACH = [(make, way_out) for row in CYCLES.values() for make, way_out in row.items()]


def lives_on(make, way_out=None):
    """Whether a box is still there after it was dropped. What was found to live on goes now."""
    box = Box()
    box.w = ebb.ones(2, requires_grad=True)
    make(box)
    if way_out is not None:
        way_out(box)
    watcher = weakref.ref(box)
    del box
    gc.collect()
    left = watcher()
    if left is None:
        return False
    left.__dict__.clear()
    return True


@pytest.mark.parametrize("make", [make for make, _ in EACH])
def test_a_cycle_that_the_table_lists_is_not_found(make):
    assert lives_on(make)


@pytest.mark.parametrize(("make", "way_out"), [one for one in EACH if one[1] is not None])
def test_the_way_out_of_a_listed_cycle_works(make, way_out):
    assert not lives_on(make, way_out)


def test_the_table_has_a_row_for_each_kind_of_cycle():
    section = SEMANTICS.read_text(encoding="utf-8").split("## Cycles through Python")[1]
    table = section.split("```")[0]
    rows = re.findall(r"^\| (?!---|cycle )", table, re.MULTILINE)
    assert len(rows) == len(CYCLES)


def module_hook(box):
    box.module = nn.Linear(1, 1)
    box.module.register_full_backward_hook(hook_of(box))
    box.out = box.module(ebb.ones(1, 1))


def module_hook_and_gradient_with_history(box):
    module = box.module = nn.Linear(1, 1)
    module.register_full_backward_hook(hook_of(box))
    (module(ebb.ones(1, 1)) ** 2).sum().backward(create_graph=True)


def result_hook(box):
    box.h = box.w * 2
    box.h.register_hook(hook_of(box))


def leaf_hook(box):
    box.w.register_post_accumulate_grad_hook(hook_of(box))
    (box.w * 2).sum().backward()


def ctx_of_a_result(box):
    box.y = Remembers.apply(box.w, box)


def attribute_of_a_result(box):
    box.y = box.w * 2
    box.y.box = box


def metadata_of_a_kept_node(box):
    box.node = (box.w * 2).grad_fn
    box.node.metadata["box"] = box


@pytest.mark.parametrize(
    "make",
    [
        module_hook,
        module_hook_and_gradient_with_history,
        result_hook,
        leaf_hook,
        ctx_of_a_result,
        attribute_of_a_result,
        metadata_of_a_kept_node,
    ],
)
def test_a_cycle_whose_parts_have_one_owner_each_is_found(make):
    assert not lives_on(make)
