# tests/python/tensor/test_views_in_place.py -- methods that change a tensor's shape or memory in
# place: histories, views and graphs that knew the tensor before.
"""unsqueeze_, t_, resize_, set_ and other methods that change a view in place."""

import pytest

import ebb

CHANGES = {
    "unsqueeze_": ((1,), (2, 1, 3)),
    "t_": ((), (3, 2)),
    "transpose_": ((0, 1), (3, 2)),
    "swapaxes_": ((0, 1), (3, 2)),
    "swapdims_": ((-1, 0), (3, 2)),
    "squeeze_": ((), (2, 3)),
    "as_strided_": (((2, 2), (1, 2)), (2, 2)),
}


def plain(name):
    return name.removesuffix("_")


@pytest.mark.parametrize("name", CHANGES)
def test_the_object_becomes_what_the_plain_form_returns(name):
    args, shape = CHANGES[name]
    x = ebb.arange(6.0).reshape(2, 3).clone()
    wanted = getattr(x, plain(name))(*args)
    same = getattr(x, name)(*args)
    assert same is x and x.shape == shape
    assert x.stride() == wanted.stride() and x.tolist() == wanted.tolist()
    assert x.data_ptr() == wanted.data_ptr()


@pytest.mark.parametrize("name", CHANGES)
def test_gradients_pass_through_and_graphs_from_before_stay_right(name):
    args, _ = CHANGES[name]
    leaf = ebb.arange(6.0).reshape(2, 3).clone().requires_grad_()
    x = leaf * 2
    squares = x * x  # saves x as it was
    getattr(x, name)(*args)
    weights = ebb.arange(float(x.numel())).reshape(x.shape) + 1
    (found,) = ebb.autograd.grad((x * weights).sum() + squares.sum(), leaf)
    again = leaf * 2
    (wanted,) = ebb.autograd.grad(
        (getattr(again, plain(name))(*args) * weights).sum() + (again * again).sum(), leaf
    )
    assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("name", CHANGES)
def test_writes_go_through_to_views_from_before(name):
    args, _ = CHANGES[name]
    leaf = ebb.zeros(2, 3, requires_grad=True)
    x = leaf * 1
    row = x[0]
    getattr(x, name)(*args)
    x.mul_(3)
    x.add_(1)
    assert row[0].item() == 1.0
    (found,) = ebb.autograd.grad(row[0], leaf)
    assert found.tolist() == [[3.0, 0.0, 0.0], [0.0] * 3]


def test_a_view_in_place_of_a_view_keeps_its_base():
    base = ebb.zeros(2, 3)
    view = base[:1]
    view.squeeze_(0)
    view.fill_(7)
    assert view.shape == (3,) and base.tolist() == [[7.0] * 3, [0.0] * 3]


def test_several_dims_are_squeezed_in_place_as_they_are_elsewhere():
    for dims in ((0, 2), ((0, 2),)):
        x = ebb.arange(2).reshape(1, 2, 1, 1)
        assert x.squeeze_(*dims) is x and x.shape == (2, 1)


def test_a_tensor_that_nobody_else_shows_is_no_view_afterwards():
    x = ebb.arange(6.0).reshape(2, 3).clone()
    x.t_()
    assert not x._is_view() and x._base is None and x.is_leaf
    x.requires_grad_()
    (x * x).sum().backward()
    assert x.grad.shape == (3, 2)
    y = (x * 2).unsqueeze_(0)
    assert y.grad_fn is not None and not y._is_view() and y.detach_().grad_fn is None


def test_attributes_name_and_retained_gradient_stay():
    x = ebb.ones(3, requires_grad=True) * 2
    x.label, x.name = "mine", "x"
    x.retain_grad()
    x.unsqueeze_(0)
    x.sum().backward()
    assert x.label == "mine" and x.name == "x" and x.grad.tolist() == [[1.0] * 3]


def test_history_stays_under_no_grad():
    leaf = ebb.ones(3, requires_grad=True)
    x = leaf * 2
    with ebb.no_grad():
        x.unsqueeze_(0)
    assert ebb.autograd.grad(x.sum(), leaf)[0].tolist() == [2.0] * 3


@pytest.mark.parametrize("mode", [ebb.no_grad, ebb.enable_grad])
def test_a_leaf_that_requires_a_gradient_is_refused(mode):
    leaf = ebb.ones(3, requires_grad=True)
    with mode(), pytest.raises(ebb.AutogradError, match=r"^unsqueeze_: a leaf that requires"):
        leaf.unsqueeze_(0)


def test_more_dims_than_a_tensor_has_room_for():
    x = ebb.zeros(2, 2, 2, 2)
    for _ in range(5):
        x.unsqueeze_(0)
    assert x.shape == (1,) * 5 + (2,) * 4


def test_resize_keeps_what_memory_holds():
    x = ebb.arange(6.0)
    assert x.resize_(2, 2).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert x.resize_((6,)).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    other = x[:]
    assert x.resize_(2, 5)[0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0] and x.is_contiguous()
    x.zero_()
    assert other.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert ebb.empty(0).resize_(3).shape == (3,) and ebb.ones(3).resize_(0, 2).shape == (0, 2)
    assert ebb.zeros(4).resize_as_(ebb.ones(2, 2)).shape == (2, 2)
    columns = ebb.ones(2, 3).t()
    assert columns.resize_(3, 2).stride() == (1, 3)  # of its size already
    with pytest.raises(ebb.AutogradError, match=r"^resize_: needs a tensor that requires no"):
        ebb.ones(2, requires_grad=True).resize_(1)


def test_set_shows_other_memory():
    source = ebb.arange(6.0)
    x = ebb.zeros(2)
    assert x.set_(source) is x and x.is_set_to(source) and not x.is_set_to(source[:3])
    source[0] = 9
    assert x[0].item() == 9.0
    assert x.set_(source, 1, (2, 2), (2, 1)).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert x.set_(source, 1, (2,)).tolist() == [1.0, 2.0]
    assert x.set_(source[3:].storage()).is_set_to(source)
    assert x.set_(source.untyped_storage(), 1, (2, 2), (1, 2)).tolist() == [[1.0, 3.0], [2.0, 4.0]]
    bits = ebb.zeros(1, dtype=ebb.int32)
    assert bits.set_(source.untyped_storage()).tolist() == source.view(ebb.int32).tolist()
    assert x.set_().shape == (0,)
    leaf = ebb.zeros(6, requires_grad=True)
    leaf.set_(source)
    (leaf * leaf).sum().backward()
    assert leaf.grad[1].item() == 2.0
    with pytest.raises(ebb.DTypeError, match=r"^set_: source needs dtype float32"):
        x.set_(ebb.zeros(2, dtype=ebb.float64))


def test_detach_as_a_function():
    x = ebb.ones(2, requires_grad=True) * 2
    assert ebb.detach_(x) is x and x.grad_fn is None
