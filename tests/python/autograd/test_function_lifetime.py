# tests/python/autograd/test_function_lifetime.py -- custom functions: what they save, and when it
# goes.
import gc
import weakref

import pytest

import ebb
from tests.python.autograd.function_support import Cube, make
from tests.python.fresh import printed
from tests.python.held import live_without_garbage
from tests.python.leaves import leaf


def test_saved_tensors_are_checked_for_writes():
    x = leaf(2.0) * 1
    y = Cube.apply(x).sum()
    with ebb.no_grad():
        x.mul_(2)
    with pytest.raises(RuntimeError, match=r"CubeBackward: needs 'saved_tensors\[0\]'"):
        y.backward()


def test_saved_tensors_are_freed_with_the_graph():
    y = Cube.apply(leaf(2.0)).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="CubeBackward: needs what it saved"):
        y.backward()


def test_saved_tensors_may_be_read_often_unless_cleared_on_access():
    reads = []

    def forward(ctx, x):
        ctx.save_for_backward(x, None)
        return x * 1

    def backward(ctx, g):
        reads.append(ctx.saved_tensors)
        reads.append(ctx.saved_tensors)
        return g

    x = leaf(1.0)
    made = make(forward, backward)
    made.apply(x).sum().backward()
    assert len(reads) == 2 and reads[0][1] is None
    made.clear_saved_tensors_on_access = True
    with pytest.raises(RuntimeError, match="needs what it saved"):
        made.apply(x).sum().backward()


def test_save_for_backward_takes_tensors_only_and_in_forward_only():
    def forward(ctx, x):
        kept.append(ctx)
        ctx.save_for_backward(x, 3)
        return x

    kept = []
    with pytest.raises(TypeError, match="save_for_backward: argument 1 must be a Tensor or None"):
        make(forward).apply(leaf(1.0))
    with pytest.raises(RuntimeError, match="needs a call inside forward"):
        kept[0].save_for_backward()
    with pytest.raises(RuntimeError, match="needs a call inside forward"):
        kept[0].mark_dirty()


def test_the_last_call_of_save_for_backward_counts():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_backward(None, x)
        return x * 1

    x, seen = leaf(1.0), []
    make(forward, lambda ctx, g: (seen.append(ctx.saved_tensors), g)[1]).apply(x).backward()
    assert seen == [(None, x)]


def test_a_ctx_that_outlives_its_graph_raises():
    kept = []

    def forward(ctx, x):
        kept.append(ctx)
        ctx.save_for_backward(x)
        with pytest.raises(RuntimeError, match="has not returned yet"):
            _ = ctx.saved_tensors
        return x * 2

    x = leaf(1.0)
    y = make(forward, lambda ctx, g: g).apply(x)
    (ctx,) = kept
    assert ctx.saved_tensors[0].tolist() == [1.0]
    del y
    with pytest.raises(RuntimeError, match="not recorded or is gone"):
        _ = ctx.saved_tensors
    assert ctx.needs_input_grad == (True,)


class Token:
    pass


def test_ctx_dies_with_the_graph():
    token = Token()
    alive = weakref.ref(token)

    def forward(ctx, x, token):
        ctx.token = token
        return x * 2

    y = make(forward, lambda ctx, g: (g, None)).apply(leaf(1.0), token)
    del token
    assert alive() is not None
    del y
    assert alive() is None


@pytest.mark.parametrize("way", ["output", "closure", "container"])
def test_cycles_through_ctx_are_collected(way):
    token = Token()
    alive = weakref.ref(token)

    def forward(ctx, x, holder, token):
        ctx.token = token
        ctx.holder = holder
        y = x * 2
        if way == "output":
            ctx.y = y
        return y

    holder = []
    y = make(forward, lambda ctx, g: (g, None, None)).apply(leaf(1.0), holder, token)
    if way == "closure":
        holder.append(lambda y=y: y)
    elif way == "container":
        holder.append({"y": y})
    del y, token, holder, forward
    gc.collect()
    assert alive() is None


def test_an_output_on_ctx_survives_collection_while_in_use():
    def forward(ctx, x):
        ctx.y = x * 2
        return ctx.y

    x = leaf(1.0)
    y = make(forward, lambda ctx, g: g * ctx.y).apply(x)
    z = y * 1
    gc.collect()
    del y
    gc.collect()
    z.sum().backward()
    assert x.grad.tolist() == [2.0]


def test_ctx_attributes_are_not_kept_by_the_collector_alone():
    before = live_without_garbage()
    for _ in range(100):
        x = leaf(1.0)
        Cube.apply(x).sum().backward(create_graph=True)
        x.grad = None
        del x
    assert live_without_garbage() - before < 2000


DEEP = """
import threading
import ebb

class Same(ebb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = [x]
        return x * 1
    @staticmethod
    def backward(ctx, g):
        return g

def work():
    x = ebb.tensor(1.0, requires_grad=True)
    y = x
    for _ in range({count}):
        y = Same.apply(y)
    y.backward()
    assert x.grad.item() == 1.0
    del y
    print("done")

threading.stack_size(512 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def test_a_deep_chain_on_a_small_stack():
    assert printed(DEEP.format(count=50_000)) == "done\n"


@pytest.mark.long
def test_a_million_functions_on_a_small_stack():
    assert printed(DEEP.format(count=1_000_000)) == "done\n"
