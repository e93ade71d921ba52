# tests/python/package/test_rarer_names.py -- names of PyTorch's that few programs use: copies of
# views, files as memory, Python functions of elements, rearrange, grouped products.
import numpy as np
import pytest

import ebb
from ebb import nn
from ebb._tensor import views as _views
from ebb.nn import functional as F


@pytest.mark.parametrize("name", sorted(_views.copies))
def test_a_copy_of_a_view_has_its_elements_and_memory_of_its_own(name):
    view, call = _views._COPIED[name]
    found = eval(f"ebb.{call}", {"ebb": ebb})
    arguments = eval(f"(lambda *given: given){call.partition('(')[1]}{call.partition('(')[2]}",
                     {"ebb": ebb})  # fmt: skip
    shown = view(*arguments)
    pairs = (
        [(found, shown)] if isinstance(found, ebb.Tensor) else list(zip(found, shown, strict=True))
    )
    for copy, one in pairs:
        assert copy.tolist() == one.tolist() and copy.data_ptr() != one.data_ptr()


def test_a_copy_of_a_view_has_a_gradient_and_goes_to_out():
    x = ebb.ones(2, 3, requires_grad=True)
    ebb.transpose_copy(x, 0, 1)[0].sum().backward()
    assert x.grad.tolist() == [[1, 0, 0], [1, 0, 0]]
    out = ebb.zeros(3, 2)
    assert ebb.t_copy(x.detach(), out=out) is not None and out.sum().item() == 6
    outs = (ebb.zeros(2), ebb.zeros(1))
    ebb.split_copy(ebb.arange(3.0), 2, out=outs)
    assert [one.tolist() for one in outs] == [[0.0, 1.0], [2.0]]


@pytest.mark.parametrize("dtype", [ebb.float32, ebb.int64, ebb.bfloat16, ebb.bool])
def test_a_shared_file_is_written_and_another_stays(tmp_path, dtype):
    path = tmp_path / "numbers.bin"
    x = ebb.from_file(str(path), shared=True, size=4, dtype=dtype)
    assert x.dtype is dtype and path.stat().st_size == 4 * dtype.itemsize
    x.fill_(1)
    again = ebb.from_file(str(path), size=4, dtype=dtype)
    assert again.tolist() == x.tolist()
    again.zero_()
    assert ebb.from_file(str(path), shared=False, size=2, dtype=dtype).tolist() == x[:2].tolist()
    with pytest.raises(ValueError, match="from_file: the file needs"):
        ebb.from_file(str(path), size=5, dtype=dtype)
    with pytest.raises(ValueError, match="size must not be negative"):
        ebb.from_file(str(path), size=-1, dtype=dtype)
    assert ebb.from_file(str(path), dtype=dtype).shape == (0,)


def test_python_functions_of_elements():
    x = ebb.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.apply_(lambda one: one + 1) is x
    assert x.map_(ebb.ones(2, 2), lambda one, other: one * 2 - other).tolist() == [[3, 5], [7, 9]]
    assert x.t().map2_(x, x, lambda a, b, c: a - b + c - c).tolist() == [[0, 2], [-2, 0]]
    with pytest.raises(ValueError, match="map_: needs tensors of one shape"):
        x.map_(ebb.ones(3), max)
    with pytest.raises(ebb.AutogradError, match="apply_"):
        ebb.ones(2, requires_grad=True).apply_(abs)


def test_new_tensors_like_one():
    x = ebb.ones(2, dtype=ebb.float64)
    assert x.new(2, 3).shape == (2, 3) and x.new(2, 3).dtype is ebb.float64
    assert x.new([1, 2]).tolist() == [1.0, 2.0] and x.new().shape == (0,)
    assert x.new(ebb.arange(2)).dtype is ebb.float64


def test_what_is_asked_of_tensors():
    x = ebb.ones(2, 3)
    assert x.is_same_size(ebb.zeros(2, 3)) and not x.is_same_size(ebb.zeros(3))
    assert x.sparse_dim() == 0 and x.dense_dim() == 2
    assert x.to_sparse(1).sparse_dim() == 1 and x.to_sparse(1).dense_dim() == 1
    assert x.to_sparse_csr().sparse_dim() == 2
    assert x.const_data_ptr() == x.data_ptr() and not x.is_distributed()
    assert x.pin_memory("cpu") is x and not x.is_pinned("cpu")
    assert not ebb.is_conj(x) and ebb.resolve_neg(x) is x and ebb.resolve_conj(x) is x
    assert [one.tolist() for one in ebb.arange(3).split_with_sizes([1, 2])] == [[0], [1, 2]]
    assert [one.tolist() for one in ebb.unsafe_chunk(ebb.arange(3), 2)] == [[0, 1], [2]]
    assert ebb.tensor([-1.0, 2.0]).prelu(ebb.tensor([0.5])).tolist() == [-0.5, 2.0]
    assert not isinstance(3, ebb.SymInt | ebb.SymFloat | ebb.SymBool)


def test_a_loop_runs_while_it_is_told_to():
    def body(i, x):
        return i + 1, x * 2

    i, x = ebb.while_loop(lambda i, x: i < 3, body, (ebb.tensor(0), ebb.ones(2)))
    assert i.item() == 3 and x.tolist() == [8.0, 8.0]
    with pytest.raises(ValueError, match="body_fn must return 1 values, got 2"):
        ebb.while_loop(lambda i: i < 1, lambda i: (i, i), (ebb.tensor(0),))


def test_switches_and_modules_of_devices():
    ebb.set_warn_always(True)
    assert ebb.is_warn_always_enabled()
    ebb.set_warn_always(False)
    with pytest.raises(TypeError):
        ebb.set_warn_always(1)
    assert ebb.get_device_module() is ebb.get_device_module("cpu") is ebb.cpu
    assert ebb.get_device_module(ebb.device("cpu")) is ebb.cpu
    assert ebb.random.thread_safe_generator() is ebb.thread_safe_generator() is None
    assert not ebb.masked.is_masked_tensor(ebb.ones(1))


REARRANGED = [
    ("a b c -> c a b", {}, lambda x: x.transpose(2, 0, 1)),
    ("a b c -> a (b c)", {}, lambda x: x.reshape(2, 12)),
    ("a (b d) c -> d (a b) c", {"d": 3}, lambda x: x.transpose(1, 0, 2)),
    ("... c -> c ...", {}, lambda x: x.transpose(2, 0, 1)),
    ("a ... -> (a ...)", {}, lambda x: x.reshape(-1)),
    ("a b c -> a 1 b c", {}, lambda x: x[:, None]),
    ("a b (c 1) -> b a c ()", {}, lambda x: x.transpose(1, 0, 2)[..., None]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "sizes", "wanted"), REARRANGED)
def test_dims_are_rearranged_by_name(pattern, sizes, wanted):
    x = np.arange(24.0).reshape(2, 3, 4)
    found = ebb.func.rearrange(ebb.tensor(x), pattern, **sizes)
    np.testing.assert_array_equal(found.numpy(), wanted(x))
    listed = ebb.func.rearrange([*ebb.tensor(x)], pattern, **sizes)
    np.testing.assert_array_equal(listed.numpy(), found.numpy())


@pytest.mark.parametrize(
    ("pattern", "sizes", "text"),
    [
        ("a b c", {}, "needs one arrow"),
        ("a b -> b a", {}, "names 2 dims"),
        ("a b c -> a b", {}, "both sides"),
        ("a b c -> a b c", {"d": 2}, "both sides"),
        ("a (b d) c -> a b d c", {}, "needs the size of"),
        ("a (b d) c -> a b d c", {"d": 2}, "must be a dim of"),
        ("a a c -> a c", {}, "must stand once"),
        ("a (b c -> a b c", {}, "brackets must be paired"),
        ("a b 2x -> a b 2x", {}, "a dim needs a name"),
    ],
)
def test_what_cannot_be_rearranged_is_refused(pattern, sizes, text):
    with pytest.raises(ValueError, match=f"rearrange: .*{text}"):
        ebb.func.rearrange(ebb.ones(2, 3, 4), pattern, **sizes)


def test_batch_norms_use_the_batch_alone():
    net = nn.Sequential(nn.BatchNorm1d(2), nn.Sequential(nn.BatchNorm2d(3), nn.LayerNorm(2)))
    assert ebb.func.replace_all_batch_norm_modules_(net) is net
    net.eval()
    x = ebb.randn(5, 2)
    np.testing.assert_allclose(net[0](x).mean(0).detach().numpy(), [0, 0], atol=1e-6)
    assert net[0].num_batches_tracked is None and net[1][0].running_var is None
    assert ebb.func.debug_unwrap(x) is x


def test_products_of_groups():
    a, b = ebb.randn(5, 4), ebb.randn(3, 4, 2)
    ends = ebb.tensor([2, 2, 5], dtype=ebb.int32)
    wanted = np.concatenate([a[:2].numpy() @ b[0].numpy(), a[2:].numpy() @ b[2].numpy()])
    np.testing.assert_allclose(F.grouped_mm(a, b, offs=ends).numpy(), wanted, rtol=1e-4, atol=1e-6)
    turned = F.grouped_mm(b.mT, a.T, offs=ends)
    np.testing.assert_allclose(turned.numpy(), wanted.T, rtol=1e-4, atol=1e-6)
    summed = F.grouped_mm(a.T, ebb.ones(5, 2), offs=ends)
    np.testing.assert_allclose(
        summed[2].numpy(), (a[2:].T @ ebb.ones(3, 2)).numpy(), rtol=1e-4, atol=1e-6
    )
    assert F.grouped_mm(b, b.mT, out_dtype=ebb.float64).dtype is ebb.float64
    with pytest.raises(ValueError, match="grouped_mm: needs matrices, and offs"):
        F.grouped_mm(a, b)


def test_layers_take_a_weight_that_is_there():
    weight = ebb.randn(4, 3)
    layer = nn.Embedding(4, 3, _weight=weight, _freeze=True)
    assert layer.weight.data_ptr() == weight.data_ptr() and not layer.weight.requires_grad
    assert nn.EmbeddingBag(4, 3, _weight=weight).weight.requires_grad
    assert not nn.Embedding(4, 3, _freeze=True).weight.requires_grad
    with pytest.raises(ValueError, match=r"Embedding: _weight needs shape \[5, 3\]"):
        nn.Embedding(5, 3, _weight=weight)
    place = nn.Embedding(4, 3, None, None, 2.0, False, False, None, False, "cpu", ebb.float64)
    assert place.weight.dtype is ebb.float64


def test_keywords_of_modules_are_sorted_out():
    nested = {"factory_kwargs": {"dtype": ebb.float64}, "device": "cpu"}
    assert nn.factory_kwargs(nested) == {"dtype": ebb.float64, "device": "cpu"}
    assert nn.factory_kwargs(None) == {}
    with pytest.raises(TypeError, match="two values for 'dtype'"):
        nn.factory_kwargs({"dtype": 1, "factory_kwargs": {"dtype": 2}})
    with pytest.raises(TypeError, match="got 'bias'"):
        nn.factory_kwargs({"bias": True})


def test_weights_of_convolutions_change_their_order_in_memory():
    net = nn.Sequential(nn.Conv2d(3, 4, 2), nn.ConvTranspose3d(2, 2, 1), nn.Linear(2, 2))
    same = net[0].weight
    values = same.tolist()
    nn.utils.convert_conv2d_weight_memory_format(net, ebb.channels_last)
    nn.utils.convert_conv3d_weight_memory_format(net, ebb.channels_last_3d)
    assert net[0].weight is same and same.tolist() == values
    assert same.is_contiguous(memory_format=ebb.channels_last)
