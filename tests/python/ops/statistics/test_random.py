# tests/python/ops/statistics/test_random.py -- random ops: ranges, moments, repeatability by seed
# and by generator, independence of the number of threads; dropout and its derivatives.
import numpy as np
import pytest

import ebb
from ebb.nn.functional import dropout

standard_gamma = ebb._C._ops.standard_gamma
COUNT = 40000

# Each makes a tensor; extra keyword arguments such as generator are handed on.
DRAWS = {
    "rand": lambda **k: ebb.rand(COUNT, **k),
    "randn": lambda **k: ebb.randn(COUNT, **k),
    "randint": lambda **k: ebb.randint(5, 900, (COUNT,), **k),
    "randint high": lambda **k: ebb.randint(7, (3, 5), **k),
    "randperm": lambda **k: ebb.randperm(1000, **k),
    "normal": lambda **k: ebb.normal(2.0, 3.0, (COUNT,), **k),
    "normal mean": lambda **k: ebb.normal(ebb.arange(4.0), 0.5, **k),
    "normal std": lambda **k: ebb.normal(1.0, ebb.arange(4.0), **k),
    "normal both": lambda **k: ebb.normal(ebb.zeros(3, 1), ebb.ones(4), **k),
    "bernoulli": lambda **k: ebb.bernoulli(ebb.full([COUNT], 0.25), **k),
    "bernoulli p": lambda **k: ebb.zeros(COUNT).bernoulli(0.25, **k),
    "bernoulli_": lambda **k: ebb.zeros(COUNT).bernoulli_(0.25, **k),
    "bernoulli_ tensor": lambda **k: ebb.zeros(9, 100).bernoulli_(ebb.full([100], 0.5), **k),
    "uniform_": lambda **k: ebb.empty(COUNT).uniform_(-2, 5, **k),
    "normal_": lambda **k: ebb.empty(COUNT).normal_(2, 3, **k),
    "exponential_": lambda **k: ebb.empty(COUNT).exponential_(2.0, **k),
    "exponential_ float64": lambda **k: ebb.empty(COUNT, dtype=ebb.float64).exponential_(0.5, **k),
    "log_normal_": lambda **k: ebb.empty(COUNT).log_normal_(0.5, 0.25, **k),
    "cauchy_": lambda **k: ebb.empty(COUNT).cauchy_(1.0, 2.0, **k),
    "geometric_": lambda **k: ebb.empty(COUNT).geometric_(0.2, **k),
    "geometric_ int": lambda **k: ebb.empty(COUNT, dtype=ebb.int32).geometric_(0.75, **k),
    "random_": lambda **k: ebb.empty(COUNT, dtype=ebb.int8).random_(**k),
    "random_ to": lambda **k: ebb.empty(COUNT).random_(10, **k),
    "random_ from": lambda **k: ebb.empty(COUNT).random_(-5, 5, **k),
    "randint_like": lambda **k: ebb.randint_like(ebb.zeros(COUNT), -5, 5, **k),
    "poisson": lambda **k: ebb.poisson(ebb.full([COUNT], 3.5), **k),
    "poisson often": lambda **k: ebb.poisson(ebb.full([COUNT], 50.0), **k),
    "binomial": lambda **k: ebb.binomial(ebb.full([COUNT], 20.0), ebb.tensor(0.2), **k),
    "binomial often": lambda **k: ebb.binomial(ebb.full([COUNT], 200.0), ebb.tensor(0.7), **k),
    "standard_gamma": lambda **k: standard_gamma(ebb.full([COUNT], 2.5), **k),
    "standard_gamma below 1": lambda **k: standard_gamma(ebb.full([COUNT], 0.4), **k),
    "multinomial": lambda **k: ebb.ones(3, 50).multinomial(20, **k),
    "multinomial again": lambda **k: ebb.ones(3, 50).multinomial(200, True, **k),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_repeats_for_any_number_of_threads_and_a_generator_is_apart(name):
    draw = DRAWS[name]
    ebb.manual_seed(3)
    first, second = draw().tolist(), draw().tolist()
    assert first != second
    for threads in (1, 2, 3):
        ebb.set_num_threads(threads)
        ebb.manual_seed(3)
        assert draw().tolist() == first and draw().tolist() == second
    own = ebb.Generator().manual_seed(3)
    before = ebb.get_rng_state().tolist()
    assert draw(generator=own).tolist() == first
    assert ebb.get_rng_state().tolist() == before


MOMENTS = {
    "rand": (0.5, 1 / 12),
    "randn": (0, 1),
    "randint": ((5 + 899) / 2, (895**2 - 1) / 12),
    "normal": (2, 9),
    "bernoulli": (0.25, 0.1875),
    "bernoulli p": (0.25, 0.1875),
    "bernoulli_": (0.25, 0.1875),
    "uniform_": (1.5, 49 / 12),
    "normal_": (2, 9),
    "exponential_": (0.5, 0.25),
    "exponential_ float64": (2, 4),
    "log_normal_": (np.exp(0.5 + 1 / 32), np.expm1(1 / 16) * np.exp(1 + 1 / 16)),
    "geometric_": (5, 20),
    "geometric_ int": (4 / 3, 4 / 9),
    "random_": (63.5, (128**2 - 1) / 12),
    "random_ to": (4.5, 99 / 12),
    "random_ from": (-0.5, 99 / 12),
    "randint_like": (-0.5, 99 / 12),
    "poisson": (3.5, 3.5),
    "poisson often": (50, 50),
    "binomial": (4, 3.2),
    "binomial often": (140, 42),
    "standard_gamma": (2.5, 2.5),
    "standard_gamma below 1": (0.4, 0.4),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_mean_and_variance_are_right(name):
    mean, variance = MOMENTS[name]
    values = DRAWS[name]().double().numpy()
    assert abs(values.mean() - mean) < 5 * np.sqrt(variance / COUNT)
    assert abs(values.var() / variance - 1) < 0.05


@pytest.mark.parametrize("size", [1, 2, 3, 15, 17, 255, 257, 9001])
@pytest.mark.parametrize("dtype", [ebb.float32, ebb.float64], ids=str)
def test_normal_numbers_are_the_transform_of_uniform_ones(dtype, size):
    ebb.manual_seed(3)
    uniform = ebb.rand(10_000, dtype=dtype).double().numpy()
    radius, angle = np.sqrt(-2 * np.log(1 - uniform[::2])), 2 * np.pi * uniform[1::2]
    wanted = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)
    ebb.manual_seed(3)
    found = ebb.normal(0.5, 2.0, (size,), dtype=dtype).double().numpy()
    tolerance = 16 * ebb.finfo(dtype).eps  # the angle is as large as 2 pi, the factor as 12
    np.testing.assert_allclose(found, 0.5 + 2 * wanted[:size], tolerance, tolerance)


def test_integers_stay_in_range_and_reach_its_ends():
    x = ebb.randint(-3, 4, (5000,))
    assert x.dtype == ebb.int64 and sorted(set(x.tolist())) == list(range(-3, 4))
    counts = np.unique(x.numpy(), return_counts=True)[1]
    assert counts.min() > 600 and counts.max() < 830
    assert ebb.randint(0, 2**63 - 1, (100,)).numpy().max() > 2**61
    assert ebb.randint(3, (2, 3), dtype=ebb.float32).dtype == ebb.float32


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_a_permutation_has_every_number_once(n):
    assert sorted(ebb.randperm(n).tolist()) == list(range(n))


def test_all_permutations_are_equally_likely():
    found = [tuple(ebb.randperm(3).tolist()) for _ in range(3000)]
    counts = [found.count(one) for one in set(found)]
    assert len(counts) == 6 and min(counts) > 400 and max(counts) < 600


def test_probabilities_of_0_and_1_are_certain():
    p = ebb.tensor([0.0, 1.0]).expand([1000, 2])
    assert (ebb.bernoulli(p) == p).all().item()
    assert not ebb.ones(1000).bernoulli(0.0).any().item()
    assert ebb.zeros(1000).bernoulli_(1.0).all().item()


def test_draws_by_weight_follow_the_weights():
    weights = ebb.tensor([[1.0, 0.0, 3.0, 6.0], [5.0, 5.0, 0.0, 0.0]])
    again = weights.multinomial(20000, True).numpy()
    for row, wanted in zip(again, ([0.1, 0, 0.3, 0.6], [0.5, 0.5, 0, 0]), strict=True):
        shares = np.bincount(row, minlength=4) / 20000
        np.testing.assert_allclose(shares, wanted, atol=0.015)
        assert (shares[np.array(wanted) == 0] == 0).all()
    first = weights[0].expand([20000, 4]).multinomial(2).numpy()
    assert (first[:, 0] != first[:, 1]).all() and not (first == 1).any()
    shares = np.bincount(first[:, 0], minlength=4) / 20000
    np.testing.assert_allclose(shares, [0.1, 0, 0.3, 0.6], atol=0.015)
    with pytest.raises(ValueError, match="each row needs 3 weights above 0, got 2 in row 1"):
        weights.multinomial(3)


def test_random_values_written_to_a_view_leave_the_rest_alone():
    x = ebb.zeros(6, 4)
    x[:, 1].normal_()
    x[::2, 3].uniform_(1, 2)
    values = x.numpy()
    assert (values[:, [0, 2]] == 0).all() and (values[:, 1] != 0).all()
    assert (values[::2, 3] >= 1).all() and (values[1::2, 3] == 0).all()


def test_gradients_of_drawn_values_are_zero():
    mean = ebb.zeros(3, 1, requires_grad=True)
    std = ebb.ones(4, requires_grad=True)
    ebb.normal(mean, std).sum().backward()
    assert mean.grad.tolist() == [[0.0]] * 3 and std.grad.tolist() == [0.0] * 4
    mean.grad = std.grad = None
    ebb.normal(mean, 2.0).sum().backward()
    ebb.normal(1.0, std).sum().backward()
    assert mean.grad.tolist() == [[0.0]] * 3 and std.grad.tolist() == [0.0] * 4
    p = ebb.full([3], 0.5).requires_grad_()
    p.bernoulli().sum().backward()
    assert p.grad.tolist() == [0.0] * 3
    p.grad = None
    p.bernoulli(0.25).sum().backward()
    assert p.grad.tolist() == [0.0] * 3
    leaf = ebb.ones(3, requires_grad=True)
    written = (leaf * 2).uniform_()
    written.sum().backward()
    assert leaf.grad is None  # nothing of it is left in what was written over


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("size", [1, 5, 511, 513, 100001])
def test_dropout_keeps_the_right_share_and_scales_it(dtype, size):
    x = ebb.tensor(np.arange(size) % 7 + 1).to(getattr(ebb, dtype)).requires_grad_()
    out = dropout(x, 0.25)
    kept = out.detach().double().numpy() != 0
    exact = np.where(kept, x.detach().double().numpy() / 0.75, 0)
    np.testing.assert_allclose(out.detach().double().numpy(), exact, rtol=1e-2)
    if size > 1000:
        assert abs(kept.mean() - 0.75) < 0.01
    out.sum().backward()
    np.testing.assert_allclose(x.grad.double().numpy(), kept / 0.75, rtol=1e-2)


def test_dropout_is_the_same_for_any_number_of_threads_and_layout():
    x = ebb.ones(300, 1000)
    for threads in (1, 2, 3):
        ebb.set_num_threads(threads)
        ebb.manual_seed(5)
        first = dropout(x, 0.5)
        ebb.manual_seed(5)
        assert ebb.equal(dropout(ebb.ones(1000, 300).transpose(0, 1), 0.5), first)
        if threads == 1:
            wanted = first
        assert ebb.equal(first, wanted)


def test_dropout_of_nothing_and_of_everything():
    x = ebb.tensor([1.0, float("inf")], requires_grad=True)
    assert dropout(x, 0.0).tolist() == dropout(x, 0.7, training=False).tolist() == x.tolist()
    out = dropout(x, 1.0)
    assert out.tolist() == [0.0, 0.0]
    assert ebb.autograd.grad([out.sum()], [x])[0].tolist() == [0.0, 0.0]
    y = ebb.ones(50)
    assert dropout(y, 0.5, inplace=True) is y and sorted(set(y.tolist())) == [0.0, 2.0]


def test_dropout_is_differentiable_twice():
    x = ebb.randn(40, dtype=ebb.float64, requires_grad=True)

    def func(v):
        ebb.manual_seed(9)
        return dropout(v * v, 0.4)

    assert ebb.autograd.gradcheck(func, [x]) and ebb.autograd.gradgradcheck(func, [x])


def test_the_words_of_dropout_are_those_of_the_sequence():
    ebb.manual_seed(2**40 + 17)
    mask = dropout(ebb.ones(10007), 0.5) != 0
    ebb.manual_seed(2**40 + 17)
    # The numbers of rand are the upper 24 bits of the same words.
    assert ebb.equal(mask, ebb.rand(10007) >= 0.5)


def words_of_sequence(seed, count):
    """Philox 4x32 with 10 rounds, in whole numbers of Python: the words of the first counters."""
    words = []
    for place in range(count // 4 + 1):
        first, second, third, fourth = place, 0, 0, 0
        key, other_key = seed & 0xFFFFFFFF, seed >> 32
        for _ in range(10):
            left, right = first * 0xD2511F53, third * 0xCD9E8D57
            first, second = right >> 32 ^ second ^ key, right & 0xFFFFFFFF
            third, fourth = left >> 32 ^ fourth ^ other_key, left & 0xFFFFFFFF
            key, other_key = key + 0x9E3779B9 & 0xFFFFFFFF, other_key + 0xBB67AE85 & 0xFFFFFFFF
        words += [first, second, third, fourth]
    return np.array(words, np.uint64)


def test_uniform_numbers_are_the_words_of_the_sequence_for_every_count():
    seed = 0xFEDCBA9876543210 >> 1
    words = words_of_sequence(seed, 2 * 1111)
    pairs = words[::2] << np.uint64(32) | words[1::2]
    for count in [*range(1, 70), 255, 256, 257, 511, 513, 1111]:
        ebb.manual_seed(seed)
        assert np.array_equal(ebb.rand(count).numpy(), (words[:count] >> np.uint64(8)) * 2.0**-24)
        ebb.manual_seed(seed)
        numbers = ebb.rand(count, dtype=ebb.float64).numpy()
        assert np.array_equal(numbers, (pairs[:count] >> np.uint64(11)) * 2.0**-53)


@pytest.mark.parametrize("dtype", [ebb.float32, ebb.float64], ids=str)
def test_uniform_numbers_never_reach_the_end_of_their_interval(dtype):
    """Between neighbouring numbers half of all sums are rounded up to the end."""
    start, end = 1.0, 1.0 + float(ebb.finfo(dtype).eps)
    assert set(ebb.empty(1001, dtype=dtype).uniform_(start, end).tolist()) == {start}
    assert set(ebb.empty(9, dtype=dtype).uniform_(end, end).tolist()) == {end}


def test_a_generator_tells_its_device_and_makes_others_that_go_on_as_it_does():
    own = ebb.Generator().manual_seed(3)
    assert own.device == ebb.device("cpu") == ebb.default_generator.device
    assert ebb.Generator(device=None).device == ebb.device("cpu")
    assert ebb.Generator(device="meta").clone_state().device == ebb.device("meta")
    ebb.rand(5, generator=own)
    other = own.clone_state()
    assert other is not own and other.initial_seed() == 3
    following = ebb.rand(5, generator=own).tolist()
    assert ebb.rand(5, generator=other).tolist() == following
    copied = ebb.default_generator.clone_state()
    assert ebb.rand(3, generator=copied).tolist() == ebb.rand(3).tolist()
    with pytest.raises(ValueError, match="Generator: "):
        ebb.Generator(device="nowhere")
    with pytest.raises(ebb.DTypeError, match="Generator: "):
        ebb.Generator(device=3.5)
