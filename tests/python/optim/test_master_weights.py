# tests/python/optim/test_master_weights.py -- float32 masters of weights of half types, in every
# optimizer that the package has.
import copy
import inspect
import itertools
import pickle

import pytest

import ebb
from ebb import optim
from ebb.optim.fused import FusedOptimizer
from tests.fuzz.rows.temporaries import memory_of

# Of a state: these are not of the dtype of weights.
SCALARS = ("step", "eta", "mu", "mu_product")

KINDS = [
    one
    for name in optim.__all__
    if inspect.isclass(one := getattr(optim, name))
    and issubclass(one, FusedOptimizer)
    and one is not FusedOptimizer
]
FLAGS = ("amsgrad", "centered", "maximize")
NUMBERS = {"momentum": 0.5, "weight_decay": 0.1}
HALVES = (ebb.bfloat16, ebb.float16)


def variants(kind):
    """Options of ``kind``: none, and each that changes which state there is."""
    known = inspect.signature(kind).parameters
    yield {}
    yield {name: value for name, value in NUMBERS.items() if name in known}
    for flag in FLAGS:
        if flag in known:
            yield {flag: True}


def values(seed, shape=(600,)):
    return ebb.rand(*shape, generator=ebb.Generator().manual_seed(seed)) - 0.5


def leaf(dtype, shape=(600,)):
    return values(0, shape).bfloat16().to(dtype).requires_grad_()  # every dtype holds these


def rows(places, values, shape):
    return ebb.sparse_coo_tensor(ebb.tensor([places]), values, shape)


def takes(kind, grad):
    weight = ebb.ones(600, requires_grad=True)
    weight.grad = grad
    try:
        kind([weight]).step()
    except NotImplementedError:
        return False
    return True


TAKES_ROWS = [kind for kind in KINDS if takes(kind, rows([1], ebb.ones(1), (600,)))]
NEEDS_ROWS = [kind for kind in KINDS if not takes(kind, ebb.ones(600))]


def gradient(kind, step, dtype, is_sparse=False):
    grad = values(step + 1).bfloat16().to(dtype)
    wants_rows = is_sparse or kind in NEEDS_ROWS
    return rows([0, 2 * step], grad[:2], (600,)) if wants_rows else grad


def train(kind, parameter, optimizer, steps, dtype=None, is_sparse=False):
    for step in steps:
        parameter.grad = gradient(kind, step, dtype or parameter.dtype, is_sparse)
        optimizer.step()


CASES = [
    pytest.param(kind, options, dtype, id=f"{kind.__name__}-{'-'.join(options)}-{dtype}")
    for kind in KINDS
    for options, dtype in itertools.product(variants(kind), HALVES)
]


@pytest.mark.parametrize(("kind", "options", "dtype"), CASES)
def test_masters_make_the_steps_of_float32(kind, options, dtype):
    weight, whole = leaf(dtype), leaf(ebb.float32)
    optimizer = kind([weight], lr=1e-4, master_weights=True, **options)
    train(kind, weight, optimizer, range(5))
    plain = kind([whole], lr=1e-4, **options)
    train(kind, whole, plain, range(5))
    kept = optimizer.state[weight]
    assert ebb.equal(kept.pop("master_weight"), whole)
    assert ebb.equal(weight, whole.to(dtype))
    for name, tensor in plain.state.get(whole, {}).items():
        assert tensor.dtype is ebb.float32
        assert ebb.equal(kept[name], tensor)


@pytest.mark.parametrize("kind", TAKES_ROWS)
def test_stored_rows_step_their_masters(kind):
    weight, whole = leaf(ebb.bfloat16), leaf(ebb.float32)
    optimizer = kind([weight], lr=1e-4, master_weights=True)
    train(kind, weight, optimizer, range(5), is_sparse=True)
    train(kind, whole, kind([whole], lr=1e-4), range(5), is_sparse=True)
    assert ebb.equal(optimizer.state[weight]["master_weight"], whole)
    assert ebb.equal(weight, whole.bfloat16())


@pytest.mark.parametrize("kind", KINDS)
def test_weights_without_masters_lose_small_steps(kind):
    for has_masters in (False, True):
        weight = ebb.ones(600, dtype=ebb.bfloat16, requires_grad=True)
        optimizer = kind([weight], lr=1e-5, master_weights=has_masters)
        train(kind, weight, optimizer, range(3))
        assert ebb.equal(weight, ebb.ones(600, dtype=ebb.bfloat16))
    master = optimizer.state[weight]["master_weight"]
    assert not ebb.equal(master, ebb.ones(600))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["load", "deepcopy", "pickle"])
def test_training_goes_on_exactly(kind, way):
    def resume(weight, optimizer):
        if way == "deepcopy":
            return copy.deepcopy((weight, optimizer))
        if way == "pickle":
            return pickle.loads(pickle.dumps((weight, optimizer)))
        copied = weight.detach().clone().requires_grad_()
        fresh = kind([copied], lr=1e-3, master_weights=True)
        fresh.load_state_dict(optimizer.state_dict())
        return copied, fresh

    weight, straight = leaf(ebb.bfloat16), leaf(ebb.bfloat16)
    optimizer = kind([weight], lr=1e-3, master_weights=True)
    train(kind, weight, optimizer, range(3))
    weight, optimizer = resume(weight, optimizer)
    train(kind, weight, optimizer, range(3, 6))
    never = kind([straight], lr=1e-3, master_weights=True)
    train(kind, straight, never, range(6))
    kept, want = optimizer.state[weight], never.state[straight]
    assert kept.keys() == want.keys()
    assert all(ebb.equal(kept[name], want[name]) for name in want)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("has_masters", [True, False])
def test_states_load_with_and_without_masters(kind, has_masters):
    weight = leaf(ebb.bfloat16)
    saved = kind([weight], lr=1e-3, master_weights=not has_masters)
    train(kind, weight, saved, range(3))
    loaded = kind([weight], lr=1.0, master_weights=has_masters)
    loaded.load_state_dict(saved.state_dict())
    assert loaded.param_groups[0]["master_weights"] is has_masters
    assert loaded.param_groups[0]["lr"] == 1e-3
    train(kind, weight, loaded, range(3, 4))
    kept = loaded.state.get(weight, {})
    dtypes = {tensor.dtype for name, tensor in kept.items() if name not in SCALARS}
    assert dtypes <= {ebb.float32 if has_masters else ebb.bfloat16}
    assert ("master_weight" in kept) is has_masters


@pytest.mark.parametrize("kind", KINDS)
def test_each_group_has_its_own_choice(kind):
    weights = [leaf(ebb.bfloat16), leaf(ebb.bfloat16), leaf(ebb.float32)]
    optimizer = kind(weights[:1], lr=1e-3)
    optimizer.add_param_group({"params": weights[1:], "master_weights": True})
    for weight in weights:
        weight.grad = gradient(kind, 1, weight.dtype)
    optimizer.step()
    has_masters = ["master_weight" in optimizer.state.get(weight, {}) for weight in weights]
    assert has_masters == [False, True, False]


def test_what_others_write_counts_and_the_rest_keeps_its_master():
    weight = ebb.ones(3, dtype=ebb.bfloat16, requires_grad=True)
    optimizer = optim.SGD([weight], lr=1e-4, master_weights=True)
    for written in (None, 5.0):
        if written is not None:
            with ebb.no_grad():
                weight[1] = written
        weight.grad = ebb.ones_like(weight)
        optimizer.step()
    master = optimizer.state[weight]["master_weight"]
    want = ebb.tensor([1 - 1e-4 - 1e-4, 5 - 1e-4, 1 - 1e-4 - 1e-4])
    assert (master - want).abs().max().item() < 1e-6


def test_a_weight_given_other_memory_counts():
    weight = ebb.ones(2, dtype=ebb.bfloat16, requires_grad=True)
    optimizer = optim.SGD([weight], lr=0.5, master_weights=True)
    weight.grad = ebb.ones_like(weight)
    optimizer.step()
    weight.data = ebb.full((2,), 8.0, dtype=ebb.bfloat16)
    optimizer.step()
    assert weight.tolist() == [7.5, 7.5]


@pytest.mark.parametrize("kind", KINDS)
def test_strided_weights_have_masters(kind):
    base = ebb.zeros(600, 2, dtype=ebb.bfloat16)
    weight = base[:, 1].detach()
    with ebb.no_grad():
        weight.copy_(leaf(ebb.bfloat16))
    weight.requires_grad_()
    dense = leaf(ebb.bfloat16)
    for one in (weight, dense):
        train(kind, one, kind([one], lr=1e-3, master_weights=True), range(3), ebb.bfloat16)
    assert ebb.equal(weight, dense)
    assert not base[:, 0].any()


@pytest.mark.parametrize("has_masters", [True, False])
def test_gradients_of_float32_are_taken_as_they_are(has_masters):
    weight = ebb.ones(3, dtype=ebb.bfloat16, requires_grad=True)
    weight.grad_dtype = ebb.float32
    weight.grad = ebb.full((3,), 1 + 2.0**-12)
    optimizer = optim.SGD([weight], lr=0.5, momentum=0.5, master_weights=has_masters)
    optimizer.step()
    if has_masters:
        assert optimizer.state[weight]["momentum_buffer"].tolist() == [1 + 2.0**-12] * 3
    assert weight.tolist() == [0.5] * 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtypes", [(ebb.bfloat16, ebb.float32), (ebb.float32, ebb.bfloat16)])
def test_state_follows_a_weight_to_another_dtype(kind, dtypes):
    weight = leaf(dtypes[0])
    momentum = {"momentum": 0.5} if "momentum" in inspect.signature(kind).parameters else {}
    optimizer = kind([weight], lr=1e-3, **momentum)
    train(kind, weight, optimizer, range(2))
    weight.grad = None
    weight.data = weight.detach().to(dtypes[1])
    before = {name: tensor.clone() for name, tensor in optimizer.state[weight].items()}
    train(kind, weight, optimizer, range(2, 3))
    for name, tensor in optimizer.state[weight].items():
        assert name in SCALARS or tensor.dtype is dtypes[1]
        assert (tensor - before[name]).abs().max().item() < 20  # no bits read as another type


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_makes_no_copy_of_its_weight(kind):
    shape = (1 << 20,)
    weight = leaf(ebb.bfloat16, shape)
    optimizer = kind([weight], lr=1e-3, master_weights=True)
    grad = ebb.ones(*shape, dtype=ebb.bfloat16)
    if kind in NEEDS_ROWS:
        grad = rows([1], grad[:1], shape)
    weight.grad = grad
    optimizer.step()
    assert memory_of(optimizer.step).temporaries < 1 << 16
