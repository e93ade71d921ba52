# tests/python/data/test_dataloader.py -- the same batches in the same order, whoever makes them.
import random
import threading
from collections import namedtuple

import numpy as np
import pytest

import ebb
from ebb import data

WORKERS = [
    {},
    {"num_workers": 1},
    {"num_workers": 3},
    {"num_workers": 2, "worker_type": "thread"},
    {"num_workers": 2, "persistent_workers": True},
]
Point = namedtuple("Point", "x y")


class Samples(data.Dataset):
    """Samples of many kinds; their number is in each."""

    def __init__(self, count=23):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return {
            "image": np.full((40, 50), index, np.float32),  # large: travels in shared memory
            "point": Point(ebb.tensor([index, index]), float(index)),
            "half": ebb.full((600,), float(index), dtype=ebb.bfloat16),
            "name": f"sample {index}",
            "text": "x" * 9000,
        }


class Stream(data.IterableDataset):
    """0 .. count - 1, divided over the workers."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.count, step))

    def __len__(self):
        return self.count


class Seeds(data.Dataset):
    """What the random generators give in the worker that makes the sample."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        info = data.get_worker_info()
        assert info.dataset is not None and info.num_workers == 2
        return info.id, info.seed % 2**31, random.random(), np.random.rand(), ebb.rand(()).item()


def rows():
    return data.TensorDataset(ebb.arange(20).float().reshape(10, 2), ebb.arange(10))


@pytest.mark.parametrize("workers", WORKERS, ids=str)
def test_batches_are_the_same_whoever_makes_them(workers):
    ebb.manual_seed(5)
    plain = list(data.DataLoader(Samples(), 4, shuffle=True))
    ebb.manual_seed(5)
    loader = data.DataLoader(Samples(), 4, shuffle=True, **workers)
    batches = list(loader)
    assert len(batches) == len(loader) == 6
    for batch, other in zip(batches, plain, strict=True):
        assert ebb.equal(batch["image"], other["image"]) and batch["image"].shape[1:] == (40, 50)
        assert type(batch["point"]) is Point and ebb.equal(batch["point"].x, other["point"].x)
        assert ebb.equal(batch["point"].y, other["point"].y)
        assert batch["half"].dtype is ebb.bfloat16 and ebb.equal(batch["half"], other["half"])
        assert batch["name"] == other["name"] and batch["text"] == other["text"]
    again = list(loader)
    assert len(again) == 6 and again[0]["name"] != batches[0]["name"]


@pytest.mark.parametrize("workers", WORKERS, ids=str)
def test_tensors_that_were_made_elsewhere_are_ordinary(workers):
    kept = [batch for batch, _ in data.DataLoader(rows(), 4, **workers)]
    kept[0] += 1
    kept[0].numpy()[0, 0] = 7.0
    assert kept[0].tolist()[0] == [7.0, 2.0] and kept[1].tolist()[0] == [8.0, 9.0]
    weight = ebb.ones(2, requires_grad=True)
    (kept[1] * weight).sum().backward()
    assert weight.grad.tolist() == [44.0, 48.0]
    assert kept[1].is_contiguous()


@pytest.mark.parametrize("workers", WORKERS, ids=str)
def test_streams_are_divided_over_the_workers(workers):
    loader = data.DataLoader(Stream(11), 2, **workers)
    for _ in range(2):
        values = [value for batch in loader for value in batch.tolist()]
        assert sorted(values) == list(range(11))
    count = workers.get("num_workers", 0)
    if count == 0:
        assert len(loader) == 6
    if count == 3:  # in turns, and the shorter streams end earlier
        assert [batch.tolist() for batch in loader] == [
            [0, 3],
            [1, 4],
            [2, 5],
            [6, 9],
            [7, 10],
            [8],
        ]
    full = data.DataLoader(Stream(11), 2, drop_last=True, **workers)
    assert all(len(batch) == 2 for batch in full)


@pytest.mark.parametrize("workers", WORKERS, ids=str)
def test_single_samples_come_without_batch_size(workers):
    samples = list(data.DataLoader(rows(), batch_size=None, **workers))
    assert len(samples) == 10 and samples[3][0].tolist() == [6.0, 7.0]
    assert sorted(data.DataLoader(Stream(5), batch_size=None, **workers)) == list(range(5))


@pytest.mark.parametrize("workers", WORKERS, ids=str)
def test_an_empty_dataset_gives_no_batch(workers):
    assert list(data.DataLoader(Samples(0), 4, **workers)) == []
    assert list(data.DataLoader(Stream(0), 4, **workers)) == []


def test_any_sampler_may_be_used():
    loader = data.DataLoader(rows(), 2, sampler=[9, 0, 9])
    assert [labels.tolist() for _, labels in loader] == [[9, 0], [9]]
    loader = data.DataLoader(rows(), batch_sampler=[[1], [2, 3]])
    assert [labels.tolist() for _, labels in loader] == [[1], [2, 3]] and len(loader) == 2


def test_arguments_have_the_order_of_pytorch():
    options = (rows(), 4, False, None, None, 0, None, True, True, 0, None, None, ebb.Generator())
    assert [labels.tolist() for _, labels in data.DataLoader(*options)] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
    ]


def test_a_collate_function_sees_the_samples():
    loader = data.DataLoader(rows(), 4, collate_fn=lambda batch: [int(y) for _, y in batch])
    assert list(loader)[2] == [8, 9]


def test_getitems_fetches_a_batch_at_once():
    class Batched(data.Dataset):
        def __len__(self):
            return 4

        def __getitems__(self, indices):
            return [10 * index for index in indices]

    assert [batch.tolist() for batch in data.DataLoader(Batched(), 3)] == [[0, 10, 20], [30]]


def test_subsets_of_tensors_are_taken_at_once_and_agree():
    part = data.Subset(rows(), [8, 2, 5])
    plain = data.DataLoader(part, 2, collate_fn=lambda batch: data.default_collate(batch))
    for batch, other in zip(data.DataLoader(part, 2), plain, strict=True):
        assert all(ebb.equal(x, y) for x, y in zip(batch, other, strict=True))


def test_the_generator_decides_on_order_and_seeds():
    def order(seed, **workers):
        loader = data.DataLoader(
            rows(), 10, shuffle=True, generator=ebb.Generator().manual_seed(seed), **workers
        )
        return [labels.tolist() for _ in range(2) for _, labels in loader]

    first = order(1)
    assert first == order(1, num_workers=2) and first != order(2) and first[0] != first[1]


def test_workers_have_seeds_of_their_own_that_repeat():
    def drawn(seed):
        ebb.manual_seed(seed)
        loader = data.DataLoader(Seeds(), 1, num_workers=2)
        return [tuple(part.item() for part in batch) for batch in loader]

    first = drawn(0)
    assert first == drawn(0) and first != drawn(1)
    assert [row[0] for row in first] == [0, 1] * 4
    assert len({row[1] for row in first}) == 2
    assert all(len({row[column] for row in first}) == 8 for column in (2, 3, 4))


def test_each_worker_is_initialised_with_its_number():
    def init(number):
        random.worker = number

    class Reads(Samples):
        def __getitem__(self, index):
            return random.worker

    loader = data.DataLoader(Reads(6), 1, num_workers=3, worker_init_fn=init)
    assert [batch.item() for batch in loader] == [0, 1, 2, 0, 1, 2]
    assert data.get_worker_info() is None and not hasattr(random, "worker")


def test_persistent_workers_are_kept_and_survive_a_break():
    class Process(Samples):
        def __getitem__(self, index):
            import os

            return os.getpid(), index

    loader = data.DataLoader(Process(40), 1, num_workers=2, persistent_workers=True)
    seen = set()
    for stop in (None, 3, None):
        numbers = []
        for process, index in loader:
            seen.add(process.item())
            numbers.append(index.item())
            if len(numbers) == stop:
                break
        assert numbers == list(range(stop or 40))
    assert len(seen) == 2


def test_persistent_workers_go_one_round_at_a_time():
    loader = data.DataLoader(rows(), 1, num_workers=1, persistent_workers=True)
    first = iter(loader)
    next(first)
    assert len(list(loader)) == 10
    with pytest.raises(ebb.Error, match="needs one round at a time"):
        list(first)
    once = data.DataLoader(rows(), 1, num_workers=1)
    assert len(list(zip(once, once, strict=True))) == 10  # each has workers of its own


def test_spawned_workers_do_the_same():
    part = data.Subset(rows(), range(9, 2, -1))
    loader = data.DataLoader(part, 4, num_workers=1, multiprocessing_context="spawn")
    assert [labels.tolist() for _, labels in loader] == [[9, 8, 7, 6], [5, 4, 3]]


def test_methods_of_other_libraries_are_left_alone():
    class Table(Samples):
        def take(self, count):
            raise AssertionError("not meant for batches")

    assert len(list(data.DataLoader(Table(4), 2))) == 2


@pytest.mark.parametrize(
    "options, text",
    [
        ({"batch_size": 0}, "BatchSampler: needs batch_size as an int >= 1, got 0"),
        ({"batch_size": None, "drop_last": True}, "needs a batch_size for drop_last"),
        ({"num_workers": -1}, "needs num_workers >= 0, got -1"),
        ({"num_workers": 1, "timeout": -1}, "needs timeout >= 0"),
        ({"num_workers": 1, "prefetch_factor": 0}, "needs prefetch_factor >= 1"),
        ({"prefetch_factor": 2}, "needs num_workers > 0 for prefetch_factor"),
        ({"persistent_workers": True}, "needs num_workers > 0 for"),
        ({"num_workers": 1, "worker_type": "fibre"}, "needs worker_type 'process' or 'thread'"),
        ({"shuffle": True, "sampler": [0]}, "needs either sampler or shuffle"),
        ({"batch_size": 2, "batch_sampler": [[0]]}, "needs batch_sampler without"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(options, text):
    with pytest.raises(ebb.errors.ValueError, match=text):
        data.DataLoader(rows(), **options)


def test_a_stream_has_an_order_of_its_own():
    for options in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        with pytest.raises(ValueError, match="needs no shuffle, sampler or batch_sampler"):
            data.DataLoader(Stream(3), **options)
    with pytest.raises(ValueError, match="needs multiprocessing_context among fork"):
        iter(data.DataLoader(rows(), num_workers=1, multiprocessing_context="clone"))


class Slow(data.Dataset):
    """The first sample waits until the others were given."""

    def __init__(self, event):
        self.event = event

    def __getitem__(self, index):
        if index == 0:
            assert self.event.wait(120)
        return index

    def __len__(self):
        return 3


def test_batches_may_come_as_soon_as_they_are_made():
    event = threading.Event()
    loader = data.DataLoader(
        Slow(event), None, num_workers=2, worker_type="thread", in_order=False, prefetch_factor=1
    )
    found = []
    for sample in loader:
        found.append(sample)
        if len(found) == 2:
            event.set()
    assert found[2] == 0 and sorted(found) == [0, 1, 2]


def test_without_pinned_memory_batches_are_left_alone():
    class Own:
        def pin_memory(self):
            raise AssertionError("nobody has such memory")

    batch = [ebb.ones(2), Own()]
    made = data.DataLoader(
        [0], None, collate_fn=lambda _: batch, pin_memory=True, pin_memory_device="cpu"
    )
    assert next(iter(made)) is batch


def test_a_class_of_ones_own_may_choose_indices_and_iterators():
    class Backwards(data.DataLoader):
        @property
        def _index_sampler(self):
            return list(super()._index_sampler)[::-1]

        def _get_iterator(self):
            return iter([*super()._get_iterator(), "end"])

    batches = list(Backwards(range(3), batch_size=2))
    assert [one if isinstance(one, str) else one.tolist() for one in batches] == [
        [2],
        [0, 1],
        "end",
    ]
    assert list(data.DataLoader(range(3), 2)._index_sampler) == [[0, 1], [2]]
    single = data.DataLoader(range(3), batch_size=None)
    assert list(single._index_sampler) == [0, 1, 2] and not single._auto_collation
