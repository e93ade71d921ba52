# tests/python/data/test_datasets.py -- datasets, samplers and collating: what comes, in which
# order.
import itertools
import tracemalloc
from collections import Counter, OrderedDict, namedtuple
from typing import Generic, TypeVar, get_args, get_origin

import numpy as np
import pytest

import ebb
from ebb import data

Pair = namedtuple("Pair", "x y")


class Squares(data.Dataset):
    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        if not 0 <= index < self.count:
            raise IndexError(index)
        return index * index

    def __len__(self):
        return self.count


class Stream(data.IterableDataset):
    def __init__(self, *values):
        self.values = values

    def __iter__(self):
        return iter(self.values)


def generator(seed=0):
    return ebb.Generator().manual_seed(seed)


def test_names_are_found_where_pytorch_has_them():
    from ebb.utils.data import DataLoader, TensorDataset

    assert DataLoader is data.DataLoader and TensorDataset is data.TensorDataset
    assert ebb.utils.data is ebb.data


def test_a_tensor_dataset_gives_rows():
    rows = data.TensorDataset(ebb.arange(6).reshape(3, 2), ebb.arange(3))
    assert len(rows) == 3
    assert [part.tolist() for part in rows[1]] == [[2, 3], 1]
    assert [part.tolist() for part in rows.__getbatch__([2, 0])] == [[[4, 5], [0, 1]], [2, 0]]
    with pytest.raises(ValueError, match=r"needs tensors of equal length, got \[2, 3\]"):
        data.TensorDataset(ebb.ones(2), ebb.ones(3))
    for wrong in ((), (ebb.tensor(1),), ([1, 2],)):
        with pytest.raises(TypeError, match="TensorDataset: needs one or more Tensors"):
            data.TensorDataset(*wrong)


def test_datasets_are_joined_and_cut():
    both = Squares(3) + Squares(4)
    assert [both[i] for i in range(len(both))] == [0, 1, 4, 0, 1, 4, 9]
    assert both[-1] == 9 and both[-7] == 0
    for index in (7, -8):
        with pytest.raises(IndexError, match="needs an index below 7"):
            both[index]
    part = data.Subset(both, [6, 2])
    assert [part[i] for i in range(len(part))] == part.__getitems__([0, 1]) == [9, 4]
    assert list(Stream(1, 2) + Stream(3)) == [1, 2, 3]
    with pytest.raises(ValueError, match="needs at least one dataset"):
        data.ConcatDataset([])
    with pytest.raises(TypeError, match="use ChainDataset"):
        data.ConcatDataset([Stream(1)])


def test_base_classes_say_what_is_missing():
    with pytest.raises(NotImplementedError, match="Dataset: needs __getitem__"):
        data.Dataset()[0]
    for what in (data.IterableDataset(), data.Sampler()):
        with pytest.raises(NotImplementedError, match="needs __iter__"):
            iter(what)


def test_datasets_are_stacked_by_place_or_by_name():
    class Many(data.Dataset):
        def __getitem__(self, index):
            raise AssertionError("asked one by one")

        def __getitems__(self, indices):
            return [index * 10 for index in indices]

        def __len__(self):
            return 3

    assert data.StackDataset([1, 2, 3], "abc")[1] == (2, "b")
    named = data.StackDataset(number=[1, 2, 3], ten=Many())
    assert len(named) == 3
    assert named.__getitems__([2, 0]) == [{"number": 3, "ten": 20}, {"number": 1, "ten": 0}]
    (batch,) = data.DataLoader(named, 3)
    assert batch["number"].tolist() == [1, 2, 3] and batch["ten"].tolist() == [0, 10, 20]
    for args, kwargs, text in [((), {}, "got none"), (([1],), {"x": [1]}, "got both"),
                               (([1], [1, 2]), {}, r"equal length, got \[1, 2\]")]:  # fmt: skip
        with pytest.raises(ebb.errors.ValueError, match=text):
            data.StackDataset(*args, **kwargs)


@pytest.mark.parametrize("count, replicas", [(10, 3), (9, 3), (2, 5), (7, 1)])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_processes_share_a_dataset(count, replicas, drop_last, shuffle):
    options = {"drop_last": drop_last, "shuffle": shuffle, "num_replicas": replicas}
    samplers = [data.DistributedSampler(range(count), rank=r, **options) for r in range(replicas)]
    shares = [list(sampler) for sampler in samplers]
    size = count // replicas if drop_last else -(-count // replicas)
    assert [len(share) for share in shares] == [size] * replicas == [len(s) for s in samplers]
    seen = [index for share in shares for index in share]
    assert len(set(seen)) == (size * replicas if drop_last else count)
    if not shuffle and count >= replicas:
        assert shares[0][:2] == list(range(0, count, replicas))[:2]


def test_each_epoch_of_a_distributed_sampler_has_an_order_of_its_own():
    sampler = data.DistributedSampler(range(100), num_replicas=1, rank=0, seed=4)
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) != first
    for rank, text in [(None, "needs num_replicas and rank"), (2, "from 0 to 1, got 2")]:
        with pytest.raises(ebb.errors.ValueError, match=text):
            data.DistributedSampler(range(4), 2, rank)


@pytest.mark.parametrize(
    "lengths, sizes", [([7, 3], [7, 3]), ([0.5, 0.5], [5, 5]), ([0.35, 0.65], [4, 6]), ([10], [10])]
)
def test_a_random_split_is_a_partition(lengths, sizes):
    parts = data.random_split(Squares(10), lengths, generator())
    assert [len(part) for part in parts] == sizes
    values = [part[i] for part in parts for i in range(len(part))]
    assert sorted(values) == [i * i for i in range(10)]
    again = data.random_split(Squares(10), lengths, generator())
    assert [part.indices for part in again] == [part.indices for part in parts]


@pytest.mark.parametrize("lengths", [[5, 4], [-1, 11], [0.5, 0.4], [float("nan"), 0.5]])
def test_a_split_that_is_none_is_refused(lengths):
    with pytest.raises(ValueError, match="random_split: needs"):
        data.random_split(Squares(10), lengths)


def test_samplers_visit_what_they_say():
    source = range(10)
    assert list(data.SequentialSampler(source)) == list(range(10))
    shuffled = list(data.RandomSampler(source, generator=generator()))
    assert sorted(shuffled) == list(range(10)) and shuffled != list(range(10))
    assert list(data.RandomSampler(source, generator=generator())) == shuffled
    more = data.RandomSampler(source, num_samples=25, generator=generator())
    assert len(more) == 25 and set(Counter(more).values()) <= {2, 3}
    drawn = list(data.RandomSampler(source, True, 1000, generator()))
    assert set(drawn) == set(range(10)) and max(Counter(drawn).values()) < 150
    subset = list(data.SubsetRandomSampler([5, 7, 9], generator()))
    assert sorted(subset) == [5, 7, 9]


def test_a_random_sampler_draws_anew_each_time():
    sampler = data.RandomSampler(range(50))
    ebb.manual_seed(0)
    first, second = list(sampler), list(sampler)
    ebb.manual_seed(0)
    assert list(sampler) == first and first != second


MANY = 10**10
ENDLESS = {
    "RandomSampler": lambda: data.RandomSampler(range(3), True, MANY, generator()),
    "RandomSampler in rounds": lambda: data.RandomSampler(range(3), False, MANY, generator()),
    "WeightedRandomSampler": lambda: data.WeightedRandomSampler(
        [1.0, 2.0], MANY, True, generator()
    ),
    "BatchSampler": lambda: data.BatchSampler(data.RandomSampler(range(3), True, MANY), 2),
    "DataLoader": lambda: data.DataLoader(
        range(3), sampler=data.RandomSampler(range(3), True, MANY)
    ),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_samplers_draw_as_they_go(kind):
    tracemalloc.start()
    drawn = list(itertools.islice(iter(ENDLESS[kind]()), 5))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(drawn) == 5 and peak < 32 << 20


def test_draws_with_replacement_are_even_beyond_one_block():
    block = data.sampler.BLOCK
    drawn = list(data.RandomSampler(range(4), True, 3 * block + 1, generator()))
    assert len(drawn) == 3 * block + 1
    assert all(abs(count / len(drawn) - 0.25) < 0.01 for count in Counter(drawn).values())
    assert drawn[:block] == list(data.RandomSampler(range(4), True, block, generator()))
    assert drawn[:block] != drawn[block : 2 * block]
    weighted = data.WeightedRandomSampler([3.0, 1.0], 2 * block + 5, True, generator())
    counts = Counter(weighted)
    assert counts.total() == 2 * block + 5 and abs(counts[1] / counts.total() - 0.25) < 0.01


def test_batches_of_indices():
    assert list(data.BatchSampler(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(data.BatchSampler(range(5), 2, drop_last=True)) == [[0, 1], [2, 3]]
    for count in range(7):
        for drop_last in (False, True):
            sampler = data.BatchSampler(range(count), 3, drop_last)
            assert len(sampler) == len(list(sampler))


def test_weights_decide_how_often_an_index_comes():
    weights = [0.0, 1.0, 3.0, 0.0]
    drawn = Counter(data.WeightedRandomSampler(weights, 4000, generator=generator()))
    assert set(drawn) == {1, 2} and 2.6 < drawn[2] / drawn[1] < 3.4
    once = data.WeightedRandomSampler(ebb.tensor([1.0, 2.0, 0.0, 5.0]), 3, False, generator())
    assert sorted(once) == [0, 1, 3]
    firsts = Counter(
        next(iter(data.WeightedRandomSampler([1, 3], 1, False, g)))
        for g in [generator()] for _ in range(2000)
    )  # fmt: skip
    assert 2.4 < firsts[1] / firsts[0] < 3.7


@pytest.mark.parametrize(
    "make",
    [
        lambda: data.WeightedRandomSampler([1, -1], 1),
        lambda: data.WeightedRandomSampler([1, float("inf")], 1),
        lambda: data.WeightedRandomSampler([[1.0]], 1),
        lambda: data.WeightedRandomSampler([0.0, 0.0], 1),
        lambda: data.WeightedRandomSampler([1.0, 0.0], 2, replacement=False),
        lambda: data.WeightedRandomSampler([1.0], 0),
        lambda: data.RandomSampler(range(3), num_samples=0),
        lambda: data.RandomSampler(range(3), num_samples=True),
        lambda: list(data.RandomSampler([], num_samples=3)),
        lambda: data.BatchSampler(range(3), 0),
        lambda: data.BatchSampler(range(3), 2.0),
    ],
)
def test_samplers_refuse_bad_arguments(make):
    with pytest.raises(ebb.errors.ValueError, match="needs"):
        make()


def test_numbers_and_arrays_become_tensors():
    collate = data.default_collate
    for batch, dtype, values in (
        ([1, 2], ebb.int64, [1, 2]),
        ([1.5, 2.0], ebb.float64, [1.5, 2.0]),
        ([True, False], ebb.bool, [True, False]),
        ([np.float32(1), np.float32(2)], ebb.float32, [1.0, 2.0]),
        ([np.zeros(2, np.int8), np.ones(2, np.int8)], ebb.int8, [[0, 0], [1, 1]]),
        ([ebb.zeros(2), ebb.ones(2)], ebb.float32, [[0.0, 0.0], [1.0, 1.0]]),
        ([ebb.tensor(1), ebb.tensor(2)], ebb.int64, [1, 2]),
        ([ebb.ones(1, dtype=ebb.bfloat16)], ebb.bfloat16, [[1.0]]),
    ):
        result = collate(batch)
        assert result.dtype is dtype and result.tolist() == values


def test_structure_is_kept():
    sample = {"p": Pair(1, 2.0), "t": (1, "a"), "l": [ebb.ones(2)], "o": OrderedDict(x=b"b")}
    batch = data.default_collate([sample, sample])
    assert type(batch["p"]) is Pair and batch["p"].y.tolist() == [2.0, 2.0]
    assert type(batch["t"]) is list and batch["t"][1] == ("a", "a")
    assert batch["l"][0].shape == (2, 2)
    assert type(batch["o"]) is OrderedDict and batch["o"]["x"] == [b"b", b"b"]


def test_gradients_flow_through_a_batch():
    x = ebb.ones(2, requires_grad=True)
    data.default_collate([x * 2, x * 3]).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


@pytest.mark.parametrize(
    "batch, error, text",
    [
        (
            [ebb.ones(2), ebb.ones(3)],
            ValueError,
            r"needs tensors of one shape, got \[2\] and \[3\]",
        ),
        ([np.ones(2), np.ones(3)], ValueError, "needs arrays of one shape"),
        ([(1, 2), (1,)], ValueError, r"needs samples of equal length, got \[1, 2\]"),
        ([None, None], TypeError, "got NoneType\nhint: pass a collate_fn"),
        ([np.array(["a"])], TypeError, "needs arrays of numbers"),
        ([{"a": 1}, {}], KeyError, "a"),
    ],
)
def test_samples_that_do_not_match_are_refused(batch, error, text):
    with pytest.raises(error, match=text):
        data.default_collate(batch)


def test_single_samples_are_converted():
    convert = data.default_convert
    assert convert(np.ones(2)).tolist() == [1.0, 1.0]
    assert convert({"a": (np.zeros(1), "text")})["a"][1] == "text"
    assert convert(Pair(np.zeros(1), 2)).x.tolist() == [0.0]
    assert convert(np.array(["a"])).dtype.kind == "U"
    assert convert([1, np.ones(1)])[1].dtype is ebb.float64


@pytest.mark.parametrize(
    "name", ["Dataset", "IterableDataset", "Sampler", "BatchSampler", "Subset", "DataLoader"]
)
def test_annotations_may_say_of_what_a_class_is(name):
    kind, of = getattr(ebb.data, name), TypeVar("of")

    class Numbers(kind[list[int]]):
        pass

    class Anything(kind[of], Generic[of]):
        pass

    assert issubclass(Numbers, kind) and issubclass(Anything, kind)
    assert get_args(kind[int]) == (int,) and get_origin(Anything[int]) is Anything


def test_a_class_of_samples_that_are_named_is_loaded():
    class Squares(ebb.data.Dataset[int]):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return index * index

    assert [one.item() for one in ebb.data.DataLoader[int](Squares())] == [0, 1, 4]
