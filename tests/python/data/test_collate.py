# tests/python/data/test_collate.py -- containers that a batch keeps, and collating by type.
import array
from collections import UserDict, defaultdict, deque, namedtuple
from collections.abc import Sequence

import numpy as np
import pytest

import ebb
from ebb import data
from ebb.data.collate import collate, default_collate_fn_map

Pair = namedtuple("Pair", "x y")


class Named(dict):
    """A dict that cannot be made from a dict alone."""

    def __init__(self, name, **items):
        super().__init__(**items)
        self.name = name


class Fixed(Sequence):
    """A sequence that cannot be written."""

    def __init__(self, values):
        self.values = tuple(values)

    def __getitem__(self, index):
        return self.values[index]

    def __len__(self):
        return len(self.values)


@pytest.mark.parametrize(
    "batch, texts",
    [
        (["a", "b"], ["a", "b"]),
        (("a", "b"), ("a", "b")),
        ("ab", "ab"),
        ([np.str_("a"), np.str_("b")], ["a", "b"]),
    ],
)
def test_texts_stay_as_they_are(batch, texts):
    result = data.default_collate(batch)
    assert result is batch and result == texts


def test_texts_of_sequences_are_tuples_and_those_of_dicts_lists():
    for sample in (("a", 1), ["a", 1], Pair("a", 1), Fixed(["a", 1]), deque(["a", 1])):
        result = data.default_collate([sample, sample])
        assert result[0] == ("a", "a") and result[1].tolist() == [1, 1]
        assert type(result) is (list if type(sample) is tuple else type(sample))
    result = data.default_collate([{"x": "a", "y": (b"b",)}] * 2)
    assert result == {"x": ["a", "a"], "y": [(b"b", b"b")]}


def test_containers_keep_what_else_they_hold():
    groups = defaultdict(list, x=1)
    result = data.default_collate([groups, groups])
    assert result["x"].tolist() == [1, 1] and result["new"] == [] and groups == {"x": 1}
    named = Named("n", x=np.ones(1))
    for result in (data.default_collate([named]), data.default_convert(named)):
        assert type(result) is Named and result.name == "n" and isinstance(result["x"], ebb.Tensor)
    assert isinstance(named["x"], np.ndarray)
    assert type(data.default_convert(UserDict(x=1))) is UserDict
    ints = array.array("i", [1, 2])
    assert data.default_convert(ints) == ints
    assert data.default_collate([ints, ints])[1].tolist() == [2, 2]  # which holds no tensors


def test_numbers_of_numpy_mix_with_others():
    result = data.default_collate([np.float32(1), 2.0])
    assert result.dtype is ebb.float32 and result.tolist() == [1.0, 2.0]


def test_a_map_says_how_types_are_collated():
    class Token:
        pass

    class Word(Token):
        pass

    def count(batch, *, collate_fn_map):
        assert collate_fn_map is functions
        return len(batch)

    functions = {**default_collate_fn_map, Token: count}
    result = collate([(Word(), {"t": Token(), "n": 1.5})] * 3, collate_fn_map=functions)
    assert result[0] == 3 and result[1]["t"] == 3 and result[1]["n"].tolist() == [1.5] * 3
    with pytest.raises(TypeError, match="got Word"):
        data.default_collate([Word()])
    with pytest.raises(TypeError, match="got int"):
        collate([1, 2])
    either = {(int, float): lambda batch, *, collate_fn_map: sum(batch)}
    assert collate([[1, 2.5], [3, 0.5]], collate_fn_map=either) == [4, 3.0]


def test_the_defaults_may_be_changed(monkeypatch):
    def padded(batch, *, collate_fn_map):
        return ebb.nn.utils.rnn.pad_sequence(batch)

    loader = data.DataLoader(data.TensorDataset(ebb.arange(6).view(3, 2)), 3)
    monkeypatch.setitem(default_collate_fn_map, ebb.Tensor, padded)
    assert data.default_collate([ebb.ones(1), ebb.ones(2)]).tolist() == [[1, 1], [0, 1]]
    assert next(iter(loader))[0].tolist() == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize("workers", [{}, {"num_workers": 2, "worker_type": "thread"}])
def test_an_iterator_of_a_loader_knows_its_batches(workers):
    class Stream(data.IterableDataset):
        def __iter__(self):
            return iter(range(3))

    batches = iter(data.DataLoader(range(7), 3, **workers))
    assert len(batches) == 3 and iter(batches) is batches
    next(batches)
    assert len(batches) == 3
    assert len(iter(data.DataLoader(range(7), 3, drop_last=True, **workers))) == 2
    assert len(iter(data.DataLoader(range(7), None, **workers))) == 7
    with pytest.raises(TypeError):
        len(iter(data.DataLoader(Stream(), 3, **workers)))


def test_weights_are_a_tensor_that_may_be_replaced():
    given = [0, 1]
    sampler = data.WeightedRandomSampler(given, 3)
    assert sampler.weights.dtype is ebb.float64 and sampler.weights.tolist() == given
    assert list(sampler) == [1, 1, 1]
    sampler.weights = ebb.tensor([2.0, 0.0])
    assert list(sampler) == [0, 0, 0]
