# tests/python/autograd/test_autograd_api.py -- backward, grad, leaves and nodes from Python.
import warnings
import weakref

import pytest

import ebb
from tests.python.leaves import leaf


def test_backward_fills_the_gradient_of_leaves():
    x = leaf(3.0)
    (x * x + x).sum().backward()
    assert x.grad.tolist() == [7.0]
    (x * 2).sum().backward()
    assert x.grad.tolist() == [9.0]
    x.grad = None
    assert x.grad is None


def test_backward_takes_a_gradient_by_position_or_name():
    x = leaf(1.0, 2.0)
    (x * 2).backward(ebb.tensor([1.0, 10.0]))
    (x * 2).backward(gradient=ebb.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [4.0, 40.0]
    with pytest.raises(RuntimeError, match="one real floating element"):
        (x * 2).backward()


def test_autograd_backward_takes_several_roots():
    x = leaf(1.0)
    ebb.autograd.backward([(x * 2).sum(), (x * 3).sum()])
    assert x.grad.tolist() == [5.0]
    ebb.autograd.backward([x * 2, x * 3], [ebb.ones(1), None])
    assert x.grad.tolist() == [10.0]


def test_backward_with_inputs_fills_only_those():
    x, y = leaf(2.0), leaf(3.0)
    (x * y).sum().backward(inputs=[x])
    assert x.grad.tolist() == [3.0] and y.grad is None
    with pytest.raises(ValueError, match="'inputs' needs at least one tensor"):
        (x * y).sum().backward(inputs=[])


def test_grad_returns_a_tuple_and_touches_nothing():
    x, y = leaf(2.0), leaf(5.0)
    grads = ebb.autograd.grad((x * y).sum(), (x, y))
    assert isinstance(grads, tuple) and [g.item() for g in grads] == [5.0, 2.0]
    assert x.grad is None and y.grad is None
    (only,) = ebb.autograd.grad((x * 3).sum(), x)
    assert only.item() == 3.0


def test_unused_inputs():
    x, y = leaf(2.0), leaf(5.0)
    with pytest.raises(RuntimeError, match="allow_unused"):
        ebb.autograd.grad((x * 2).sum(), (x, y))
    assert ebb.autograd.grad((x * 2).sum(), (x, y), allow_unused=True)[1] is None
    zeros = ebb.autograd.grad((x * 2).sum(), (x, y), materialize_grads=True)[1]
    assert zeros.tolist() == [0.0]
    with pytest.raises(ValueError, match="allow_unused=True or None, got False"):
        ebb.autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: ebb.autograd.backward([]), ValueError, "'tensors' needs at least one"),
        (lambda: ebb.autograd.backward("a"), TypeError, "got str at position 0"),
        (lambda: ebb.autograd.backward(3), TypeError, "must be Tensor or sequence of Tensors"),
        (lambda: ebb.autograd.grad([], [leaf(1.0)]), ValueError, "'outputs' needs at least one"),
        (lambda: ebb.autograd.grad(leaf(1.0), []), ValueError, "'inputs' needs at least one"),
        (lambda: ebb.autograd.grad(leaf(1.0), [None]), TypeError, "got NoneType at position 0"),
        (lambda: ebb.ones(1).backward(), RuntimeError, "must require a gradient"),
        (lambda: leaf(1.0).backward("a"), TypeError, "'gradient' .* must be Tensor, got str"),
    ],
)
def test_bad_arguments_are_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_freed_graph_says_so_and_retain_graph_keeps_it():
    x = leaf(2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 8.0
    with pytest.raises(RuntimeError, match=r"MulBackward"):
        y.backward()


def test_leaves_and_results():
    x = leaf(1.0)
    y = x * 2
    assert x.is_leaf and x.grad_fn is None and not y.is_leaf and y.requires_grad
    assert repr(y.grad_fn).startswith("<MulBackward0 object at 0x")
    assert y.grad_fn.name() == "MulScalarBackward" and y.output_nr == 0
    (node, index), *rest = y.grad_fn.next_functions
    assert node.name() == "AccumulateGrad" and index == 0 and rest == []
    assert node.variable is x and node.next_functions == ()
    with pytest.raises(AttributeError):
        _ = y.grad_fn.variable
    with pytest.raises(TypeError):
        type(node)()


def test_nodes_of_ops_inside_ebb_are_put_down_to_the_user():
    x = leaf(1.0, 2.0)
    y = ebb.nn.functional.relu(x)
    assert y.grad_fn.location[0] == __file__


def test_nodes_carry_notes():
    y = leaf(1.0) * 2
    node = y.grad_fn
    node.metadata["note"] = 1
    assert y.grad_fn.metadata == {"note": 1}
    del node
    assert y.grad_fn.metadata == {"note": 1}  # kept with the op, not with its object


def test_notes_are_freed_with_their_node():
    class Token:
        pass

    y = leaf(1.0) * 2
    token = Token()
    gone = weakref.ref(token)
    y.grad_fn.metadata["token"] = token
    del token
    assert gone() is not None
    del y
    assert gone() is None


def test_retain_grad_keeps_an_inner_gradient():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    assert y.retains_grad and not x.retains_grad
    (y * 3).sum().backward()
    assert y.grad.item() == 3.0 and x.grad.item() == 6.0
    with pytest.raises(RuntimeError, match="retain_grad"):
        ebb.ones(1).retain_grad()


def test_detach_and_data_share_memory_without_history():
    x = leaf(1.0)
    y = x * 2
    for cut in (y.detach(), y.data):
        assert not cut.requires_grad and cut.data_ptr() == y.data_ptr()
    assert y.detach_() is y and y.is_leaf and not y.requires_grad
    with pytest.raises(RuntimeError, match="cut by detach"):
        y.sum().backward()


@pytest.mark.parametrize(
    "freeze", [lambda x: x.requires_grad_(False), lambda x: x.detach_()], ids=["flag", "detach_"]
)
def test_a_leaf_takes_gradients_while_it_requires_them(freeze):
    x, y = leaf(2.0), leaf(3.0)
    added = []
    x.register_post_accumulate_grad_hook(lambda tensor: added.append(tensor.grad.item()))
    loss = (x * y).sum()
    loss.backward(retain_graph=True)
    freeze(x)
    assert not x.requires_grad and x.is_leaf and x.grad.item() == 3.0
    loss.backward(retain_graph=True)
    assert (x.grad.item(), y.grad.item(), added) == (3.0, 4.0, [3.0])
    x.requires_grad_()
    loss.backward()
    assert (x.grad.item(), y.grad.item(), added) == (6.0, 6.0, [3.0, 6.0])


def test_a_leaf_frozen_within_a_run_takes_nothing_more():
    x, y = leaf(2.0), leaf(3.0)
    product = x * y

    def freeze(grad):
        x.requires_grad_(False)

    product.register_hook(freeze)
    product.sum().backward()
    assert x.grad is None and y.grad.item() == 2.0


def test_setting_data_keeps_the_leaf():
    x = leaf(1.0)
    x.data = ebb.tensor([5.0])
    assert x.item() == 5.0 and x.requires_grad and x.is_leaf


def test_requires_grad_and_stop_gradient():
    x = ebb.ones(2)
    x.requires_grad = True
    assert not x.stop_gradient and x.requires_grad_(False) is x and x.stop_gradient
    x.stop_gradient = False
    assert x.requires_grad
    y = x * 2
    with pytest.raises(RuntimeError, match="history"):
        y.requires_grad = False
    y.stop_gradient = True
    assert y.is_leaf and not y.requires_grad


def test_set_grad_enabled_acts_at_once_or_for_a_block():
    with ebb.set_grad_enabled(False):
        assert not ebb.is_grad_enabled()
    assert ebb.is_grad_enabled()
    ebb.set_grad_enabled(False)
    assert not ebb.is_grad_enabled()
    ebb.set_grad_enabled(True)


def test_a_root_cut_by_no_grad_names_the_line():
    x = leaf(1.0)
    with ebb.no_grad():
        y = (x * 2).sum()
    with pytest.raises(RuntimeError, match=r"test_autograd_api.py:\d+"):
        y.backward()


def test_reading_the_gradient_of_a_result_that_keeps_none_warns():
    x = leaf(1.0)
    y = x * 2
    with pytest.warns(UserWarning, match=r"(?s)no leaf gets none.*retain_grad"):
        assert y.grad is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.grad is None and ebb.ones(1).grad is None
        y.retain_grad()
        assert y.grad is None
        z = x * 3
        z.backward(inputs=[z])
        assert z.grad.tolist() == [1.0]


def test_a_gradient_may_be_set_and_deleted():
    x = leaf(1.0)
    x.grad = ebb.ones(1)
    (x * 2).backward()
    assert x.grad.tolist() == [3.0]
    del x.grad
    assert x.grad is None
    for wrong, error, text in [
        (3, TypeError, "grad: needs a Tensor or None, got int"),
        (ebb.ones(2), ValueError, r"needs the tensor's shape \[1\], got \[2\]"),
        (ebb.ones(1, dtype=ebb.float64), TypeError, "dtype float32, got float64"),
        (x, ValueError, "needs another tensor"),
    ]:
        with pytest.raises(error, match=text):
            x.grad = wrong
    assert x.grad is None


def test_a_gradient_is_contiguous_whatever_the_strides_of_its_leaf():
    x = ebb.ones(3, 2).t().requires_grad_()
    x.t().exp().sum().backward()
    assert not x.is_contiguous() and x.grad.is_contiguous()
    assert x.grad.view(-1).shape == (6,)


def test_the_gradient_of_a_complex_tensor_is_its_direction_of_steepest_ascent():
    z = ebb.tensor(3.0 + 4.0j, requires_grad=True)
    (z * z.conj()).backward(ebb.tensor(1.0 + 0.0j))  # |z|^2
    assert z.grad.item() == 6.0 + 8.0j
    real = ebb.tensor(2.0, requires_grad=True)
    (real * ebb.tensor(5.0 + 7.0j)).backward(ebb.tensor(1.0 + 0.0j))
    assert real.grad.dtype is ebb.float32 and real.grad.item() == 5.0
