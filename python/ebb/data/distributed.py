# python/ebb/data/distributed.py -- DistributedSampler: the indices that one process visits.
"""For programs that several processes run side by side, each told its number."""

from __future__ import annotations

from collections.abc import Iterator, Sized

from ebb import _C
from ebb.data.sampler import Sampler, permutation

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler):
    """Every ``num_replicas``-th index, from the ``rank``-th on, in an order that all share.

    Args:
        dataset: What is indexed.
        num_replicas: How many processes there are.
        rank: The number of this one, from 0.
        shuffle: Visit in random order; ``set_epoch`` gives each epoch its own.
        seed: Of the order; the same in all processes.
        drop_last: Leave indices out so that all get equally many; else the first come twice.
    Example:
        >>> sampler = ebb.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False)
        >>> list(sampler)
        [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ):
        if num_replicas is None or rank is None:
            raise _C.ValueError(
                f"DistributedSampler: needs num_replicas and rank, got {num_replicas} and {rank}\n"
                "hint: there is no process group to ask; one process alone has 1 and 0"
            )
        if not 0 <= rank < num_replicas:
            raise _C.ValueError(
                f"DistributedSampler: needs a rank from 0 to {num_replicas - 1}, got {rank}"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch: int = 0
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last

    @property
    def num_samples(self) -> int:
        """How many indices each process gets."""
        count = len(self.dataset)
        return count // self.num_replicas if self.drop_last else -(-count // self.num_replicas)

    @property
    def total_size(self) -> int:
        """How many indices all processes get."""
        return self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        places = range(self.rank, self.total_size, self.num_replicas)
        if not self.shuffle:
            return (place % count for place in places)
        generator = _C.Generator()
        generator.manual_seed(self.seed + self.epoch)
        order = permutation(count, generator)
        return (order[place % count] for place in places)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch; all processes are to call it with the same number."""
        self.epoch = epoch
