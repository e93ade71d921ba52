# tests/python/tensor/test_memory_formats.py -- channels_last and other orders: strides as
# PyTorch's, the same values, gradients that pass.
"""memory_format= of clone, contiguous, to, the *_like functions and modules."""

import pickle

import pytest

import ebb

F = ebb.nn.functional


def images(*shape):
    return ebb.arange(float(ebb.ones(shape).numel())).reshape(shape)


def test_channels_last_puts_the_channels_innermost():
    x = images(2, 3, 4, 5)
    last = x.contiguous(memory_format=ebb.channels_last)
    assert last.stride() == (60, 1, 15, 3) and last.equal(x)
    assert last.is_contiguous(memory_format=ebb.channels_last) and not last.is_contiguous()
    assert x.is_contiguous(memory_format=ebb.contiguous_format)
    assert not x.is_contiguous(memory_format=ebb.channels_last)
    assert not last._is_view() and last.storage_offset() == 0
    assert last.contiguous(memory_format=ebb.channels_last) is last
    assert x.to(memory_format=ebb.channels_last).stride() == last.stride()
    assert x.to(ebb.float64, memory_format=ebb.channels_last).stride() == last.stride()
    assert x.to(memory_format=ebb.preserve_format) is x
    volume = images(2, 3, 2, 2, 2).clone(memory_format=ebb.channels_last_3d)
    assert volume.stride() == (24, 1, 12, 6, 3)


def test_sizes_of_one_lie_anywhere():
    x = ebb.ones(1, 1, 4, 5)
    assert x.is_contiguous(memory_format=ebb.channels_last)
    assert ebb.ones(2, 3, 1, 1).is_contiguous(memory_format=ebb.channels_last)
    assert not ebb.ones(2, 3).is_contiguous(memory_format=ebb.channels_last)


@pytest.mark.parametrize("name", ["empty_like", "zeros_like", "ones_like", "full_like"])
def test_tensors_like_another_take_a_format(name):
    x = images(2, 3, 4, 5)
    more = (7,) if name == "full_like" else ()
    made = getattr(ebb, name)(x, *more, memory_format=ebb.channels_last, dtype=ebb.float64)
    assert made.stride() == (60, 1, 15, 3) and made.dtype == ebb.float64
    kept = getattr(ebb, name)(x.permute(1, 0, 3, 2), *more, memory_format=ebb.preserve_format)
    assert kept.stride() == x.permute(1, 0, 3, 2).stride()
    if name != "empty_like":
        assert (made == {"zeros_like": 0, "ones_like": 1, "full_like": 7}[name]).all()


@pytest.mark.parametrize("name", ["rand_like", "randn_like", "randint_like"])
def test_random_numbers_take_a_format_and_are_the_same(name):
    x = images(2, 3, 4, 5)
    more = (9,) if name == "randint_like" else ()
    ebb.manual_seed(1)
    wanted = getattr(ebb, name)(x, *more)
    ebb.manual_seed(1)
    found = getattr(ebb, name)(x, *more, memory_format=ebb.channels_last)
    assert found.stride() == (60, 1, 15, 3) and found.equal(wanted)


def test_preserving_keeps_the_order_and_leaves_gaps_out():
    x = images(4, 6)
    preserve = ebb.preserve_format
    assert x.t().clone(memory_format=preserve).stride() == (1, 6)
    assert x[:, ::2].clone(memory_format=preserve).stride() == (3, 1)
    turned = images(2, 3, 4)[:, :, ::2].permute(2, 0, 1)
    assert turned.clone(memory_format=preserve).stride() == (1, 6, 2)
    assert x[:1].expand(3, 6).clone(memory_format=preserve).stride() == (6, 1)
    assert x.t().clone().stride() == (4, 1)  # unlike PyTorch's, unless asked


def test_gradients_and_tangents_pass_copies_in_another_order():
    x = ebb.rand(2, 3, 2, 2, dtype=ebb.float64, requires_grad=True)

    def program(x):
        return x.clone(memory_format=ebb.channels_last).sin()

    assert ebb.autograd.gradcheck(program, x, check_forward_ad=True)
    assert ebb.autograd.gradgradcheck(program, x)


def test_networks_compute_the_same_in_channels_last():
    net = ebb.nn.Sequential(
        ebb.nn.Conv2d(3, 4, 3, padding=1), ebb.nn.BatchNorm2d(4), ebb.nn.MaxPool2d(2)
    )
    x = ebb.rand(2, 3, 8, 8)
    wanted = net(x)
    same = net.to(memory_format=ebb.channels_last)
    assert same is net and net[0].weight.stride() == (27, 1, 9, 3) and net[0].weight.is_leaf
    found = net(x.to(memory_format=ebb.channels_last))
    assert ebb.allclose(found, wanted, atol=1e-5)
    found.sum().backward()
    assert net[0].weight.grad.shape == net[0].weight.shape


def test_formats_are_named_objects():
    assert repr(ebb.channels_last) == "ebb.channels_last"
    assert isinstance(ebb.preserve_format, ebb.memory_format)
    assert pickle.loads(pickle.dumps(ebb.channels_last)) == ebb.channels_last


def test_what_is_no_format_is_refused():
    with pytest.raises(ebb.errors.ValueError, match=r"^is_contiguous: memory_format needs contig"):
        ebb.ones(2).is_contiguous(memory_format="rows")
    with pytest.raises(ebb.ShapeError, match="this memory_format needs 4 dims, got shape"):
        ebb.ones(2).to(memory_format=ebb.channels_last)
    with pytest.raises(ebb.errors.ValueError, match=r"^cpu: memory_format needs contiguous_format"):
        ebb.ones(2).cpu(memory_format="rows")
