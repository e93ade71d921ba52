# tests/python/opencl/test_waits.py -- a training step queues its work and waits for nothing.
#
# What is counted is each time that ebb waits for a stream or an event, copies to the host among
# them; over the stand-in of CUDA's driver the driver's own calls are counted as well.
import pytest

import ebb
from ebb import nn, optim
from ebb.nn import functional as F
from tests.python.opencl import test_training
from tests.python.opencl.conftest import IS_STAND_IN, stand_in

STEPS = 3
WAITING_CALLS = (
    "cuStreamSynchronize",
    "cuEventSynchronize",
    "cuCtxSynchronize",
    "cuMemcpyDtoHAsync",
)


def waits():
    calls = sum(map(stand_in.StandIn().calls, WAITING_CALLS)) if IS_STAND_IN else 0
    return ebb._C._device_waits() + calls


def sgd(parameters):
    return optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True)


DIGITS = (test_training.digits_cnn, test_training.digits_batches)
GPT = (test_training.char_gpt, test_training.text_batches)
LSTM = (test_training.char_lstm, test_training.text_batches)


@pytest.mark.parametrize(
    ("make_model", "make_batches", "make_optimizer"),
    [
        pytest.param(*GPT, optim.AdamW, id="gpt"),
        pytest.param(*GPT, sgd, id="gpt-sgd", marks=pytest.mark.long),
        pytest.param(*DIGITS, optim.AdamW, id="digits", marks=pytest.mark.long),
        pytest.param(*LSTM, optim.AdamW, id="lstm", marks=pytest.mark.long),
    ],
)
def test_a_training_step_waits_for_nothing(make_model, make_batches, make_optimizer, opencl):
    model = make_model().to(opencl)
    optimizer = make_optimizer(model.parameters())
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    batches = [batch for batch, _ in zip(make_batches(), range(STEPS), strict=False)]
    total = ebb.zeros([], device=opencl)
    before = waits()
    for inputs, targets in batches:
        optimizer.zero_grad()
        scores = model(inputs.to(opencl))
        loss = F.cross_entropy(scores.reshape(-1, scores.shape[-1]), targets.to(opencl).reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        total += loss.detach()
    assert waits() == before
    assert total.isfinite().item()
    assert waits() > before  # they are counted


def test_indexing_by_tensors_of_the_device_waits_for_nothing(opencl):
    x = ebb.ones(5, 4).to(opencl).requires_grad_()
    index = ebb.tensor([[0, 4], [2, 2]]).to(opencl)
    before = waits()
    picked = x.index_select(0, index.reshape(-1)).sum() + x.gather(1, index % 4).sum()
    picked = picked + F.embedding(index, x, padding_idx=0).sum() + F.one_hot(index, 5).sum()
    picked = picked + x.scatter(1, index % 4, x[:2, :2]).sum()
    picked = picked + x.index_copy(0, index.reshape(-1), x[:4] * 2).sum()
    picked.backward()
    with ebb.no_grad():
        x.index_add_(0, index.reshape(-1), ebb.ones(4, 4).to(opencl))
        x.scatter_(1, index % 4, 2.0)
    assert waits() == before
    assert x.grad.isfinite().all().item()


PLACES = {
    "take": lambda x, at: x.take(at),
    "put": lambda x, at: x.put(at, 2 * at.to(ebb.float32)),
    "put_added": lambda x, at: x.put(at, 2 * at.to(ebb.float32), accumulate=True),
    "unravel_index": lambda x, at: ebb.unravel_index(at, x.shape)[0],
}


@pytest.mark.parametrize("name", PLACES)
def test_places_in_row_major_order_wait_for_nothing(name, opencl):
    x, at = ebb.arange(20.0).reshape(5, 4), ebb.tensor([0, 19, -20, -1, 7])
    here, there = PLACES[name](x, at), x.to(opencl)
    before = waits()
    found = PLACES[name](there, at.to(opencl))
    assert waits() == before
    assert found.tolist() == here.tolist()
    for wrong in (20, -21):
        PLACES[name](there, ebb.tensor([0, wrong]).to(opencl))
        with pytest.raises(IndexError) as told:
            ebb.synchronize(opencl)
        with pytest.raises(IndexError) as raised:
            PLACES[name](x, ebb.tensor([0, wrong]))
        assert str(told.value).partition("\n")[0] == str(raised.value).partition("\n")[0]


def waits_of_a_step(call, *leaves):
    """How often the call and its backward pass wait."""
    before = waits()
    call(*leaves).sum().backward()
    return waits() - before


PRODUCTS = {
    "all": lambda x: x.prod(),
    "rows": lambda x: x.prod(1),
    "columns": lambda x: x.prod(0, keepdim=True),
    "vector": lambda x: x.reshape(-1).prod(0) + x[1].prod(0, keepdim=True),
    "running_sums": lambda x: x.cumsum(0).prod(-1),
}


@pytest.mark.parametrize("zeros", [0, 1, 2])
@pytest.mark.parametrize("row", PRODUCTS)
def test_gradients_of_products_wait_for_nothing(row, zeros, opencl):
    x = ebb.linspace(-1, 2, 21).reshape(3, 7)
    x[1, :zeros] = 0
    here, there = x.clone().requires_grad_(), x.to(opencl).requires_grad_()
    assert waits_of_a_step(PRODUCTS[row], there) == 0
    PRODUCTS[row](here).sum().backward()
    assert ebb.allclose(there.grad.cpu(), here.grad, rtol=1e-5)


def test_second_derivatives_of_products_wait_for_nothing(opencl):
    def slopes(x):
        (first,) = ebb.autograd.grad(x.prod(1).sum(), x, create_graph=True)
        return (first * first).sum()

    x = ebb.tensor([[0.0, 2.0, 0.0, 3.0, 5.0], [1.0, -1.0, 2.0, 0.5, 4.0]])
    here, there = x.clone().requires_grad_(), x.to(opencl).requires_grad_()
    assert waits_of_a_step(slopes, there) == 0
    slopes(here).backward()
    assert ebb.allclose(there.grad.cpu(), here.grad, rtol=1e-5)


LENGTHS = (ebb.tensor([7, 2, 5]), ebb.tensor([3, 0, 2]))
JOINED = ebb.tensor([1, 1, 2, 3, 2])
PADDED = ebb.tensor([[1, 1, 2], [4, 4, 4], [3, 2, 0]])


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize(
    ("targets", "are_lengths_there"),
    [(PADDED, True), (PADDED, False), (JOINED, False)],
    ids=["padded", "padded-lengths_of_the_host", "joined-lengths_of_the_host"],
)
def test_ctc_loss_waits_for_nothing(targets, are_lengths_there, reduction, opencl):
    def loss(scores, targets, lengths):
        logs = F.log_softmax(scores, -1)
        return F.ctc_loss(logs, targets, *lengths, reduction=reduction, zero_infinity=True)

    scores = ebb.linspace(-1, 1, 105).reshape(7, 3, 5).cos()
    here, there = scores.clone().requires_grad_(), scores.to(opencl).requires_grad_()
    lengths = [one.to(opencl) for one in LENGTHS] if are_lengths_there else LENGTHS
    labels = targets.to(opencl)
    assert waits_of_a_step(lambda x: loss(x, labels, lengths), there) == 0
    loss(here, targets, LENGTHS).sum().backward()
    assert ebb.allclose(there.grad.cpu(), here.grad, rtol=1e-4, atol=1e-6)


def test_joined_targets_wait_once_for_lengths_of_the_device(opencl):
    logs = ebb.zeros(7, 3, 5).log_softmax(-1).to(opencl)
    before = ebb._C._device_waits()
    F.ctc_loss(logs, JOINED.to(opencl), *[one.to(opencl) for one in LENGTHS])
    assert ebb._C._device_waits() == before + 1


def test_gaussian_nll_loss_waits_for_nothing(opencl):
    x, var = ebb.arange(6.0).reshape(2, 3), ebb.tensor([[1.0, 2.0, 0.0], [float("nan"), 1.0, 2.0]])
    there = x.to(opencl).requires_grad_()
    target, spread = ebb.ones(2, 3).to(opencl), var.to(opencl)
    loss = F.gaussian_nll_loss(x, ebb.ones(2, 3), var, reduction="none")
    assert (
        waits_of_a_step(
            lambda x: F.gaussian_nll_loss(x, target, spread, reduction="none").nansum(), there
        )
        == 0
    )
    got = F.gaussian_nll_loss(there, target, spread, reduction="none")
    assert ebb.allclose(got.detach().cpu(), loss, equal_nan=True)


PADDED_BAGS = (ebb.tensor([[0, 2, 1, 1], [2, 2, 2, 2], [5, 4, 2, 5]]), None)
BAGS = (ebb.tensor([1, 2, 0, 3, 3, 2, 5]), ebb.tensor([0, 2, 2, 5]))
NO_BAGS = (ebb.zeros(0, dtype=ebb.int64), ebb.tensor([0, 0]))


@pytest.mark.parametrize("options", [{}, {"padding_idx": 2}], ids=["all", "padding"])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("bags", [PADDED_BAGS, BAGS, NO_BAGS], ids=["rows", "offsets", "empty"])
def test_embedding_bag_waits_for_nothing(bags, mode, options, opencl):
    def step(weight, *bags):
        return F.embedding_bag(bags[0], weight, bags[1], mode=mode, **options).sin()

    weight = ebb.linspace(-1, 1, 18).reshape(6, 3).cos()
    here, there = weight.clone().requires_grad_(), weight.to(opencl).requires_grad_()
    given = [one if one is None else one.to(opencl) for one in bags]
    assert waits_of_a_step(lambda x: step(x, *given) + 0 * x.sum(), there) == 0
    (step(here, *bags) + 0 * here.sum()).sum().backward()
    assert ebb.allclose(step(there, *given).cpu(), step(here, *bags), rtol=1e-5)
    assert ebb.allclose(there.grad.cpu(), here.grad, rtol=1e-5)


@pytest.mark.parametrize("bags", [PADDED_BAGS, BAGS], ids=["rows", "offsets"])
def test_factors_of_bags_and_second_derivatives_wait_for_nothing(bags, opencl):
    def step(weight, factors, device):
        rows, offsets = (one if one is None else one.to(device) for one in bags)
        options = {"mode": "sum", "include_last_offset": offsets is not None}
        out = F.embedding_bag(rows, weight, offsets, per_sample_weights=factors, **options)
        first = ebb.autograd.grad(out.exp().sum(), (weight, factors), create_graph=True)
        return sum((one * one).sum() for one in first)

    leaves = ebb.linspace(-1, 1, 18).reshape(6, 3), ebb.linspace(0, 1, bags[0].numel())
    leaves = leaves[0], leaves[1].reshape(bags[0].shape)
    here = [one.clone().requires_grad_() for one in leaves]
    there = [one.to(opencl).requires_grad_() for one in leaves]
    assert waits_of_a_step(lambda *x: step(*x, opencl), *there) == 0
    step(*here, "cpu").backward()
    for mine, its in zip(here, there, strict=True):
        assert ebb.allclose(its.grad.cpu(), mine.grad, rtol=1e-4)


NAN = float("nan")
ROWS = ebb.tensor([[3.0, 1.0, NAN, 2.0, 5.0], [0.5, 4.0, -1.0, 2.5, 7.0], [1, 1, 1, 0, 2]])
TARGETS = ebb.tensor([[3, 0, -1, 1, 1], [-1, 2, 2, 2, 2], [4, 4, 0, 1, 2]])
IMAGES = ebb.linspace(-2, 2, 60).reshape(1, 2, 5, 6).cos()
SAMPLES = ebb.tensor([[[0.0, 0.3], [0.999, 0.5]]])


def fractional(x, samples):
    return F.fractional_max_pool2d(x, 2, output_size=(2, 3), _random_samples=samples)


CHECKED = {
    "quantile": (lambda x, q: x.quantile(q, 1).nan_to_num(), ROWS, ebb.tensor([0.0, 0.3, 1.0])),
    "nanquantile": (lambda x, q: x.nanquantile(q, 1), ROWS, ebb.tensor(0.4)),
    "quantile-number": (lambda x, _: x.quantile(0.3, 0).nan_to_num(), ROWS, ebb.ones(1)),
    "margins": (F.multilabel_margin_loss, ROWS.nan_to_num(), TARGETS),
    "margins-int32": (F.multilabel_margin_loss, ROWS.nan_to_num(), TARGETS.to(ebb.int32)),
    "margins-row": (F.multilabel_margin_loss, ROWS[1], TARGETS[0]),
    "fractional_pool": (fractional, IMAGES, SAMPLES),
}


@pytest.mark.parametrize("name", CHECKED)
def test_what_a_device_checks_by_itself_waits_for_nothing(name, opencl):
    call, x, other = CHECKED[name]
    here, there = x.clone().requires_grad_(), x.to(opencl).requires_grad_()
    given = other.to(opencl)
    assert waits_of_a_step(lambda x: call(x, given), there) == 0
    call(here, other).sum().backward()
    assert ebb.allclose(call(there, given).cpu(), call(here, other), rtol=1e-5)
    assert ebb.allclose(there.grad.cpu(), here.grad, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "wrong", "complaint"),
    [
        ("quantile", ebb.tensor([0.5, 1.5]), r"quantile: q must be from 0 to 1, got 1.5"),
        ("nanquantile", ebb.tensor(NAN), r"nanquantile: q must be from 0 to 1, got nan"),
        ("margins", TARGETS + 1, r"margin_loss: target must be from -1 to 4, got 5"),
        ("margins", TARGETS - 1, r"margin_loss: target must be from -1 to 4, got -2"),
        ("fractional_pool", SAMPLES + 0.001, r"samples must be from 0 to below 1, got 1"),
    ],
)
def test_what_a_device_finds_wrong_is_told_at_the_next_wait(name, wrong, complaint, opencl):
    call, x, _ = CHECKED[name]
    before = waits()
    call(x.to(opencl), wrong.to(opencl))
    assert waits() == before
    with pytest.raises(ValueError, match=complaint):
        ebb.synchronize(opencl)
    with pytest.raises(ValueError, match=complaint):
        call(x, wrong)
