# tests/python/package/test_decided_otherwise.py -- what Paddle's design names and ebb decides
# otherwise, each decision once.
"""Rows of "Arguments" and of "What Paddle's design names and ebb decides otherwise" in
docs/semantics.md."""

import gc
import weakref

import pytest

import ebb


def leaf():
    return ebb.tensor([1.0, 2.0], requires_grad=True)


def test_a_tuple_of_one_number_is_the_number_and_one_of_a_tensor_is_no_tensor():
    x = ebb.arange(6.0).reshape(2, 3)
    assert x.sum((1,)).tolist() == x.sum(1).tolist() and x.reshape((6,)).shape == (6,)
    for call in (ebb.exp, ebb.neg, lambda pair: ebb.matmul(pair, x)):
        with pytest.raises(TypeError, match=r"'input' \(position 1\) must be Tensor, got tuple"):
            call((x,))
    with pytest.raises(TypeError, match=r"'dim' \(position 1\) must be int, got tuple"):
        x.unsqueeze((0,))


@pytest.mark.parametrize("wrong", [None, 1, 0, 1.5, "True"])
def test_a_switch_of_an_op_takes_bools_only_and_says_its_position(wrong):
    text = rf"'keepdim' \(position 2\) must be bool, got {type(wrong).__name__}"
    with pytest.raises(TypeError, match=text):
        leaf().sum(0, wrong)


def test_a_number_that_an_integer_dtype_does_not_hold_is_refused():
    x = ebb.tensor([255, 1], dtype=ebb.uint8)
    for call in (
        lambda: x + 300,
        lambda: x == -1,
        lambda: x.fill_(-1),
        lambda: ebb.full((2,), -1, dtype=ebb.uint8),
    ):
        with pytest.raises(ValueError, match=r"the number must fit into uint8, got (300|-1)"):
            call()
    assert (x - 1).tolist() == [254, 0] and (x != 256.0).all()


def test_factors_of_integers_are_not_cut():
    ones = ebb.ones(2, 2, dtype=ebb.int64)
    assert ebb.addmm(ones, ones, ones, beta=0.5).tolist() == [[2.5, 2.5]] * 2
    assert ebb.baddbmm(ones[None], ones[None], ones[None], alpha=0.25).dtype is ebb.float32


def test_any_and_all_are_bool_for_every_dtype():
    for dtype in (ebb.uint8, ebb.int64, ebb.bool, ebb.float32):
        x = ebb.tensor([1, 0]).to(dtype)
        assert x.any().dtype is ebb.bool and not ebb.all(x, 0) and (~x.all()).item() is True


def test_none_stands_for_the_default_of_a_backward_run():
    x = leaf()
    loss = (x * x).sum()
    loss.backward(retain_graph=True, create_graph=None)
    assert not x.grad.requires_grad
    loss.backward(retain_graph=None)
    with pytest.raises(RuntimeError, match="MulBackward"):
        loss.backward()


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
def test_no_kernel_stands_in_for_a_layout_that_it_does_not_know(layout):
    x = getattr(ebb.eye(2), layout)()
    with pytest.raises(NotImplementedError, match=rf"cumsum: .* got one of layout {x.layout}"):
        x.cumsum(0)


def test_a_tensor_has_its_memory_from_the_start():
    for x in (ebb.empty(3), ebb.empty(0), ebb.Tensor()):
        assert x.data_ptr() is not None and x.untyped_storage().nbytes() == x.nbytes


def test_gradients_of_batches_add_up_in_the_tensor_that_is_there():
    x = leaf()
    (x * 5.0).sum().backward()
    first = x.grad
    assert first.tolist() == [5.0, 5.0]
    (x * 5.0).sum().backward()
    assert x.grad is first and first.tolist() == [10.0, 10.0]


def test_a_leafs_node_knows_its_leaf_and_does_not_keep_it():
    x = leaf()
    loss = (x * 2.0).sum()
    ((product, _),) = loss.grad_fn.next_functions
    ((node, place),) = product.next_functions
    assert node.variable is x and place == 0 and len(node._input_metadata) == 1
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None and node.variable is None
    loss.backward()  # and nowhere to send the gradient is no error


def test_the_box_of_a_leaf_shows_its_name_and_shape():
    x = leaf()
    dot = ebb.graph((x * 2.0).sum(), names={"weight": x}).to_dot()
    (box,) = [line for line in dot.splitlines() if "fillcolor=lightblue" in line]
    assert '"weight\\l[2]\\l"' in box
