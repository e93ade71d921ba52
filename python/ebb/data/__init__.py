# python/ebb/data/__init__.py -- data sets and batches.
"""Datasets, samplers and ``DataLoader`` with PyTorch's names; ``progress`` shows how far it is.

``ebb.utils.data`` is the same module, for PyTorch's habits.
"""

from ebb._base.lazy import LazyPackage as _LazyPackage
from ebb.data import digits
from ebb.data.batches import batches
from ebb.data.collate import default_collate, default_convert
from ebb.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from ebb.data.distributed import DistributedSampler
from ebb.data.loader import DataLoader
from ebb.data.progress import Progress, progress
from ebb.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from ebb.data.worker import get_worker_info

dataloader: _LazyPackage = _LazyPackage("ebb.data.dataloader")

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "Progress",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "batches",
    "default_collate",
    "default_convert",
    "digits",
    "get_worker_info",
    "progress",
    "random_split",
]
