# satellites/vision/ebb/vision/datasets/base.py -- what sets of images share: a folder, changes,
# noise.
"""``VisionDataset``, the base of sets of images, and ``FakeData``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ebb import _C
from ebb._base.arguments import check_callable
from ebb.data.dataset import Dataset
from ebb.vision import readers

__all__ = ["FakeData", "VisionDataset"]

Change = Callable[[Any], Any] | None


def changed(dataset: Any, image: Any, target: Any) -> tuple[Any, Any]:
    """Return a sample with the changes that a data set was told of."""
    if dataset.transform is not None:
        image = dataset.transform(image)
    if dataset.target_transform is not None:
        target = dataset.target_transform(target)
    return image, target


def check_changes(*functions: Any) -> None:
    """Refuse what is neither None nor a function."""
    check_callable(*(one for one in functions if one is not None))


class VisionDataset(Dataset):
    """Base of sets of images: keeps the folder and what is done to samples.

    Args:
        root: The folder.
        transforms: Called with image and target; instead of the other two.
        transform: Called with each image.
        target_transform: Called with each target.
    Raises:
        ValueError: If both ways are given.
    Example:
        >>> from ebb.vision import datasets
        >>> class Squares(datasets.VisionDataset):
        ...     def __getitem__(self, index):
        ...         return self.transforms(ebb.full((1, 2, 2), float(index)), index % 2)
        >>> Squares("data", transform=lambda image: image.sum().item())[3]
        (12.0, 1)
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        transforms: Callable[[Any, Any], Any] | None = None,
        transform: Change = None,
        target_transform: Change = None,
    ):
        check_changes(transforms, transform, target_transform)
        if transforms is not None and (transform is not None or target_transform is not None):
            raise _C.ValueError(
                "VisionDataset: needs either 'transforms' or 'transform' and 'target_transform', "
                "got both"
            )
        self.root: str = os.fspath(root)
        self.transform = transform
        self.target_transform = target_transform
        self.transforms: Callable[[Any, Any], Any] = transforms or (
            lambda image, target: changed(self, image, target)
        )


class FakeData(Dataset):
    """Noise with labels, for trying a program without files; a sample is the same each time.

    Args:
        size: How many samples.
        image_size: Channels, rows and columns.
        num_classes: Labels lie below this.
        transform: Called with each image.
        target_transform: Called with each label.
        random_offset: Added to the index to seed a sample.
    Example:
        >>> from ebb.vision import datasets
        >>> len(datasets.FakeData(size=10, image_size=(1, 8, 8)))
        10
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Change = None,
        target_transform: Change = None,
        random_offset: int = 0,
    ):
        check_changes(transform, target_transform)
        self.size = size
        self.image_size = image_size
        self.num_classes = num_classes
        self.transform = transform
        self.target_transform = target_transform
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if not 0 <= index < self.size:
            raise IndexError(f"FakeData: index {index} is not below {self.size}")
        noise = np.random.default_rng(index + self.random_offset)
        channels, *sizes = self.image_size
        image = noise.integers(256, size=(*sizes, channels), dtype=np.uint8)
        label = int(noise.integers(self.num_classes))
        return changed(self, readers.as_image(image if channels > 1 else image[..., 0]), label)

    def __len__(self) -> int:
        return self.size
