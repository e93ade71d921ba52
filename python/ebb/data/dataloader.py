# python/ebb/data/dataloader.py -- the loader under the names of PyTorch's file.
"""``from ebb.utils.data.dataloader import default_collate``, and private names of programs."""

from ebb.data.collate import default_collate as default_collate, default_convert as default_convert
from ebb.data.dataset import Dataset as Dataset, IterableDataset as IterableDataset
from ebb.data.loader import (
    DataLoader as DataLoader,
    _BaseDataLoaderIter as _BaseDataLoaderIter,
    _MultiProcessingDataLoaderIter as _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter as _SingleProcessDataLoaderIter,
)
from ebb.data.sampler import (
    BatchSampler as BatchSampler,
    RandomSampler as RandomSampler,
    Sampler as Sampler,
    SequentialSampler as SequentialSampler,
)
from ebb.data.worker import get_worker_info as get_worker_info

__all__ = [
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
]
