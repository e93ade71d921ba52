# tests/python/ops/test_threads.py -- values and gradients are bitwise the same for any number of
# threads: work is split by shape only, and sums are added in a fixed order.
import numpy as np
import pytest

import ebb

COUNTS = (1, 2, 3, 4, 8)
RNG = np.random.default_rng(7)


def noise(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


BIG = noise(1 << 20)
WIDE = noise(700, 1500)
ROWS = RNG.integers(0, 50, 20000)
SOURCE = noise(20000, 40)
LEFT, RIGHT = noise(301, 517), noise(517, 203)
IMAGES, FILTERS = noise(9, 24, 40, 40), noise(48, 24, 3, 3)
BATCH = noise(8, 65, 130), noise(8, 130, 70)


def spread(*tensors):
    """A loss with a different weight for every element."""
    total = 0
    for tensor in tensors:
        weight = ebb.arange(tensor.numel(), dtype=tensor.dtype).reshape(tensor.shape)
        total = total + (tensor * (weight * 1e-6 + 1)).sum()
    return total


def fan_in(x):
    total = x * 0.1
    for step in range(20):
        total = total + x * (0.1 * step)
    return total


def recurrent(kind, gates, hidden, shape):
    """A layer over [time, batch, features] with all its operands."""
    size, layer = gates * hidden, getattr(ebb, f"{kind}_layer")
    states = [noise(shape[1], hidden) for _ in range(2 if kind == "lstm" else 1)]
    weights = [noise(size, shape[2]), noise(size, hidden), noise(size), noise(size)]
    return lambda *given: layer(*given)[0], [noise(*shape), *states, *weights]


# The block of rows is whole; rows are cut; units are cut, the last block odd; nothing is cut.
RECURRENT = [(48, (6, 70, 8)), (7, (8, 70, 2)), (130, (9, 60, 2)), (33, (8, 3, 2))]

PROGRAMS = {
    **{
        f"{kind} of {hidden} units": recurrent(kind, gates, hidden, shape)
        for kind, gates in (("lstm", 4), ("gru", 3), ("rnn", 1))
        for hidden, shape in RECURRENT
    },
    "attention": (
        ebb.scaled_dot_product_attention,
        [noise(1, 2, 300, 8), noise(1, 2, 1600, 8), noise(1, 2, 1600, 8)],
    ),
    "sum": (lambda x: x.sum(), [BIG]),
    "sum rows": (lambda x: x.sum(1), [WIDE]),
    "sum columns": (lambda x: x.sum(0), [WIDE]),
    "mean": (lambda x: x.mean(), [BIG]),
    "max": (lambda x: x.max(), [BIG]),
    "max rows": (lambda x: x.max(1)[0], [WIDE]),
    "var": (lambda x: x.var(), [BIG]),
    "var rows and columns": (lambda x: x.var(1) + x.std(0)[:700], [WIDE]),
    "prod": (lambda x: (x * 0.01 + 1).prod(0), [WIDE]),
    "norm": (lambda x: x.norm(), [BIG]),
    "amin": (lambda x: x.amin(0), [WIDE]),
    "min rows": (lambda x: x.min(1)[0], [WIDE]),
    "logsumexp": (lambda x: x.logsumexp(1), [WIDE]),
    "cumsum": (lambda x: x.cumsum(0), [BIG]),
    "sort": (lambda x: x.sort(0)[0], [WIDE]),
    "mul": (lambda x, y: x * y, [WIDE, WIDE[0]]),
    "exp": (lambda x: x.exp(), [WIDE]),
    "where": (lambda x: ebb.where(x > 0, x * 2.0, x), [WIDE]),
    "log_softmax": (lambda x: x.log_softmax(1), [WIDE]),
    "softmax": (lambda x: x.softmax(1), [WIDE]),
    "softmax columns": (lambda x: x.softmax(0), [WIDE]),
    "log_softmax columns": (lambda x: x.log_softmax(0), [WIDE]),
    "cross_entropy": (
        lambda x: ebb.cross_entropy(x, ebb.tensor(ROWS[:700])),
        [WIDE],
    ),
    "index_add": (
        lambda x, s: x.index_add(0, ebb.tensor(ROWS), s),
        [np.zeros((50, 40), np.float32), SOURCE],
    ),
    "index_add of one row": (
        lambda x, s: x.index_add(0, ebb.tensor(np.minimum(ROWS, 1)), s.repeat(1, 30)),
        [np.zeros((50, 1200), np.float32), SOURCE],
    ),
    "index_add among many rows": (
        lambda x, s: x.index_add(0, ebb.tensor(ROWS * 997), s),
        [np.zeros((50000, 40), np.float32), SOURCE],
    ),
    "index_copy": (
        lambda x, s: x.index_copy(0, ebb.tensor(ROWS), s),
        [np.zeros((50, 40), np.float32), SOURCE],
    ),
    "embedding": (
        lambda w: ebb.embedding(w, ebb.tensor(ROWS)),
        [noise(50, 40)],
    ),
    "masks": (lambda x: x[x > 0] * 2, [WIDE]),
    "index_select": (lambda x: x.index_select(0, ebb.tensor(ROWS)), [noise(50, 40)]),
    "gather": (
        lambda x: x.gather(0, ebb.tensor(np.repeat(ROWS[:, None], 40, 1))),
        [noise(50, 40)],
    ),
    "scatter_add": (
        lambda x, s: x.scatter_add(0, ebb.tensor(np.repeat(ROWS[:, None], 40, 1)), s),
        [np.zeros((50, 40), np.float32), SOURCE],
    ),
    "matmul": (lambda x, y: x @ y, [LEFT, RIGHT]),
    "matmul long sum": (lambda x, y: x @ y, [noise(3, 40000), noise(40000, 5)]),
    "matmul batched": (lambda x, y: x @ y, list(BATCH)),
    "matmul vector": (lambda x, y: x @ y, [LEFT, RIGHT[:, 0].copy()]),
    "linear": (
        lambda x, w, b: ebb.nn.functional.linear(x, w, b),
        [LEFT, RIGHT.T.copy(), noise(203)],
    ),
    "conv2d": (lambda x, w, b: ebb.conv2d(x, w, b, 1, 1), [IMAGES, FILTERS, noise(48)]),
    "conv2d in float64": (
        lambda x, w: ebb.conv2d(x.double(), w.double()),
        [IMAGES, FILTERS],
    ),
    "conv2d of one image": (lambda x, w: ebb.conv2d(x, w, None, 1, 1), [IMAGES[:1], FILTERS]),
    "conv_transpose2d": (
        lambda x, w, b: ebb.conv_transpose2d(x, w, b, 2),
        [IMAGES[:, :, :20], noise(24, 8, 3, 3), noise(8)],
    ),
    "max_pool2d": (lambda x: ebb.max_pool2d(x, 3, 2, 1), [IMAGES]),
    "avg_pool2d": (lambda x: ebb.avg_pool2d(x, 3, 2, 1), [IMAGES]),
    "layer_norm": (
        lambda x, w, b: ebb.layer_norm(x, [1500], w, b),
        [WIDE, noise(1500), noise(1500)],
    ),
    "group_norm": (
        lambda x, w: ebb.group_norm(x.reshape(7, 20, 7500), 4, w),
        [WIDE, noise(20)],
    ),
    "batch_norm": (
        lambda x, w, b: ebb.nn.functional.batch_norm(
            x.reshape(7, 100, 1500), None, None, w, b, True
        ),
        [WIDE, noise(100), noise(100)],
    ),
    "batch_norm of few channels": (
        lambda x, w: ebb.nn.functional.batch_norm(x.reshape(7, 3, -1), None, None, w, None, True),
        [WIDE, noise(3)],
    ),
    "batch_norm of rows": (
        lambda x, w: ebb.nn.functional.batch_norm(x, None, None, w, None, True),
        [WIDE, noise(1500)],
    ),
    "fan-in": (fan_in, [WIDE]),
    "cast and copy": (lambda x: x.double().transpose(0, 1).contiguous(), [WIDE]),
    "cat and split": (lambda x: ebb.cat(x.split([300, 400])[::-1], 1 - 1), [WIDE]),
}


def run(function, arrays):
    """Bytes of the value and of all gradients."""
    inputs = [ebb.tensor(array, requires_grad=True) for array in arrays]
    value = function(*inputs)
    found = ebb.autograd.grad([spread(value)], inputs)
    return [one.detach().contiguous().numpy().tobytes() for one in (value, *found)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_do_not_depend_on_the_number_of_threads(name):
    function, arrays = PROGRAMS[name]
    ebb.set_num_threads(1)
    wanted = run(function, arrays)
    for count in COUNTS[1:]:
        ebb.set_num_threads(count)
        assert run(function, arrays) == wanted, f"{count} threads"


@pytest.mark.parametrize("count", (1, 2))
def test_an_index_that_is_wrong_leaves_all_rows_alone(count):
    ebb.set_num_threads(count)
    x, wrong = ebb.zeros(50, 40), ebb.tensor(np.append(ROWS[1:], 50))
    with pytest.raises(IndexError, match="50"):
        x.index_add_(0, wrong, ebb.tensor(SOURCE))
    assert not x.any()


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
def test_twenty_runs_give_the_same(name):
    function, arrays = PROGRAMS[name]
    ebb.set_num_threads(1)
    wanted = run(function, arrays)
    for count in COUNTS:
        ebb.set_num_threads(count)
        for _ in range(20):
            assert run(function, arrays) == wanted, f"{count} threads"
