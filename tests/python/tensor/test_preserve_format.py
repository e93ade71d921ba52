# tests/python/tensor/test_preserve_format.py -- preserve_format of copies and casts keeps the
# strides that PyTorch's rules keep, over generated layouts.
"""memory_format=ebb.preserve_format: which strides a copy has; memory_format= of casts."""

import itertools

import pytest

import ebb

# PyTorch's rules. A tensor without gaps whose elements have a place each keeps its strides,
# whatever they are; so does one without elements. Of others the dims keep the order of their
# strides, with gaps left out: from the last dim to the first, each changes places with those
# further in whose stride is greater (or whose size is, of the same stride), until one whose
# stride is less. Repeated dims (stride 0) say nothing about the order and are passed over.

SHAPES = [(), (0,), (1,), (5,), (2, 3), (3, 0), (1, 4), (4, 1), (2, 3, 4), (2, 1, 4), (2, 0, 3)]
SHAPES += [(2, 3, 4, 5), (2, 3, 1, 1), (1, 3, 4, 5), (0, 3, 4, 5)]


def is_dense(x):
    places = 1
    for stride, size in sorted(zip(x.stride(), x.shape, strict=True)):
        if size != 1 and stride != places:
            return x.numel() == 0
        places *= size
    return True


def wanted_strides(x):
    if is_dense(x):
        return x.stride()
    order = list(range(x.ndim))
    for moving in reversed(range(x.ndim)):
        for place in range(moving + 1, x.ndim):
            mine, inner = order[moving], order[place]
            step, size = x.stride(mine) - x.stride(inner), x.shape[mine] - x.shape[inner]
            if 0 in (x.stride(mine), x.stride(inner)) or (step == 0 and size >= 0):
                continue
            if step > 0:
                break
            order[moving], order[place], moving = inner, mine, place
    strides = [0] * x.ndim
    step = 1
    for dim in reversed(order):
        strides[dim] = step
        step *= max(x.shape[dim], 1)
    return tuple(strides)


def cuts(x, dim):
    front = (slice(None),) * dim
    yield x[(*front, slice(None, None, 2))]
    yield x[(*front, slice(1, None))]
    yield x.narrow(dim, 0, 1).expand(x.shape)
    yield x.narrow(dim, 1, 1)
    yield x.select(dim, 1)


def layouts(shape):
    base = ebb.arange(float(ebb.ones(shape).numel())).reshape(shape)
    for order in itertools.permutations(range(len(shape))):
        x = base.permute(order)
        yield x
        for dim in range(x.ndim):
            if x.shape[dim] > 1:
                yield from cuts(x, dim)


MAKERS = {
    "clone": lambda x, **kwargs: x.clone(**kwargs),
    "copy": lambda x, **kwargs: x.to(x.dtype, copy=True, **kwargs),
    "to": lambda x, **kwargs: x.to(ebb.float64, **kwargs),
    "double": lambda x, **kwargs: x.double(**kwargs),
    "type": lambda x, **kwargs: x.type(ebb.int64, **kwargs),
    "empty_like": ebb.empty_like,
    "zeros_like": ebb.zeros_like,
    "rand_like": ebb.rand_like,
}


@pytest.mark.parametrize("name", MAKERS)
def test_strides_are_kept_as_pytorch_keeps_them(name):
    for x in itertools.chain.from_iterable(map(layouts, SHAPES)):
        made = MAKERS[name](x, memory_format=ebb.preserve_format)
        assert made.stride() == wanted_strides(x), (x.shape, x.stride())
        if not name.endswith("_like"):
            assert made.tolist() == x.tolist() and not made._is_view()


CASTS = [
    "float",
    "double",
    "half",
    "bfloat16",
    "byte",
    "char",
    "short",
    "int",
    "long",
    "bool",
    "cfloat",
    "cdouble",
]


@pytest.mark.parametrize("name", CASTS)
def test_casts_take_a_format(name):
    x = ebb.arange(24).reshape(1, 2, 3, 4)
    cast = getattr(x, name)
    last = cast(memory_format=ebb.channels_last)
    assert last.stride() == (24, 1, 8, 2) and last.equal(cast()) and last.dtype == cast().dtype
    turned = getattr(x.permute(0, 3, 2, 1), name)
    assert turned(memory_format=ebb.preserve_format).stride() == (24, 1, 4, 12)
    assert turned(memory_format=ebb.contiguous_format).is_contiguous()
    assert cast(memory_format=None).stride() == x.stride()


def test_what_lies_so_already_is_returned_itself():
    x = ebb.ones(2, 3)
    assert x.float(memory_format=ebb.contiguous_format) is x
    turned = x.t()
    assert turned.float(memory_format=ebb.preserve_format) is turned
    assert turned.to("cpu", memory_format=ebb.preserve_format) is turned


def test_gradients_and_tangents_pass_casts_in_a_format():
    x = ebb.rand(2, 2, 1, 2, dtype=ebb.float64, requires_grad=True)
    for form in (ebb.channels_last, ebb.preserve_format):

        def program(x, form=form):
            return x.transpose(0, 1).cdouble(memory_format=form).sin().real

        assert ebb.autograd.gradcheck(program, x, check_forward_ad=True)
        assert ebb.autograd.gradgradcheck(program, x)


def test_sparse_tensors_keep_their_layout():
    x = ebb.eye(3).to_sparse()
    assert x.double(memory_format=ebb.preserve_format).to_dense().equal(ebb.eye(3).double())


def test_deep_copies_keep_the_order_of_weights():
    import copy

    net = ebb.nn.Conv2d(2, 3, 3).to(memory_format=ebb.channels_last)
    twin = copy.deepcopy(net)
    assert twin.weight.stride() == net.weight.stride() == (18, 1, 6, 2)
    assert twin.weight.equal(net.weight) and twin.weight.is_leaf


def test_what_casts_cannot_take():
    x = ebb.ones(2, 3)
    with pytest.raises(
        ebb.ShapeError, match=r"^double: this memory_format needs 4 dims, got shape"
    ):
        x.double(memory_format=ebb.channels_last)
    with pytest.raises(ebb.errors.ValueError, match=r"^float: memory_format needs contiguous_form"):
        x.float(memory_format="rows")
    with pytest.raises(TypeError, match=r"^half\(\)"):
        x.half(ebb.channels_last)
    with pytest.raises(TypeError, match=r"^long\(\)"):
        x.long(memory_format=3)
