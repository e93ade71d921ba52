# python/ebb/vision/datasets.py -- well-known sets of images, read from local files.
#
# Each lies where torchvision puts it, so that folders can be shared; nothing is downloaded.
"""Samples are pairs of an image and the number of its class."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ebb import _C
from ebb._base.arguments import check_callable
from ebb.data.dataset import Dataset
from ebb.vision import readers

__all__ = ["CIFAR10", "CIFAR100", "KMNIST", "MNIST", "FakeData", "FashionMNIST", "ImageFolder"]

Change = Callable[[Any], Any] | None


class _Images(Dataset):
    """Base: images in memory, with their labels in ``targets``."""

    data: Any
    targets: Any

    def __init__(
        self,
        root: str | os.PathLike,
        train: bool = True,
        transform: Change = None,
        target_transform: Change = None,
        download: bool = False,
    ):
        _check(transform, target_transform)
        self.root = os.fspath(root)
        self.train = train
        self.transform = transform
        self.target_transform = target_transform
        self._read()

    def _read(self) -> None:
        raise NotImplementedError

    def _path(self, *names: str) -> str:
        """Return the first of several files, below ``root``, that is there."""
        paths = [os.path.join(self.root, name) for name in names]
        found = next((path for path in paths if os.path.exists(path)), None)
        if found is None:
            raise _C.IoError(
                f"{type(self).__name__}: needs {paths[0]!r}, got no such file\n"
                "hint: nothing is downloaded; put the files there"
            )
        return found

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return _changed(
            self, readers.as_image(np.asarray(self.data[index])), int(self.targets[index])
        )

    def __len__(self) -> int:
        return len(self.data)


def _changed(dataset: Any, image: Any, target: int) -> tuple[Any, Any]:
    if dataset.transform is not None:
        image = dataset.transform(image)
    if dataset.target_transform is not None:
        target = dataset.target_transform(target)
    return image, target


def _check(*functions: Any) -> None:
    check_callable(*(one for one in functions if one is not None))


class MNIST(_Images):
    """Handwritten digits, 28 by 28, from IDX files in ``root/MNIST/raw``, packed or not.

    Args:
        root: The folder.
        train: The 60,000 images to train with; else the 10,000 to test with.
        transform: Called with each image.
        target_transform: Called with each label.
        download: Taken for torchvision's sake; nothing is downloaded.
    """

    classes = tuple(map(str, range(10)))

    def _read(self) -> None:
        kind = "train" if self.train else "t10k"
        found = []
        for what in ("images-idx3", "labels-idx1"):
            name = f"{kind}-{what}-ubyte"
            folders = (os.path.join(type(self).__name__, "raw"), "")
            names = [os.path.join(folder, name + end) for folder in folders for end in ("", ".gz")]
            found.append(readers.read_idx(self._path(*names)))
        images, labels = found
        if images.ndim != 3 or labels.shape != images.shape[:1]:
            raise _C.ValueError(
                f"{type(self).__name__}: needs a label for each image, got {list(images.shape)} "
                f"and {list(labels.shape)}"
            )
        self.data, self.targets = _C.tensor(images), _C.tensor(labels.astype(np.int64))


class FashionMNIST(MNIST):
    """Pieces of clothing, in the same format; in ``root/FashionMNIST/raw``."""

    classes = (
        *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
        *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
    )


class KMNIST(MNIST):
    """Japanese characters, in the same format; in ``root/KMNIST/raw``."""

    classes = ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")


class CIFAR10(_Images):
    """Small pictures of ten kinds of things, from the pickles of the version for Python.

    They are read without being executed, in ``root/cifar-10-batches-py``.

    Args:
        root: The folder.
        train: The 50,000 images to train with; else the 10,000 to test with.
        transform: Called with each image.
        target_transform: Called with each label.
        download: Taken for torchvision's sake; nothing is downloaded.
    """

    _folder = "cifar-10-batches-py"
    _files = (tuple(f"data_batch_{number}" for number in range(1, 6)), ("test_batch",))
    _labels = "labels"
    _meta = ("batches.meta", "label_names")

    def _read(self) -> None:
        images, labels = [], []
        for name in self._files[0 if self.train else 1]:
            path = self._path(os.path.join(self._folder, name))
            batch = readers.read_pickle(path)
            data, found = batch.get("data"), batch.get(self._labels)
            fits = isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[1] == 3072
            if not fits or not isinstance(found, list) or len(found) != len(data):
                raise _C.ValueError(
                    f"{type(self).__name__}: needs rows of 3072 bytes and {self._labels}, "
                    f"got others in {path!r}"
                )
            images.append(data)
            labels += found
        self.data = np.concatenate(images).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        self.targets = labels
        self.classes = self._names()
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}

    def _names(self) -> list[str]:
        path = os.path.join(self.root, self._folder, self._meta[0])
        names = readers.read_pickle(path).get(self._meta[1], []) if os.path.exists(path) else []
        return [name.decode() if isinstance(name, bytes) else name for name in names]


class CIFAR100(CIFAR10):
    """The same with a hundred kinds of things; in ``root/cifar-100-python``."""

    _folder = "cifar-100-python"
    _files = (("train",), ("test",))
    _labels = "fine_labels"
    _meta = ("meta", "fine_label_names")


_SUFFIXES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


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
        _check(transform, target_transform)
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
        return _changed(self, readers.as_image(image if channels > 1 else image[..., 0]), label)

    def __len__(self) -> int:
        return self.size


class ImageFolder(Dataset):
    """Images in folders named by their classes: ``root/cat/1.png``; needs Pillow.

    Args:
        root: The folder.
        transform: Called with each image.
        target_transform: Called with each label, the number of its folder in their order.
        loader: Reads a file; as an image of red, green and blue if None.
        is_valid_file: Says which files are images; by their suffix if None.
    """

    def __init__(
        self,
        root: str | os.PathLike,
        transform: Change = None,
        target_transform: Change = None,
        loader: Callable[[str], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
    ):
        _check(transform, target_transform, loader, is_valid_file)
        self.root = os.fspath(root)
        self.transform = transform
        self.target_transform = target_transform
        self.loader = loader or readers.load_image
        accepts = is_valid_file or (lambda path: path.lower().endswith(_SUFFIXES))
        with os.scandir(self.root) as entries:
            self.classes = sorted(entry.name for entry in entries if entry.is_dir())
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        self.samples = [
            (os.path.join(folder, name), number)
            for label, number in self.class_to_idx.items()
            for folder, _, names in sorted(os.walk(os.path.join(self.root, label)))
            for name in sorted(names)
            if accepts(os.path.join(folder, name))
        ]
        if not self.samples:
            raise _C.ValueError(f"ImageFolder: needs images in folders of {self.root!r}, got none")
        self.imgs = self.samples
        self.targets = [number for _, number in self.samples]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        return _changed(self, self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)
