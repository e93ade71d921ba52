# satellites/vision/ebb/vision/datasets/known.py -- well-known sets of images, read from local
# files.
#
# Each lies where torchvision puts it, so that folders can be shared; nothing is downloaded.
"""Samples are pairs of an image and the number of its class."""

from __future__ import annotations

import os
from types import MappingProxyType
from typing import Any

import numpy as np

from ebb import _C
from ebb.vision import readers
from ebb.vision.datasets.base import Change, VisionDataset, changed

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "EMNIST",
    "KMNIST",
    "MNIST",
    "QMNIST",
    "STL10",
    "SVHN",
    "FashionMNIST",
]


class _Images(VisionDataset):
    """Base: images in memory, with their labels in ``targets``."""

    data: Any
    targets: Any

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: Change = None,
        target_transform: Change = None,
        download: bool = False,
    ):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
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
        return changed(
            self, readers.as_image(np.asarray(self.data[index])), int(self.targets[index])
        )

    def __len__(self) -> int:
        return len(self.data)


class MNIST(_Images):
    """Handwritten digits, 28 by 28, from IDX files in ``root/MNIST/raw``, packed or not.

    Args:
        root: The folder.
        train: The 60,000 images to train with; else the 10,000 to test with.
        transform: Called with each image.
        target_transform: Called with each label.
        download: Taken for torchvision's sake; nothing is downloaded.

    Example:
        >>> import struct
        >>> from pathlib import Path
        >>> from ebb.vision import datasets
        >>> folder = Path("data/MNIST/raw")
        >>> folder.mkdir(parents=True)
        >>> sizes = struct.pack(">4i", 0x803, 2, 28, 28)
        >>> _ = (folder / "train-images-idx3-ubyte").write_bytes(sizes + bytes(2 * 28 * 28))
        >>> labels = struct.pack(">2i2b", 0x801, 2, 7, 3)
        >>> _ = (folder / "train-labels-idx1-ubyte").write_bytes(labels)
        >>> digits = datasets.MNIST("data")
        >>> len(digits), digits[1][1], digits.data.shape
        (2, 3, ebb.Size([2, 28, 28]))
    """

    classes: tuple[str, ...] = tuple(map(str, range(10)))
    _kinds = ("train", "t10k")  # how names of files begin

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The number of each class."""
        return {name: number for number, name in enumerate(self.classes)}

    @property
    def raw_folder(self) -> str:
        """Where torchvision puts the files."""
        return os.path.join(self.root, type(self).__name__, "raw")

    # Names of torchvision's older versions.
    train_data: property = property(lambda self: self.data, doc="The images.")
    test_data: property = train_data
    train_labels: property = property(lambda self: self.targets, doc="The labels.")
    test_labels: property = train_labels

    def _read_idx(self, part: str) -> np.ndarray:
        name = f"{self._kinds[0 if self.train else 1]}-{part}"
        folders = (os.path.join(type(self).__name__, "raw"), "")
        names = [os.path.join(folder, name + end) for folder in folders for end in ("", ".gz")]
        return readers.read_idx(self._path(*names))

    def _read(self) -> None:
        images, labels = (
            self._read_idx(part) for part in ("images-idx3-ubyte", "labels-idx1-ubyte")
        )
        if images.ndim != 3 or labels.shape != images.shape[:1]:
            raise _C.ValueError(
                f"{type(self).__name__}: needs a label for each image, got {list(images.shape)} "
                f"and {list(labels.shape)}"
            )
        self.data, self.targets = _C.tensor(images), _C.tensor(labels.astype(np.int64))


class FashionMNIST(MNIST):
    """Pieces of clothing, in the same format; in ``root/FashionMNIST/raw``.

    Example:
        >>> from ebb.vision import datasets
        >>> datasets.FashionMNIST.classes[:2]
        ('T-shirt/top', 'Trouser')
    """

    classes: tuple[str, ...] = (
        *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
        *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
    )


class KMNIST(MNIST):
    """Japanese characters, in the same format; in ``root/KMNIST/raw``.

    Example:
        >>> from ebb.vision import datasets
        >>> datasets.KMNIST.classes[:2]
        ('o', 'ki')
    """

    classes: tuple[str, ...] = ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")


class CIFAR10(_Images):
    """Small pictures of ten kinds of things, from the pickles of the version for Python.

    They are read without being executed, in ``root/cifar-10-batches-py``.

    Args:
        root: The folder.
        train: The 50,000 images to train with; else the 10,000 to test with.
        transform: Called with each image.
        target_transform: Called with each label.
        download: Taken for torchvision's sake; nothing is downloaded.

    Example:
        >>> import os
        >>> import pickle
        >>> import numpy as np
        >>> from ebb.vision import datasets
        >>> os.makedirs("data/cifar-10-batches-py")
        >>> with open("data/cifar-10-batches-py/test_batch", "wb") as file:
        ...     pickle.dump({"data": np.zeros((2, 3072), np.uint8), "labels": [3, 5]}, file)
        >>> things = datasets.CIFAR10("data", train=False)
        >>> len(things), things[1][1], things.data.shape
        (2, 5, (2, 32, 32, 3))
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
            is_list = isinstance(found, list) and all(type(one) is int for one in found)
            if not fits or not is_list or len(found) != len(data):
                raise _C.ValueError(
                    f"{type(self).__name__}: needs rows of 3072 bytes and {self._labels}, "
                    f"got others in {path!r}"
                )
            images.append(data)
            labels += found
        self.data = np.concatenate(images).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        self.targets = labels
        self.classes: list[str] = self._names()
        self.class_to_idx: dict[str, int] = {
            name: number for number, name in enumerate(self.classes)
        }

    def _names(self) -> list[str]:
        path = os.path.join(self.root, self._folder, self._meta[0])
        names = readers.read_pickle(path).get(self._meta[1], []) if os.path.exists(path) else []
        return [name.decode() if isinstance(name, bytes) else name for name in names]


class CIFAR100(CIFAR10):
    """The same with a hundred kinds of things; in ``root/cifar-100-python``.

    Example:
        >>> import os
        >>> import pickle
        >>> import numpy as np
        >>> from ebb.vision import datasets
        >>> os.makedirs("data/cifar-100-python")
        >>> with open("data/cifar-100-python/test", "wb") as file:
        ...     pickle.dump({"data": np.zeros((2, 3072), np.uint8), "fine_labels": [3, 55]}, file)
        >>> datasets.CIFAR100("data", train=False)[1][1]
        55
    """

    _folder = "cifar-100-python"
    _files = (("train",), ("test",))
    _labels = "fine_labels"
    _meta = ("meta", "fine_label_names")


class EMNIST(MNIST):
    """Handwritten digits and letters, in the same format; in ``root/EMNIST/raw``.

    Args:
        root: The folder.
        split: "byclass", "bymerge", "balanced", "letters", "digits" or "mnist".
        **options: Of ``MNIST``.
    Raises:
        ValueError: If there is no such part.
    Example:
        >>> from ebb.vision import datasets
        >>> datasets.EMNIST.splits
        ('byclass', 'bymerge', 'balanced', 'letters', 'digits', 'mnist')
    """

    splits: tuple[str, ...] = ("byclass", "bymerge", "balanced", "letters", "digits", "mnist")

    def __init__(self, root: str | os.PathLike[str], split: str, **options: Any):
        if split not in self.splits:
            raise _C.ValueError(f"EMNIST: needs a 'split' of {self.splits}, got {split!r}")
        self.split = split
        self._kinds = (f"emnist-{split}-train", f"emnist-{split}-test")
        super().__init__(root, **options)


class QMNIST(MNIST):
    """MNIST made anew with 60,000 images to test with, from ``root/QMNIST/raw``.

    Args:
        root: The folder.
        what: "train", "test", "test10k" (MNIST's own) or "test50k" (the others); None for what
            ``train`` says.
        compat: Targets are digits; else rows of eight numbers, such as the writer's.
        train: "train", else "test".
        **options: Of ``MNIST``.
    Raises:
        ValueError: If there is no such part, or its labels are no rows of eight numbers.
        IoError: If a file is not there.
    Example:
        >>> import struct
        >>> from pathlib import Path
        >>> from ebb.vision import datasets
        >>> folder = Path("data/QMNIST/raw")
        >>> folder.mkdir(parents=True)
        >>> sizes = struct.pack(">4i", 0x803, 1, 28, 28)
        >>> _ = (folder / "qmnist-test-images-idx3-ubyte").write_bytes(sizes + bytes(28 * 28))
        >>> label = struct.pack(">11i", 0xC02, 1, 8, 7, 4, 2, 0, 0, 0, 0, 0)
        >>> _ = (folder / "qmnist-test-labels-idx2-int").write_bytes(label)
        >>> datasets.QMNIST("data", train=False)[0][1]
        7
        >>> datasets.QMNIST("data", "test", compat=False)[0][1]
        tensor([7, 4, 2, 0, 0, 0, 0, 0])
    """

    subsets: MappingProxyType[str, str] = MappingProxyType(
        {"train": "train", "test": "test", "test10k": "test", "test50k": "test"}
    )

    def __init__(
        self,
        root: str | os.PathLike[str],
        what: str | None = None,
        compat: bool = True,
        train: bool = True,
        **options: Any,
    ):
        what = what or ("train" if train else "test")
        if what not in self.subsets:
            raise _C.ValueError(f"QMNIST: needs a 'what' of {list(self.subsets)}, got {what!r}")
        self.what = what
        self.compat = compat
        self._kinds = (f"qmnist-{self.subsets[what]}",) * 2
        super().__init__(root, train, **options)

    def _read(self) -> None:
        images, labels = (self._read_idx(part) for part in ("images-idx3-ubyte", "labels-idx2-int"))
        if images.ndim != 3 or labels.shape != (len(images), 8):
            raise _C.ValueError(
                f"QMNIST: needs eight numbers for each image, got {list(images.shape)} and "
                f"{list(labels.shape)}"
            )
        part = {"test10k": slice(10000), "test50k": slice(10000, None)}.get(self.what, slice(None))
        self.data, self.targets = _C.tensor(images[part]), _C.tensor(labels[part].astype(np.int64))

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        target = self.targets[index]
        image = readers.as_image(np.asarray(self.data[index]))
        return changed(self, image, int(target[0]) if self.compat else target)


class SVHN(_Images):
    """House numbers, 32 by 32, from ``root/train_32x32.mat`` and the files beside it; needs SciPy.

    Args:
        root: The folder.
        split: "train", "test" or "extra".
        transform: Called with each image.
        target_transform: Called with each label.
        download: Taken for torchvision's sake; nothing is downloaded.
    Raises:
        ValueError: If there is no such part.
        NotImplementedError: If SciPy is not installed.
    Example:
        >>> from ebb.vision import datasets
        >>> datasets.SVHN("nowhere", split="test")
        Traceback (most recent call last):
            ...
        ebb.errors.IoError: SVHN: needs 'nowhere/test_32x32.mat', got no such file
        hint: nothing is downloaded; put the files there
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str = "train",
        transform: Change = None,
        target_transform: Change = None,
        download: bool = False,
    ):
        if split not in ("train", "test", "extra"):
            raise _C.ValueError(f"SVHN: needs a 'split' of train, test or extra, got {split!r}")
        self.split = split
        super().__init__(root, split == "train", transform, target_transform, download)

    def _read(self) -> None:
        found = readers.read_matlab(self._path(f"{self.split}_32x32.mat"))
        self.data = found["X"].transpose(3, 0, 1, 2)
        self.labels = self.targets = found["y"].astype(np.int64).reshape(-1) % 10  # 10 is digit 0


class STL10(_Images):
    """Pictures of ten kinds of things, 96 by 96, from ``root/stl10_binary``.

    Args:
        root: The folder.
        split: "train", "test", "unlabeled" (labels are -1) or "train+unlabeled".
        folds: Taken only as None: all of it.
        transform: Called with each image.
        target_transform: Called with each label.
        download: Taken for torchvision's sake; nothing is downloaded.
    Raises:
        ValueError: If there is no such part, or a file is no whole number of images.
    Example:
        >>> from pathlib import Path
        >>> from ebb.vision import datasets
        >>> folder = Path("data/stl10_binary")
        >>> folder.mkdir(parents=True)
        >>> _ = (folder / "test_X.bin").write_bytes(bytes(2 * 3 * 96 * 96))
        >>> _ = (folder / "test_y.bin").write_bytes(bytes([1, 10]))
        >>> pictures = datasets.STL10("data", split="test")
        >>> len(pictures), pictures[1][1], pictures.data.shape
        (2, 9, (2, 96, 96, 3))
    """

    splits: tuple[str, ...] = ("train", "train+unlabeled", "unlabeled", "test")
    classes: tuple[str, ...] = (
        *("airplane", "bird", "car", "cat", "deer"),
        *("dog", "horse", "monkey", "ship", "truck"),
    )

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str = "train",
        folds: int | None = None,
        transform: Change = None,
        target_transform: Change = None,
        download: bool = False,
    ):
        if split not in self.splits:
            raise _C.ValueError(f"STL10: needs a 'split' of {self.splits}, got {split!r}")
        if folds is not None:
            raise _C.NotImplementedError("STL10: needs 'folds' of None, got another")
        self.split = split
        super().__init__(root, split == "train", transform, target_transform, download)

    def _read(self) -> None:
        parts = [self._part(name) for name in self.split.split("+")]
        self.data = np.concatenate([images for images, _ in parts])
        self.labels = self.targets = np.concatenate([labels for _, labels in parts])

    def _part(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        folder = "stl10_binary"
        path = self._path(os.path.join(folder, f"{name}_X.bin"))
        raw = readers.read_array(path)
        if raw.size % (3 * 96 * 96):
            raise _C.ValueError(
                f"STL10: needs images of 3 by 96 by 96 bytes, got others in {path!r}"
            )
        images = raw.reshape(-1, 3, 96, 96).transpose(0, 3, 2, 1)  # columns come first in the file
        if name == "unlabeled":
            return images, np.full(len(images), -1, np.int64)
        labels = readers.read_array(self._path(os.path.join(folder, f"{name}_y.bin")))
        if len(labels) != len(images):
            raise _C.ValueError(
                f"STL10: needs a label for each image, got {len(labels)} for {len(images)}"
            )
        return images, labels.astype(np.int64) - 1
