# tests/python/opencl/test_random.py -- random numbers of a device are those of the CPU.
#
# Uniform and whole numbers, permutations and masks are the same bits. Normal numbers and others
# made by log go through the device's own log, sin and cos: they may differ by a few units in the
# last place of the largest factor, which TOLERANCES bounds relative to the number's own size.
import pytest

import ebb

SIZE = 1003  # no multiple of what a counter makes
FLOATS = [ebb.float16, ebb.bfloat16, ebb.float32, ebb.float64]
TOLERANCES = {ebb.float16: 2e-3, ebb.bfloat16: 2e-2, ebb.float32: 4e-6, ebb.float64: 1e-14}

EXACT = {
    "rand": lambda dtype, device: ebb.rand(SIZE, dtype=dtype, device=device),
    "uniform_": lambda dtype, device: ebb.empty(SIZE, dtype=dtype, device=device).uniform_(-3, 7.5),
    "uniform_ of neighbours": lambda dtype, device: ebb.empty(
        SIZE, dtype=dtype, device=device
    ).uniform_(1, 1 + float(ebb.finfo(dtype).eps)),
    "bernoulli_": lambda dtype, device: ebb.empty(SIZE, dtype=dtype, device=device).bernoulli_(0.3),
    "dropout": lambda dtype, device: ebb.nn.functional.dropout(
        ebb.linspace(1, 2, SIZE).to(dtype).to(device), 0.3
    ),
}
CLOSE = {
    "randn": lambda out: out.normal_(0.5, 2),
    "exponential_": lambda out: out.exponential_(2.5),
    "log_normal_": lambda out: out.log_normal_(0, 0.5),
    "cauchy_": lambda out: out.cauchy_(1, 2),
}


def drawn(make, device):
    ebb.manual_seed(11)
    ebb.rand(3)  # the sequence does not begin at 0
    first = make(device).cpu()
    return first, make(device).cpu()  # the second goes on where the first stopped


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", EXACT)
def test_uniform_numbers_are_bitwise_those_of_the_cpu(name, dtype, opencl):
    there = drawn(lambda device: EXACT[name](dtype, device), opencl)
    here = drawn(lambda device: EXACT[name](dtype, device), "cpu")
    for got, wanted in zip(there, here, strict=True):
        assert got.tolist() == wanted.tolist()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", CLOSE)
def test_transformed_numbers_are_close_to_those_of_the_cpu(name, dtype, opencl):
    def make(device):
        return CLOSE[name](ebb.empty(SIZE, dtype=dtype, device=device))

    tolerance = TOLERANCES[dtype]
    for got, wanted in zip(drawn(make, opencl), drawn(make, "cpu"), strict=True):
        ebb.testing.assert_close(got, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "dtype", [ebb.bool, ebb.uint8, ebb.int32, ebb.int64, ebb.float16, ebb.float32], ids=str
)
@pytest.mark.parametrize("low", [0, -(2**62)])
def test_whole_numbers_are_those_of_the_cpu(dtype, low, opencl):
    if low < 0 and dtype != ebb.int64:
        low = 1
    high = 2 if dtype == ebb.bool else 2**62 if low < 0 else 100

    def make(device):
        return ebb.randint(low, high, (SIZE,), dtype=dtype, device=device)

    for got, wanted in zip(drawn(make, opencl), drawn(make, "cpu"), strict=True):
        assert got.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    "dtype", [ebb.bool, ebb.uint8, ebb.int8, ebb.int64, ebb.float16, ebb.float64], ids=str
)
@pytest.mark.parametrize("p", [0.3, 1e-3, 1e-30])
def test_trials_up_to_a_success_are_those_of_the_cpu(p, dtype, opencl):
    def make(device):
        return ebb.empty(SIZE, dtype=dtype, device=device).geometric_(p)

    for got, wanted in zip(drawn(make, opencl), drawn(make, "cpu"), strict=True):
        if dtype == ebb.float64:
            ebb.testing.assert_close(got, wanted, rtol=1e-14, atol=0)
        else:
            assert got.tolist() == wanted.tolist()


WEIGHTS = {
    "vocabulary": lambda: ebb.linspace(-4, 4, 5000).exp(),
    "rows": lambda: ebb.linspace(-3, 3, 21).cos().abs().reshape(3, 7),
    "zeros": lambda: ebb.tensor([[0.0, 3, 0, 1, 0], [1, 0, 0, 2, 5]]),
    "float16": lambda: ebb.linspace(0, 1, 40).to(ebb.float16).reshape(4, 10).t(),
}


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("name", WEIGHTS)
def test_draws_by_weight_are_those_of_the_cpu_and_wait_for_nothing(name, replacement, opencl):
    weights = WEIGHTS[name]()
    there, count = weights.to(opencl), 500 if replacement else 2

    def make(device):
        own = weights if device == "cpu" else there
        return ebb.multinomial(own, count, replacement)

    wanted = drawn(make, "cpu")
    before = ebb._C._device_waits()
    make(opencl)
    assert ebb._C._device_waits() == before
    for got, one in zip(drawn(make, opencl), wanted, strict=True):
        assert got.tolist() == one.tolist()


@pytest.mark.parametrize(
    ("weights", "complaint"),
    [
        ([1.0, -1.0], "weights must be finite and not negative, got -1"),
        ([1.0, float("inf")], "weights must be finite and not negative, got inf"),
        ([[1.0, 1.0], [0.0, 0.0]], "the sum of each row must be positive and finite, got 0"),
        ([1.0, 0.0], "weights above 0 must be as large as num_samples in each row, got 1"),
    ],
)
def test_weights_that_are_wrong_are_told_at_the_next_wait(weights, complaint, opencl):
    ebb.multinomial(ebb.tensor(weights).to(opencl), 2)
    with pytest.raises(ValueError, match=complaint):
        ebb.synchronize(opencl)
    with pytest.raises(ValueError, match="multinomial: "):
        ebb.multinomial(ebb.tensor(weights), 2)


@pytest.mark.parametrize("size", [0, 1, 2, SIZE])
def test_permutations_are_those_of_the_cpu(size, opencl):
    there = drawn(lambda device: ebb.randperm(size, device=device), opencl)
    here = drawn(lambda device: ebb.randperm(size, device=device), "cpu")
    assert [one.tolist() for one in there] == [one.tolist() for one in here]


def test_the_gradient_of_dropout_uses_its_mask(opencl):
    x = ebb.ones(SIZE).to(opencl).requires_grad_()
    out = ebb.nn.functional.dropout(x, 0.4)
    out.sum().backward()
    assert x.grad.tolist() == out.tolist()
