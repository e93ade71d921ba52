# tests/python/devices/test_meta.py -- tensors on meta: everything but elements.
"""What is known without elements, what is refused, and what meta tensors do beside others."""

import copy
import pickle

import numpy as np
import pytest

import ebb
from ebb import nn, optim

NO_ELEMENTS = "needs the elements of its tensors, got one on meta, which has none"


def meta(*shape, **options):
    return ebb.empty(*shape, device="meta", **options)


def test_a_device_is_the_default_one_inside_its_block():
    with ebb.device("meta") as device:
        assert device == ebb.get_default_device() == ebb.ones(2).device
        with ebb.device("cpu"), ebb.device("cpu"):
            assert ebb.ones(2).tolist() == [1.0, 1.0]
        assert ebb.nn.Linear(2, 3).weight.device == device
    assert ebb.get_default_device() == ebb.device("cpu")
    with pytest.raises(ZeroDivisionError), ebb.device("meta"):
        _ = 1 / 0
    assert ebb.ones(1).device == ebb.device("cpu")


def test_the_device_has_one_name_and_is_no_place_to_be():
    assert str(ebb.device("meta")) == "meta" and ebb.device("meta") == ebb.device("meta:0")
    assert repr(ebb.device("meta")) == "device(type='meta')"
    assert ebb.device("meta").index is None
    assert ebb.device("meta") not in ebb.devices()
    with pytest.raises(ValueError, match="needs a device that is there, got meta"):
        ebb.empty(2, device="meta:1")


@pytest.mark.parametrize(
    "make",
    [
        lambda **where: ebb.empty(2, 3, **where),
        lambda **where: ebb.zeros(2, 3, **where),
        lambda **where: ebb.ones(2, 3, **where),
        lambda **where: ebb.full((2, 3), 2.5, **where),
        lambda **where: ebb.eye(2, 3, **where),
        lambda **where: ebb.arange(5, **where),
        lambda **where: ebb.linspace(0, 1, 5, **where),
        lambda **where: ebb.rand(2, 3, **where),
        lambda **where: ebb.randn(2, 3, dtype=ebb.float64, **where),
        lambda **where: ebb.randint(0, 5, (2, 3), **where),
        lambda **where: ebb.randperm(5, **where),
        lambda **where: ebb.tensor([[1.0, 2.0]], **where),
        lambda **where: ebb.as_tensor(np.ones((2, 3)), **where),
        lambda **where: ebb.zeros_like(ebb.ones(2, 3), **where),
        lambda **where: ebb.empty_strided((2, 3), (1, 4), **where),
    ],
)
def test_what_makes_tensors_makes_them_here(make):
    wanted = make()
    state = ebb.get_rng_state().tolist()
    found = make(device="meta")
    assert ebb.get_rng_state().tolist() == state
    assert found.is_meta and not found.is_cpu and not found.is_custom_device
    assert found.shape == wanted.shape and found.stride() == wanted.stride()
    assert found.dtype == wanted.dtype
    with ebb.default_device("meta"):
        assert make().is_meta


def test_no_memory_is_taken():
    x = meta(1 << 20, 1 << 20)
    assert x.nbytes == 1 << 42 and x.data_ptr() == 0
    y = (x @ x).relu() + 1
    assert y.shape == x.shape and y.is_meta


def test_bytes_are_counted_as_if_they_were_there():
    before = ebb.device_memory_stats("meta")["live"]
    ebb.reset_peak_device_memory("meta")
    x = meta(1000)
    y = x * 2
    assert ebb.device_memory_stats("meta")["live"] - before == 8000
    del y
    stats = ebb.device_memory_stats("meta")
    assert stats["live"] - before == 4000 and stats["peak"] - before == 8000


def test_printing_shows_the_size():
    assert repr(meta(2, 3)) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(meta(())) == "tensor(..., device='meta', size=())"
    x = meta(2, dtype=ebb.float64, requires_grad=True)
    assert repr(x) == "tensor(..., device='meta', size=(2,), dtype=ebb.float64, requires_grad=True)"
    assert "grad_fn=<" in repr(x * 2)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("item", lambda x: x.item()),
        ("item", lambda x: float(x)),
        ("item", lambda x: int(x)),
        ("bool", lambda x: bool(x)),
        ("tolist", lambda x: x.tolist()),
        ("numpy", lambda x: x.numpy()),
        ("numpy", lambda x: np.asarray(x)),
        ("to", lambda x: x.cpu()),
        ("to", lambda x: x.to("cpu", ebb.float64)),
        ("to", lambda x: x.to("sim:0")),
    ],
)
def test_elements_cannot_be_read(name, read):
    with pytest.raises(NotImplementedError, match=f"^{name}: {NO_ELEMENTS}"):
        read(meta(()))


def test_a_refused_copy_says_what_makes_memory():
    with pytest.raises(NotImplementedError, match=r"hint: Module.to_empty\(device="):
        nn.Linear(2, 3, device="meta").to("cpu")


def test_buffers_are_refused():
    with pytest.raises(BufferError):
        memoryview(meta(2))


def test_a_copy_to_another_tensor_is_refused_and_one_from_it_does_nothing():
    here, there = ebb.zeros(2, 3), meta(2, 3)
    with pytest.raises(NotImplementedError, match=NO_ELEMENTS):
        here.copy_(there)
    with pytest.raises(NotImplementedError, match=NO_ELEMENTS):
        here[0] = there[0]
    version = there._version
    assert there.copy_(here) is there and there._version > version
    there[:, ::2] = ebb.ones(2)
    with pytest.raises(ebb.ShapeError):
        there.copy_(ebb.ones(5))


@pytest.mark.parametrize("other", ["cpu", "sim:0"])
def test_operands_of_two_devices_are_refused(other):
    x, y = meta(2), ebb.ones(2, device=other)
    for call in (ebb.add, ebb.mul, ebb.dot, lambda a, b: ebb.cat([a, b])):
        for operands in ((x, y), (y, x)):
            with pytest.raises(ValueError, match="all operands must be on one device"):
                call(*operands)


def test_numbers_of_the_cpu_go_with_it():
    x = meta(2, 3, requires_grad=True)
    factor = ebb.tensor(2.0, requires_grad=True)
    y = x * factor + 1
    assert y.is_meta and y.shape == (2, 3)
    assert (ebb.tensor(1.0, dtype=ebb.float64) * x).dtype == ebb.float32


def test_views_share_what_is_not_there():
    x = meta(4, 6)
    row = x[1]
    assert row._base is x and row.storage_offset() == 6
    assert x.t().stride() == (1, 6) and x[:, ::2].shape == (4, 3)
    version = x._version
    row.add_(1)
    assert x._version == version + 1
    assert x[[0, 2]].shape == (2, 6) and x[ebb.tensor([1]), ebb.tensor([2])].shape == (1,)


def test_gradients_flow_and_versions_are_watched():
    x = meta(3, 4, requires_grad=True)
    (x.sin() @ x.t()).sum().backward()
    assert x.grad.is_meta and x.grad.shape == (3, 4)
    x.grad.zero_()
    (first,) = ebb.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = ebb.autograd.grad(first.sum(), x)
    assert first.grad_fn is not None and second.is_meta and second.shape == x.shape
    y = x * 1
    z = y.exp()
    z.mul_(2)
    with pytest.raises(RuntimeError, match="version"):
        z.sum().backward()


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("nonzero", lambda x: x.nonzero()),
        ("masked_select", lambda x: x.masked_select(x > 0)),
        ("unique", lambda x: ebb.unique(x)),
        ("bincount", lambda x: ebb.bincount(x.long().flatten())),
        ("repeat_interleave", lambda x: x.repeat_interleave(x[0].long(), 1)),
        ("one_hot", lambda x: nn.functional.one_hot(x.long())),
        ("allclose", lambda x: ebb.allclose(x, x)),
        ("equal", lambda x: ebb.equal(x, x)),
        ("", lambda x: x[x > 0]),
    ],
)
def test_results_that_only_elements_tell_are_refused_by_name(name, call):
    with pytest.raises(NotImplementedError, match=f"^{name}.*{NO_ELEMENTS}"):
        call(meta(2, 3))


def test_a_size_that_is_given_is_taken():
    x = meta(2, 3)
    assert x.repeat_interleave(meta(3, dtype=ebb.int64), 1, output_size=5).shape == (2, 5)
    assert nn.functional.one_hot(meta(2, dtype=ebb.int64), 7).shape == (2, 7)


def test_checks_of_elements_are_left_out():
    index = meta(2, dtype=ebb.int64)
    assert meta(5, 3).index_select(0, index).shape == (2, 3)
    assert nn.functional.cross_entropy(meta(2, 5), index).shape == ()
    assert nn.functional.embedding(index, meta(5, 3)).shape == (2, 3)
    assert nn.functional.binary_cross_entropy(meta(2), meta(2)).shape == ()
    assert ebb.bernoulli(meta(4)).shape == (4,)
    assert ebb.linalg.cholesky(meta(3, 3)).shape == (3, 3)
    assert (meta(2, dtype=ebb.int64) // meta(2, dtype=ebb.int64)).dtype == ebb.int64


def test_random_numbers_stay_for_others():
    state = ebb.get_rng_state().tolist()
    x = meta(3, 4)
    nn.Transformer(8, 2, 1, 1, 16, device="meta")
    nn.functional.dropout(x)
    x.normal_()
    x.uniform_()
    x.bernoulli_()
    ebb.randperm(5, device="meta")
    ebb.multinomial(x, 2)
    for init in (nn.init.kaiming_uniform_, nn.init.orthogonal_, nn.init.trunc_normal_):
        init(x)
    nn.init.sparse_(x, 0.5)
    assert ebb.get_rng_state().tolist() == state


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(4 * 3 * 3, 5)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


@pytest.mark.parametrize(
    "make", [lambda p: optim.SGD(p, lr=0.1, momentum=0.9), optim.Adam, optim.RMSprop]
)
def test_a_model_trains_without_numbers(make):
    with ebb.default_device("meta"):
        model = Net()
        x, labels = ebb.rand(2, 3, 8, 8), ebb.zeros(2, dtype=ebb.int64)
    optimizer = make(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
    assert loss.is_meta and loss.shape == ()
    assert all(p.grad.is_meta and p.grad.shape == p.shape for p in model.parameters())


def test_to_empty_gives_memory_that_a_state_fills():
    wanted = Net()
    model = Net().to("meta")
    assert all(one.is_meta for one in (*model.parameters(), *model.buffers()))
    model.to_empty(device="cpu").load_state_dict(wanted.state_dict())
    x = ebb.rand(2, 3, 8, 8)
    model.eval()
    wanted.eval()
    assert model(x).equal(wanted(x))


def test_copies_and_pickles_keep_the_geometry():
    x = ebb.empty_strided((2, 3), (1, 2), dtype=ebb.float64, device="meta", requires_grad=True)
    for again in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert again.is_meta and again.requires_grad and again.dtype == ebb.float64
        assert again.shape == (2, 3)
    assert pickle.loads(pickle.dumps(nn.Linear(2, 3, device="meta"))).weight.is_meta


def test_blocks_have_an_end():
    with pytest.raises(MemoryError, match=r"needs \d+ bytes, which meta did not give"):
        meta(1 << 61, dtype=ebb.uint8)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("batch", [True, False])
def test_a_loss_of_paths_has_its_shape_and_a_gradient(reduction, batch):
    def loss(device):
        shape = (6, 2, 5) if batch else (6, 5)
        logs = ebb.randn(*shape, device=device, requires_grad=True)
        targets = ebb.ones(*((2, 3) if batch else (3,)), dtype=ebb.int64, device=device)
        lengths = ebb.full((2,) if batch else (), 3, dtype=ebb.int64, device=device)
        found = ebb.nn.functional.ctc_loss(logs, targets, 2 * lengths, lengths, 0, reduction)
        found.sum().backward()
        return found, logs.grad

    for there, here in zip(loss("meta"), loss("cpu"), strict=True):
        assert there.is_meta and there.shape == here.shape and there.dtype == here.dtype


def test_a_loss_of_paths_refuses_shapes_there_too():
    lengths = meta(3, dtype=ebb.int64)
    with pytest.raises(ValueError, match="ctc_loss: input_lengths needs shape"):
        ebb.nn.functional.ctc_loss(meta(6, 2, 5), meta(2, 3, dtype=ebb.int64), lengths, lengths)
