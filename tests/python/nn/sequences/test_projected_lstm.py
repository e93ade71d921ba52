# tests/python/nn/sequences/test_projected_lstm.py -- LSTM whose h is projected, step by step in
# NumPy.
import numpy as np
import pytest

import ebb
from ebb import nn
from ebb.nn.utils import rnn


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def run(weights, x, h, c, reverse):
    """One direction of one layer."""
    outputs = [None] * len(x)
    for t in reversed(range(len(x))) if reverse else range(len(x)):
        gates = x[t] @ weights["weight_ih"].T + h @ weights["weight_hh"].T
        gates = gates + weights.get("bias_ih", 0) + weights.get("bias_hh", 0)
        i, f, g, o = np.split(gates, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = (sigmoid(o) * np.tanh(c)) @ weights["weight_hr"].T
        outputs[t] = h
    return np.stack(outputs), h, c


def expected(net, x, h0, c0):
    weights = {name: one.detach().numpy() for name, one in net.named_parameters()}
    ends_h, ends_c = [], []
    for layer in range(net.num_layers):
        outputs = []
        for direction in range(2 if net.bidirectional else 1):
            suffix = f"_l{layer}" + ("_reverse" if direction else "")
            own = {n.removesuffix(suffix): w for n, w in weights.items() if n.endswith(suffix)}
            place = len(ends_h)
            out, h, c = run(own, x, h0[place], c0[place], direction == 1)
            outputs.append(out)
            ends_h.append(h)
            ends_c.append(c)
        x = np.concatenate(outputs, -1)
    return x, np.stack(ends_h), np.stack(ends_c)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("steps", [1, 4])
def test_h_is_projected_at_each_step(bidirectional, bias, steps):
    net = nn.LSTM(3, 5, 2, bias, bidirectional=bidirectional, proj_size=2, dtype=ebb.float64)
    count = 4 if bidirectional else 2
    x = ebb.randn(steps, 3, 3, dtype=ebb.float64)
    h0 = ebb.randn(count, 3, 2, dtype=ebb.float64)
    c0 = ebb.randn(count, 3, 5, dtype=ebb.float64)
    output, (h, c) = net(x, (h0, c0))
    wanted = expected(net, x.numpy(), h0.numpy(), c0.numpy())
    for got, want in zip((output, h, c), wanted, strict=True):
        np.testing.assert_allclose(got.detach().numpy(), want, atol=1e-12)
    (output.sum() + c.sum()).backward()
    assert all(one.grad is not None for one in net.parameters())


def test_shapes_names_and_first_states_are_those_of_pytorch():
    net = nn.LSTM(3, 5, 2, proj_size=2, batch_first=True)
    names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"]
    assert list(net.state_dict()) == [f"{name}_l{i}" for i in (0, 1) for name in names]
    assert net.weight_hh_l0.shape == (20, 2) and net.weight_ih_l1.shape == (20, 2)
    output, (h, c) = net(ebb.randn(4, 6, 3))
    assert (output.shape, h.shape, c.shape) == ((4, 6, 2), (2, 4, 2), (2, 4, 5))
    assert repr(net) == "LSTM(3, 5, proj_size=2, num_layers=2, batch_first=True)"
    with pytest.raises(ValueError, match=r"LSTM: h_0 needs shape \[2, 4, 2\], got \[2, 4, 5\]"):
        net(ebb.randn(4, 6, 3), (ebb.zeros(2, 4, 5), ebb.zeros(2, 4, 5)))


def test_packed_sequences_give_what_each_gives_alone():
    net = nn.LSTM(3, 4, bidirectional=True, proj_size=2, dtype=ebb.float64)
    sequences = [ebb.randn(n, 3, dtype=ebb.float64) for n in (4, 2, 1)]
    packed, (h, _) = net(rnn.pack_sequence(sequences))
    output, _ = rnn.pad_packed_sequence(packed)
    for place, one in enumerate(sequences):
        alone, (own, _) = net(one)
        np.testing.assert_allclose(
            output[: len(one), place].detach().numpy(), alone.detach().numpy(), atol=1e-12
        )
        np.testing.assert_allclose(h[:, place].detach().numpy(), own.detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("size", [-1, 5, 1.0, True, "2"])
def test_bad_sizes_are_refused(size):
    with pytest.raises(
        ValueError, match="LSTM: proj_size needs an int from 0 to below hidden_size"
    ):
        nn.LSTM(3, 5, proj_size=size)


def test_networks_and_cells_have_public_bases():
    assert all(issubclass(one, nn.RNNBase) for one in (nn.LSTM, nn.GRU, nn.RNN))
    assert all(issubclass(one, nn.RNNCellBase) for one in (nn.LSTMCell, nn.GRUCell, nn.RNNCell))
