# tests/python/autograd/test_node_types.py -- the Python types of nodes: one for each op, by
# PyTorch's name.
import gc
import weakref

import pytest

import ebb
from ebb.autograd.graph import Node
from tests.python.autograd.function_support import double

custom_mul = double(name="Mul")


def x():
    return ebb.tensor([1.0, 2.0], requires_grad=True)


RESULTS = {
    "MulBackward0": lambda x: x * x,
    "AddBackward0": lambda x: x + 1,
    "PowBackward0": lambda x: x**2,
    "MaxBackward0": lambda x: x.max(0).values,
    "LinearBackward0": lambda x: ebb.nn.functional.linear(x, ebb.ones(3, 2)),
    "ReluBackward0": lambda x: ebb.nn.ReLU()(x),
    "MulBackward": custom_mul,
}


@pytest.mark.parametrize("name", RESULTS)
def test_the_type_of_a_node_has_pytorchs_name(name):
    node = RESULTS[name](x()).grad_fn
    assert type(node).__name__ == name
    assert repr(node).startswith(f"<{name} object at 0x")


def test_the_node_of_a_leaf_is_of_type_accumulate_grad():
    [(node, _)] = (x() * 2).grad_fn.next_functions
    assert type(node).__name__ == "AccumulateGrad"


def test_every_type_of_node_is_a_node():
    for result in RESULTS.values():
        assert isinstance(result(x()).grad_fn, Node)
        assert type(result(x()).grad_fn).__mro__[1:] == (Node, object)


def test_overloads_and_calls_of_one_op_share_the_type_of_their_nodes():
    types = {type(y.grad_fn) for y in (x() * 2, x() * x(), x().mul(3), 2 * x())}
    assert len(types) == 1


def test_a_function_named_as_an_op_has_a_type_of_its_own():
    assert type(custom_mul(x()).grad_fn) is not type((x() * x()).grad_fn)


def test_no_type_of_node_makes_objects_or_lets_others():
    made = type((x() * 2).grad_fn)
    for make in (made, Node, type("Mine", (Node,), {})):
        with pytest.raises(TypeError, match="cannot create"):
            make()


def test_a_node_that_only_python_held_is_freed():
    y = x() * 2
    held = weakref.ref(y.grad_fn)
    gc.collect()
    assert held() is None
    y.grad_fn.metadata["note"] = 1
    assert y.grad_fn.metadata == {"note": 1} and type(y.grad_fn).__name__ == "MulBackward0"


def test_functions_of_nodes_take_nodes_of_every_type():
    y = custom_mul(x() * x())
    seen = []

    def ask(grad):
        seen.append(ebb.autograd.graph.will_engine_execute_node(y.grad_fn))

    y.register_hook(ask)
    ebb.autograd.backward([ebb.autograd.graph.GradientEdge(y.grad_fn, 0)], [ebb.ones(2)])
    assert seen == [True]
    assert len(ebb.graph(y.grad_fn).nodes) == 4
