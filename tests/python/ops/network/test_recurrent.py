# tests/python/ops/network/test_recurrent.py -- LSTM, GRU, RNN and their cells against plain NumPy.
#
# The single layers are rows of ops/nn/rnn.yaml; here it is about what the modules add: stacks,
# directions, layouts, states, dropout, names, and sizes at which blocks and vectors matter.
import numpy as np
import pytest

import ebb
from ebb import nn
from tests.python.autograd.forward_support import check_tangents
from tests.python.ops.reference import recurrent as reference_recurrent

KINDS = {
    "LSTM": (nn.LSTM, nn.LSTMCell, reference_recurrent.lstm_layer, 2),
    "GRU": (nn.GRU, nn.GRUCell, reference_recurrent.gru_layer, 1),
    "RNN": (nn.RNN, nn.RNNCell, reference_recurrent.rnn_layer, 1),
}


def expected(net, kind, input, states):
    """All outputs and last states of a net over input [T, B, I], in double precision."""
    layer = KINDS[kind][2]
    weights = {name: one.detach().numpy() for name, one in net.named_parameters()}
    directions = 2 if net.bidirectional else 1
    ends = []
    for number in range(net.num_layers):
        outputs = []
        for direction in range(directions):
            suffix = f"_l{number}" + ("_reverse" if direction else "")
            own = {n.removesuffix(suffix): w for n, w in weights.items() if n.endswith(suffix)}
            place = number * directions + direction
            given = dict(zip(("h0", "c0"), (one[place] for one in states), strict=False))
            given |= {"input": input, "reverse": direction == 1}
            given["nonlinearity"] = getattr(net, "nonlinearity", "tanh")
            out, *last = layer(given | own)
            outputs.append(out)
            ends.append(last)
        input = np.concatenate(outputs, axis=-1)
    return input, [np.stack(one) for one in zip(*ends, strict=True)]


def draw(shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def states_of(kind, result):
    return list(result) if kind == "LSTM" else [result]


def check(net, kind, input, batch_first=False):
    directions = 2 if net.bidirectional else 1
    shape = (net.num_layers * directions, input.shape[1], net.hidden_size)
    states = [draw(shape, seed) for seed in range(KINDS[kind][3])]
    wanted, ends = expected(net, kind, input, states)
    hx = tuple(ebb.tensor(one) for one in states)
    given = ebb.tensor(input)
    output, last = net(
        given.transpose(0, 1) if batch_first else given, hx if len(hx) == 2 else hx[0]
    )
    output = output.transpose(0, 1) if batch_first else output
    np.testing.assert_allclose(output.detach().numpy(), wanted, atol=1e-12)
    for got, end in zip(states_of(kind, last), ends, strict=True):
        np.testing.assert_allclose(got.detach().numpy(), end, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_stacks_of_layers_match_numpy(kind, batch_first, bidirectional):
    net = KINDS[kind][0](
        3, 5, num_layers=2, batch_first=batch_first, bidirectional=bidirectional, dtype=ebb.float64
    )
    check(net, kind, draw((4, 2, 3)), batch_first)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hidden", [1, 7, 33])
def test_batches_of_several_blocks_match_numpy(kind, hidden):
    net = KINDS[kind][0](2, hidden, bias=hidden != 7, dtype=ebb.float64)
    check(net, kind, draw((3, 70, 2)))
    check(net, kind, draw((1, 1, 2)))


# Hidden size and input shape, such that: rows are cut and the weight is packed; units are cut, the
# last block being odd; nothing is cut.
CUTS = [(7, (8, 70, 2)), (130, (9, 60, 2)), (33, (8, 3, 2))]
LAYERS = {"LSTM": ebb.lstm_layer, "GRU": ebb.gru_layer, "RNN": ebb.rnn_layer}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("hidden", "shape"), [CUTS[0], CUTS[2]])
def test_packed_weights_match_numpy(kind, hidden, shape):
    net = KINDS[kind][0](2, hidden, bidirectional=True, dtype=ebb.float64)
    check(net, kind, draw(shape))


def in_two_parts(kind, reverse, input, states, weights):
    """A layer as two, each of too few times for packed weights."""
    parts = [input[:4], input[4:]]
    outputs = []
    for part in reversed(parts) if reverse else parts:
        output, *states = LAYERS[kind](part, *states, *weights, reverse=reverse)
        outputs.append(output)
    return [ebb.cat(outputs[::-1] if reverse else outputs, 0), *states]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("hidden", "shape"), CUTS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(ebb.float64, 1e-13), (ebb.float32, 3e-6)])
def test_packed_weights_give_the_same_gradients(kind, reverse, hidden, shape, dtype, tolerance):
    weights = list(KINDS[kind][0](2, hidden, dtype=dtype).parameters())
    states = [ebb.tensor(draw((shape[1], hidden), i), dtype=dtype) for i in range(KINDS[kind][3])]
    leaves = [ebb.tensor(draw(shape), dtype=dtype), *states, *weights]
    input, *states = [one.requires_grad_() for one in leaves[: 1 + len(states)]]

    def all_of(results):
        loss = sum((one.cos() * (i + 1)).sum() for i, one in enumerate(results))
        return [*results, *ebb.autograd.grad(loss, leaves)]

    got = all_of(LAYERS[kind](input, *states, *weights, reverse=reverse))
    wanted = all_of(in_two_parts(kind, reverse, input, states, weights))
    for one, other in zip(got, wanted, strict=True):
        scale = other.abs().max().item()
        error = (one - other).abs().max().item()
        assert scale > 0 and error <= tolerance * scale


def test_rectified_nets_match_numpy():
    check(nn.RNN(3, 4, nonlinearity="relu", dtype=ebb.float64), "RNN", draw((4, 2, 3)))


@pytest.mark.parametrize("kind", KINDS)
def test_without_states_they_are_zero_and_without_batch_there_is_none(kind):
    net = KINDS[kind][0](3, 5, dtype=ebb.float64)
    input = draw((4, 3))
    zeros = [np.zeros((1, 1, 5))] * KINDS[kind][3]
    wanted, ends = expected(net, kind, input[:, None], zeros)
    output, last = net(ebb.tensor(input))
    np.testing.assert_allclose(output.detach().numpy(), wanted[:, 0], atol=1e-12)
    for got, end in zip(states_of(kind, last), ends, strict=True):
        np.testing.assert_allclose(got.detach().numpy(), end[:, 0], atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_batched", [True, False])
def test_a_cell_is_one_time_of_a_layer(kind, is_batched):
    _, cell, layer, count = KINDS[kind]
    one = cell(3, 5, dtype=ebb.float64)
    weights = {name: p.detach().numpy() for name, p in one.named_parameters()}
    input, states = draw((2, 3)), [draw((2, 5), seed) for seed in range(count)]
    given = dict(zip(("h0", "c0"), states, strict=False)) | weights | {"input": input[None]}
    wanted = layer(given)[1:]
    pick = slice(None) if is_batched else 1
    hx = [ebb.tensor(state[pick]) for state in states]
    got = one(ebb.tensor(input[pick]), tuple(hx) if count == 2 else hx[0])
    for result, values in zip(states_of(kind, got), wanted, strict=True):
        np.testing.assert_allclose(result.detach().numpy(), values[pick], atol=1e-12)
    first = one(ebb.tensor(input[pick]))
    zero = [ebb.zeros(tuple(state.shape), dtype=ebb.float64) for state in hx]
    same = one(ebb.tensor(input[pick]), tuple(zero) if count == 2 else zero[0])
    assert states_of(kind, first)[0].tolist() == states_of(kind, same)[0].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_blocks_match_finite_differences(kind):
    net = KINDS[kind][0](2, 3, bidirectional=True, num_layers=2, dtype=ebb.float64)
    input = ebb.tensor(draw((2, 33, 2))).requires_grad_()
    inputs = [input, *net.parameters()]
    assert ebb.autograd.gradcheck(
        lambda *given: net(given[0])[0], inputs, fast_mode=True, atol=1e-6, rtol=1e-6
    )


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_last_state_may_be_used(kind):
    net = KINDS[kind][0](2, 3, dtype=ebb.float64)
    input = ebb.tensor(draw((4, 2, 2))).requires_grad_()
    use = lambda given: states_of(kind, net(given)[1])[-1]  # noqa: E731
    assert ebb.autograd.gradcheck(use, [input], fast_mode=True)
    assert ebb.autograd.gradgradcheck(use, [input], fast_mode=True)


def test_names_and_order_of_parameters_are_pytorchs():
    net = nn.LSTM(3, 5, num_layers=2, bidirectional=True)
    names = [name for name, _ in net.named_parameters()]
    kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    suffixes = ("_l0", "_l0_reverse", "_l1", "_l1_reverse")
    assert names == [kind + suffix for suffix in suffixes for kind in kinds]
    assert tuple(net.weight_ih_l1.shape) == (20, 10)
    assert len(list(nn.GRU(3, 5, bias=False).parameters())) == 2
    assert repr(nn.GRU(3, 5, num_layers=2)) == "GRU(3, 5, num_layers=2)"


def test_weights_lie_within_their_bound():
    ebb.manual_seed(3)
    for one in nn.GRU(4, 16).parameters():
        assert float(np.abs(one.detach().numpy()).max()) <= 0.25
        assert float(np.abs(one.detach().numpy()).max()) > 0.2


def test_dropout_acts_between_layers_and_while_training_only():
    net = nn.RNN(3, 8, num_layers=2, dropout=0.5)
    input = ebb.randn([5, 2, 3])
    assert net(input)[0].tolist() != net(input)[0].tolist()
    net.eval()
    assert net(input)[0].tolist() == net(input)[0].tolist()
    one = nn.RNN(3, 8, dropout=0.5)
    assert one(input)[0].tolist() == one(input)[0].tolist()  # there is nothing between


@pytest.mark.parametrize("dtype", [ebb.float16, ebb.bfloat16])
def test_half_types_run_in_float32_between_the_times(dtype):
    net = nn.LSTM(4, 16, dtype=ebb.float32)
    half = nn.LSTM(4, 16, dtype=dtype)
    for own, other in zip(half.parameters(), net.parameters(), strict=True):
        ebb.nn.init.zeros_(own)
        own.detach().copy_(other.detach())
        other.detach().copy_(own.detach().to(ebb.float32))
    input = ebb.randn([30, 2, 4]).to(dtype)
    got = half(input)[0]
    assert got.dtype == dtype
    wanted = net(input.to(ebb.float32))[0].detach().numpy()
    # One rounding of the projected input, one of the result.
    limit = 4e-3 if dtype == ebb.float16 else 3e-2
    np.testing.assert_allclose(got.detach().to(ebb.float32).numpy(), wanted, atol=limit)


# Shapes of the operands of a scan and of the gradients of its results, and its options.
SCANS = {
    "lstm_scan": (((3, 2, 8), (2, 2), (2, 2), (8, 2)), [(3, 2, 2)] * 2, (True,)),
    "gru_scan": (((3, 2, 6), (2, 2), (6, 2), (6,)), [(3, 2, 2)], (True,)),
    "rnn_scan": (((3, 2, 2), (2, 2), (2, 2)), [(3, 2, 2)], (False, True)),
}


def scan(op, tensors, options):
    """The results of a scan in a list."""
    results = getattr(ebb._C._ops, op)(*tensors, *options)
    return list(results) if isinstance(results, tuple) else [results]


def gradients_of_scan(op, tensors, grads, options):
    """The gradients that a scan's backward op gives."""
    results = scan(op, tensors, options)
    return getattr(ebb._C._ops, f"{op}_backward")(*tensors, *results, *grads, *options)


def inputs_and_steps(shapes, moving):
    """Tensors, and steps for one of them or for all."""
    tensors = [ebb.tensor(draw(shape, seed)) for seed, shape in enumerate(shapes)]
    steps = [ebb.tensor(draw(shape, 9 + seed)) for seed, shape in enumerate(shapes)]
    if moving is not None:
        steps = [one if i == moving % len(steps) else None for i, one in enumerate(steps)]
    return tensors, steps


@pytest.mark.parametrize("op", SCANS)
@pytest.mark.parametrize("moving", [0, 1, -1, None])
def test_forward_mode_matches_finite_differences(op, moving):
    shapes, grads, options = SCANS[op]
    outs = len(grads)  # what a scan gives beside them is kept for backward
    check_tangents(
        lambda *given: scan(op, given, options)[:outs], *inputs_and_steps(shapes, moving)
    )


@pytest.mark.parametrize("op", SCANS)
@pytest.mark.parametrize("moving", [0, 1, -1, None])
def test_forward_mode_of_gradients_matches_finite_differences(op, moving):
    shapes, grads, options = SCANS[op]
    count = len(shapes)
    check_tangents(
        lambda *given: gradients_of_scan(op, given[:count], given[count:], options),
        *inputs_and_steps((*shapes, *grads), moving),
    )


def test_forward_mode_of_gradients_does_without_gradients_of_cells():
    shapes, _, options = SCANS["lstm_scan"]
    tensors, _ = inputs_and_steps(shapes, None)
    grad = ebb.tensor(draw((3, 2, 2), 5))
    check_tangents(
        lambda grad: gradients_of_scan("lstm_scan", tensors, (grad, None), options), [grad], [grad]
    )


BAD = {
    "LSTM: hidden_size needs at least 1, got 0": lambda: nn.LSTM(3, 0),
    "GRU: input_size needs an int, got 2.5": lambda: nn.GRU(2.5, 3),
    "RNN: dropout needs a probability from 0 to 1, got 2": lambda: nn.RNN(2, 3, dropout=2),
    "LSTM: bias needs a bool, got 0.5": lambda: nn.LSTM(3, 3, 2, 0.5),
    "GRU: batch_first needs a bool, got 1": lambda: nn.GRU(3, 3, batch_first=1),
    "RNN: nonlinearity needs tanh or relu, got 'sin'": lambda: nn.RNN(2, 3, nonlinearity="sin"),
    "GRU: input needs 2 or 3 dims, the last of size 2, got [4, 3]": lambda: nn.GRU(2, 3)(
        ebb.zeros([4, 3])
    ),
    "LSTM: hx needs a pair (h_0, c_0), got Tensor": lambda: nn.LSTM(2, 3)(
        ebb.zeros([4, 1, 2]), ebb.zeros([1, 1, 3])
    ),
    "GRU: h_0 needs shape [1, 1, 3], got [1, 2, 3]": lambda: nn.GRU(2, 3)(
        ebb.zeros([4, 1, 2]), ebb.zeros([1, 2, 3])
    ),
    "LSTM: c_0 needs a tensor, got int": lambda: nn.LSTM(2, 3)(
        ebb.zeros([4, 1, 2]), (ebb.zeros([1, 1, 3]), 3)
    ),
    "RNN: input needs a tensor, got list": lambda: nn.RNN(2, 3)([[1.0, 2.0]]),
    "LSTMCell: c_0 needs shape [1, 3], got [1, 2]": lambda: nn.LSTMCell(2, 3)(
        ebb.zeros([1, 2]), (ebb.zeros([1, 3]), ebb.zeros([1, 2]))
    ),
    "lstm_layer: input needs at least one time, got float32 [0, 1, 2]": lambda: nn.LSTM(2, 3)(
        ebb.zeros([0, 1, 2])
    ),
    "weight_ih need one dtype, got float32 [1, 1, 2] and float64 [9, 2]": lambda: nn.GRU(
        2, 3, dtype=ebb.float64
    )(ebb.zeros([1, 1, 2])),
}


@pytest.mark.parametrize("text", BAD)
def test_bad_calls_say_what_is_wrong(text):
    with pytest.raises(ebb.Error) as caught:
        BAD[text]()
    assert text in str(caught.value)
