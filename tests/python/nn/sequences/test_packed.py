# tests/python/nn/sequences/test_packed.py -- sequences of different lengths, padded, packed, and
# run.
import itertools

import numpy as np
import pytest

import ebb
from ebb import nn
from ebb.nn.utils.rnn import (
    PackedSequence,
    invert_permutation,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
    unpack_sequence,
    unpad_sequence,
)

LENGTHS = [[3], [1], [4, 4], [4, 2, 1], [2, 5, 1, 5], [1, 1, 1], [1, 3, 2]]


def sequences(lengths, *rest, requires_grad=False):
    rng = np.random.default_rng(sum(lengths))
    drawn = [ebb.tensor(rng.standard_normal((n, *rest))) for n in lengths]
    return [one.requires_grad_(requires_grad) for one in drawn]


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("lengths", [*LENGTHS, [0, 2]])
def test_padding_stands_on_its_side(lengths, batch_first, side):
    given = sequences(lengths, 2)
    got = pad_sequence(given, batch_first, -1.0, side).numpy()
    wanted = np.full((len(lengths), max(lengths), 2), -1.0)
    for row, one in zip(wanted, given, strict=True):
        place = slice(len(one)) if side == "right" else slice(len(row) - len(one), None)
        row[place] = one.numpy()
    np.testing.assert_array_equal(got, wanted if batch_first else wanted.swapaxes(0, 1))


@pytest.mark.parametrize("batch_first", [False, True])
def test_unpadding_gives_the_sequences_back(batch_first):
    given = sequences([2, 5, 0, 3], 2)
    padded = pad_sequence(given, batch_first)
    for lengths in ([2, 5, 0, 3], ebb.tensor([2, 5, 0, 3])):
        for got, wanted in zip(unpad_sequence(padded, lengths, batch_first), given, strict=True):
            np.testing.assert_array_equal(got.numpy(), wanted.numpy())


@pytest.mark.parametrize("rest", [(), (2,), (2, 3)])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_packing_keeps_every_element_and_its_gradient(lengths, rest):
    given = sequences(lengths, *rest, requires_grad=True)
    packed = pack_sequence(given, enforce_sorted=False)
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    at = [(row, time) for time in range(max(lengths)) for row in order if time < lengths[row]]
    wanted = np.stack([given[row].detach().numpy()[time] for row, time in at])
    np.testing.assert_array_equal(packed.data.detach().numpy(), wanted)
    assert packed.sorted_indices.tolist() == order
    assert packed.batch_sizes.tolist() == [
        sum(length > time for length in lengths) for time in range(max(lengths))
    ]
    for got, one in zip(unpack_sequence(packed), given, strict=True):
        np.testing.assert_array_equal(got.detach().numpy(), one.detach().numpy())
    (packed.data * ebb.arange(packed.data.numel()).reshape(packed.data.shape)).sum().backward()
    grads = np.arange(wanted.size).reshape(wanted.shape)
    for position, (row, time) in enumerate(at):
        np.testing.assert_array_equal(given[row].grad.numpy()[time], grads[position])


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("total", [None, 5, 8])
def test_padding_packed_sequences_goes_back(batch_first, total):
    given = sequences([2, 5, 1, 5], 3)
    packed = pack_padded_sequence(
        pad_sequence(given, batch_first), [2, 5, 1, 5], batch_first, enforce_sorted=False
    )
    padded, lengths = pad_packed_sequence(packed, batch_first, -2.0, total)
    assert lengths.tolist() == [2, 5, 1, 5] and lengths.dtype is ebb.int64
    wanted = pad_sequence([*given, ebb.zeros([total or 5, 3], dtype=ebb.float64)], True, -2.0)[:-1]
    wanted = wanted if batch_first else wanted.transpose(0, 1)
    np.testing.assert_array_equal(padded.numpy(), wanted.numpy())


NETS = {"LSTM": nn.LSTM, "GRU": nn.GRU, "RNN": nn.RNN}


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("kind, layers, both", list(itertools.product(NETS, [1, 2], [False, True])))
def test_packed_sequences_run_as_each_alone(kind, layers, both, lengths):
    ebb.manual_seed(1)
    net = NETS[kind](3, 4, num_layers=layers, bidirectional=both, dtype=ebb.float64)
    given = sequences(lengths, 3, requires_grad=True)
    count = layers * (2 if both else 1)
    names = 2 if kind == "LSTM" else 1
    first = [ebb.randn([count, len(lengths), 4], dtype=ebb.float64) for _ in range(names)]
    output, last = net(pack_sequence(given, False), tuple(first) if names == 2 else first[0])
    outputs = unpack_sequence(output)
    lasts = last if names == 2 else (last,)
    sum((one * one).sum() for one in (*outputs, *lasts)).backward()
    got_grads = [one.grad.numpy() for one in (*given, *net.parameters())]
    for one in (*given, *net.parameters()):
        one.grad = None
    loss = 0
    for row, one in enumerate(given):
        states = [state[:, row] for state in first]
        alone, ends = net(one, tuple(states) if names == 2 else states[0])
        np.testing.assert_allclose(outputs[row].detach(), alone.detach(), rtol=1e-12, atol=1e-14)
        loss += (alone * alone).sum()
        for got, end in zip(lasts, ends if names == 2 else (ends,), strict=True):
            np.testing.assert_allclose(got[:, row].detach(), end.detach(), rtol=1e-12, atol=1e-14)
            loss += (end * end).sum()
    loss.backward()
    for got, one in zip(got_grads, (*given, *net.parameters()), strict=True):
        np.testing.assert_allclose(got, one.grad.numpy(), rtol=1e-9, atol=1e-12)


def test_packed_sequences_move_and_change_dtype():
    packed = pack_sequence(sequences([1, 2]), enforce_sorted=False)
    assert packed.float().data.dtype is ebb.float32 and packed.half().data.dtype is ebb.float16
    assert packed.to(ebb.float64) is packed and packed.cpu() is packed and not packed.is_cuda
    assert packed.float().sorted_indices is packed.sorted_indices
    data, sizes, order, back = packed
    again = PackedSequence(data, sizes, order)
    assert again.unsorted_indices.tolist() == back.tolist() == invert_permutation(order).tolist()


ERRORS = {
    "pad_sequence: needs at least one sequence, got none": lambda: pad_sequence([]),
    "pad_sequence: needs a list of tensors, got int": lambda: pad_sequence(3),
    "pad_sequence: each sequence needs shape [length, 2], got [1, 3] at position 1": lambda: (
        pad_sequence([ebb.zeros(1, 2), ebb.zeros(1, 3)])
    ),
    "pad_sequence: padding_side needs left or right, got 'up'": lambda: pad_sequence(
        [ebb.zeros(1)], padding_side="up"
    ),
    "pack_padded_sequence: lengths need to fall, got [1, 2]\n"
    "hint: enforce_sorted=False sorts the sequences": lambda: pack_padded_sequence(
        ebb.zeros(2, 2), [1, 2]
    ),
    "pack_padded_sequence: lengths must be from 1 to 2, got 0 at position 1": lambda: (
        pack_padded_sequence(ebb.zeros(2, 2), [1, 0])
    ),
    "pack_padded_sequence: needs a length for each of 2 sequences, got [1]": lambda: (
        pack_padded_sequence(ebb.zeros(2, 2), [1])
    ),
    "pack_padded_sequence: needs at least one sequence, got [2, 0]": lambda: pack_padded_sequence(
        ebb.zeros(2, 0), []
    ),
    "pack_padded_sequence: input needs at least 2 dims, got [2]": lambda: pack_padded_sequence(
        ebb.zeros(2), [1]
    ),
    "pad_packed_sequence: needs a PackedSequence, got Tensor": lambda: pad_packed_sequence(
        ebb.zeros(2)
    ),
    "pad_packed_sequence: total_length needs at least 2, the longest sequence, got 1": lambda: (
        pad_packed_sequence(pack_sequence([ebb.zeros(2)]), total_length=1)
    ),
    "LSTM: packed input needs shape [elements, 3], got [2, 2]": lambda: nn.LSTM(3, 1)(
        pack_sequence([ebb.zeros(2, 2)])
    ),
    "GRU: h_0 needs shape [1, 2, 4], got [1, 1, 4]": lambda: nn.GRU(3, 4)(
        pack_sequence([ebb.zeros(2, 3), ebb.zeros(1, 3)]), ebb.zeros(1, 1, 4)
    ),
}


@pytest.mark.parametrize("text", ERRORS)
def test_mistakes_are_named(text):
    with pytest.raises(ebb.Error) as caught:
        ERRORS[text]()
    assert str(caught.value) == text
