# tests/python/opencl/test_pinned.py -- pinned memory: what is pinned, values after copies that read
# it late, gradients, batches of a DataLoader.
import collections
import functools
import pickle

import numpy as np
import pytest

import ebb
from ebb import nn
from tests.python.opencl.test_device import run_script
from tests.python.tensor.test_leaf_options import ALL, MAKERS
from tests.python.threads import on_threads

RNG = np.random.default_rng(5)
Pair = collections.namedtuple("Pair", ["x", "name"])


def numbers(*shape):
    return ebb.tensor(RNG.standard_normal(shape), dtype=ebb.float32)


SOURCES = {
    "matrix": lambda x: x,
    "without elements": lambda x: x[:0],
    "0-d": lambda x: x[1, 2],
    "rows": lambda x: x[2:5],
    "columns": lambda x: x[:, 1:3],
    "every other": lambda x: x[::2, ::3],
    "transposed": lambda x: x.t(),
    "expanded": lambda x: x[:1].expand(3, 7),
}


@pytest.mark.parametrize("name", SOURCES)
def test_views_before_and_after_pinning_arrive(name, opencl):
    x = numbers(6, 7)
    want = SOURCES[name](x)
    first = want.pin_memory(opencl)
    second = SOURCES[name](x.pin_memory(opencl))
    for source in (first, second):
        assert source.is_pinned() and source.device == ebb.device("cpu")
        made = source.to(opencl, non_blocking=True)
        assert made.shape == want.shape and made.tolist() == want.tolist()
        assert ebb.empty(want.shape, device=opencl).copy_(source).tolist() == want.tolist()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "bfloat16", "float64", "complex64"])
def test_dtypes_arrive(dtype, opencl):
    x = ebb.arange(9).to(getattr(ebb, dtype))
    made = x.pin_memory(opencl).to(opencl, non_blocking=True)
    assert made.dtype is x.dtype and made.tolist() == x.tolist()
    cast = x.pin_memory(opencl).to(opencl, ebb.float32, non_blocking=True)
    assert cast.tolist() == x.to(ebb.float32).tolist()


def test_what_is_pinned(opencl):
    x = numbers(2, 3)
    pinned = x.pin_memory(opencl)
    assert not x.is_pinned() and pinned.is_pinned() and pinned.is_pinned(opencl)
    assert not pinned.is_pinned("meta") and pinned.pin_memory(opencl) is pinned
    assert pinned[0].is_pinned() and pinned.detach().is_pinned()
    assert pinned.data_ptr() % 64 == 0 and pinned.numpy().tolist() == x.tolist()
    for other in (pinned.clone(), pinned + 1, pickle.loads(pickle.dumps(pinned))):
        assert not other.is_pinned()
    assert x.t().pin_memory(opencl).stride() == x.t().stride()
    with ebb.default_device(opencl):
        assert x.pin_memory().is_pinned(opencl)


def test_what_cannot_be_pinned(opencl):
    with pytest.raises(ValueError, match=f"pin_memory: needs a tensor of the cpu, got .*{opencl}"):
        ebb.ones(2, device=opencl).pin_memory()
    with pytest.raises(ValueError, match="ones: needs a tensor of the cpu"):
        ebb.ones(2, device=opencl, pin_memory=True)
    with pytest.raises(ValueError, match=r"pin_memory.*:99"):
        ebb.ones(2).pin_memory(opencl[:-1] + "99")
    sparse = ebb.eye(2).to_sparse()
    assert sparse.pin_memory(opencl) is sparse
    assert ebb.ones(2).pin_memory("cpu").is_pinned() is False


def test_no_such_memory_is_an_error(opencl):
    with pytest.raises(MemoryError, match=f"pin_memory: needs {1 << 50} bytes .* {opencl} did not"):
        ebb.ones(1, dtype=ebb.uint8).expand(1 << 50).pin_memory(opencl)
    assert ebb.ones(2).pin_memory(opencl).tolist() == [1.0, 1.0]


def test_memory_is_nobodys_before_its_copies_are_done(opencl):
    work = numbers(200, 200).to(opencl)
    copies = []
    for value in range(20):
        for _ in range(3):
            work = (work @ work).tanh()
        source = ebb.full((1000,), float(value)).pin_memory(opencl)
        copies.append(source.to(opencl, non_blocking=True))
        copies.append(source[10:].to(opencl, non_blocking=True))
        del source  # the next one may be where it was
    assert [one.cpu().unique().tolist() for one in copies] == [[v // 2] for v in range(40)]


def test_threads_pin_and_copy_at_once(opencl):
    wrong = []

    def run(number):
        for step in range(20):
            source = ebb.full((500 + step,), float(number)).pin_memory(opencl)
            made = source.to(opencl, non_blocking=True)
            del source
            if made.cpu().unique().tolist() != [number]:
                wrong.append(number)

    on_threads(*[functools.partial(run, number) for number in range(4)])
    assert wrong == []


def test_without_the_promise_a_copy_has_read_its_source(opencl):
    work = numbers(200, 200).to(opencl)
    for pin in (False, True):
        for _ in range(3):
            work = (work @ work).tanh()
        source = ebb.ones(5000, pin_memory=pin)
        made = source.to(opencl, non_blocking=not pin)
        source.fill_(2.0)
        assert made.cpu().unique().tolist() == [1.0]


def test_a_child_of_a_fork_reads_and_drops_what_is_pinned(opencl):
    script = """
import gc, os
there = ebb.ones(3, device="opencl")
pinned = ebb.ones(3).pin_memory(there.device)
child = os.fork()
if child == 0:
    uses = [lambda: pinned.to(there.device, non_blocking=True),
            lambda: there.copy_(pinned, non_blocking=True),
            lambda: ebb.ones(2).pin_memory(there.device)]
    for use in uses:
        try:
            use()
            os._exit(2)
        except (RuntimeError, MemoryError) as error:
            if "child of a fork" not in str(error):
                os._exit(1)
    seen = (pinned + 1).tolist()
    del pinned
    gc.collect()
    os._exit(7 if seen == [2.0] * 3 and ebb.ones(2).tolist() == [1.0] * 2 else 3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print((pinned.to(there.device, non_blocking=True) + 1).sum().item())
"""
    assert run_script(script) == ["7", "6.0"]


def test_gradients_go_through(opencl):
    x = numbers(3).requires_grad_()
    (x.pin_memory(opencl).to(opencl, non_blocking=True) ** 3).sum().backward(create_graph=True)
    ebb.testing.assert_close(x.grad.detach(), 3 * x.detach() ** 2)
    (second,) = ebb.autograd.grad(x.grad.sum(), x)
    ebb.testing.assert_close(second, 6 * x.detach())


@pytest.mark.parametrize("name", ALL)
def test_functions_that_make_tensors_pin_them(name, opencl):
    made = ALL[name](pin_memory=True)
    plain = ALL[name](pin_memory=False)
    assert made.is_pinned() and not plain.is_pinned()
    assert (made.shape, made.dtype, made.stride()) == (plain.shape, plain.dtype, plain.stride())
    if name in MAKERS:
        leaf = MAKERS[name](pin_memory=True, requires_grad=True)
        assert leaf.is_pinned() and leaf.is_leaf and leaf.requires_grad


def test_values_of_pinned_functions_are_theirs(opencl):
    assert ebb.arange(4, pin_memory=True).tolist() == [0, 1, 2, 3]
    assert ebb.tensor([[1, 2]], pin_memory=True).tolist() == [[1, 2]]
    assert ebb.tril_indices(2, 2, pin_memory=True).tolist() == [[0, 1, 1], [0, 0, 1]]
    out = ebb.empty(3)
    assert ebb.zeros(3, out=out, pin_memory=True) is out and not out.is_pinned()


@pytest.mark.parametrize(("workers", "kind"), [(0, "process"), (2, "thread"), (2, "process")])
def test_a_loader_gives_pinned_batches(workers, kind, opencl):
    data = ebb.data.TensorDataset(ebb.arange(10), ebb.rand(10, 3))
    loader = ebb.data.DataLoader(
        data, 4, num_workers=workers, worker_type=kind, pin_memory=True, pin_memory_device=opencl
    )
    seen = []
    for index, values in loader:
        assert index.is_pinned(opencl) and values.is_pinned(opencl)
        assert values.to(opencl, non_blocking=True).tolist() == data.tensors[1][index].tolist()
        seen += index.tolist()
    assert seen == list(range(10))


def test_batches_of_any_kind_are_pinned(opencl):
    class Own:
        def pin_memory(self):
            return "pinned"

    x = ebb.ones(2)
    ordered = collections.OrderedDict(a=x)
    default = collections.defaultdict(list, a=[x])
    packed = nn.utils.rnn.pack_sequence([x, x[:1]])
    batch = [x, (x, "text"), Pair(x, None), ordered, default, Own(), 3, packed]
    (made,) = ebb.data.DataLoader(
        [0], None, collate_fn=lambda _: batch, pin_memory=True, pin_memory_device=opencl
    )
    assert made[0].is_pinned() and made[1][0].is_pinned() and made[1][1] == "text"
    assert type(made[2]) is Pair and made[2].x.is_pinned() and made[2].name is None
    assert type(made[3]) is collections.OrderedDict and made[3]["a"].is_pinned()
    assert made[4]["a"][0].is_pinned() and made[4]["b"] == []
    assert made[5:7] == ["pinned", 3] and made[7].is_pinned()
    assert not x.is_pinned() and not ordered["a"].is_pinned() and not default["a"][0].is_pinned()


def test_tensors_saved_in_pinned_memory_come_back(opencl):
    x = numbers(5).to(opencl).requires_grad_()
    with ebb.autograd.graph.save_on_cpu(pin_memory=True):
        y = (x.sin() * x).sum()
    y.backward()
    plain = x.detach().cpu()
    ebb.testing.assert_close(x.grad.cpu(), plain.sin() + plain * plain.cos())
