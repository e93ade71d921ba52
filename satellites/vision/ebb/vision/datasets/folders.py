# satellites/vision/ebb/vision/datasets/folders.py -- sets of images that are files in folders.
"""``DatasetFolder``, ``ImageFolder`` and ``CelebA``."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ebb import _C
from ebb.vision import readers
from ebb.vision.datasets.base import Change, VisionDataset, changed, check_changes

__all__ = ["IMG_EXTENSIONS", "CelebA", "DatasetFolder", "ImageFolder", "default_loader"]

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
Accepts = Callable[[str], bool] | None


def default_loader(path: str) -> Any:
    """Read a file of an image, in red, green and blue; needs Pillow.

    Example:
        >>> from importlib.util import find_spec
        >>> from ebb.vision import datasets
        >>> from ebb.vision.utils import save_image
        >>> save_image(ebb.rand(3, 8, 4), "image.png")
        >>> if find_spec("PIL") is not None:
        ...     assert datasets.folders.default_loader("image.png").size == (4, 8)
    """
    return readers.load_image(path)


class DatasetFolder(VisionDataset):
    """Files in folders named by their classes: ``root/cat/1.npy``.

    Args:
        root: The folder.
        loader: Reads a file.
        extensions: Endings of the files to take.
        transform: Called with each sample.
        target_transform: Called with each label, the number of its folder in their order.
        is_valid_file: Says which files to take; instead of ``extensions``.
        allow_empty: Whether classes may have no files.
    Raises:
        ValueError: If there is no file, or a class has none, or it is not said which files count.
    Example:
        >>> import os
        >>> import numpy as np
        >>> from ebb.vision import datasets
        >>> for label in ("cat", "dog"):
        ...     os.makedirs(f"pets/{label}")
        ...     np.save(f"pets/{label}/1.npy", np.ones(2))
        >>> pets = datasets.DatasetFolder("pets", np.load, extensions=".npy")
        >>> len(pets), pets.classes, pets[1]
        (2, ['cat', 'dog'], (array([1., 1.]), 1))
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        loader: Callable[[str], Any],
        extensions: str | Sequence[str] | None = None,
        transform: Change = None,
        target_transform: Change = None,
        is_valid_file: Accepts = None,
        allow_empty: bool = False,
    ):
        super().__init__(root, transform=transform, target_transform=target_transform)
        check_changes(loader, is_valid_file)
        name = type(self).__name__
        if (extensions is None) == (is_valid_file is None):
            raise _C.ValueError(f"{name}: needs either 'extensions' or 'is_valid_file'")
        endings = (extensions,) if isinstance(extensions, str) else tuple(extensions or ())
        accepts = is_valid_file or (lambda path: path.lower().endswith(endings))
        self.loader = loader
        self.extensions = extensions
        self.classes: list[str]
        self.class_to_idx: dict[str, int]
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples: list[tuple[str, int]] = [
            (os.path.join(folder, one), number)
            for label, number in self.class_to_idx.items()
            for folder, _, names in sorted(os.walk(os.path.join(self.root, label)))
            for one in sorted(names)
            if accepts(os.path.join(folder, one))
        ]
        empty = set(self.class_to_idx.values()) - {number for _, number in self.samples}
        if not self.samples or (empty and not allow_empty):
            without = [self.classes[number] for number in sorted(empty)]
            raise _C.ValueError(
                f"{name}: needs files in folders of {self.root!r}, got none"
                + (f" for {without}" if self.samples else "")
            )
        self.targets: list[int] = [number for _, number in self.samples]

    def find_classes(self, directory: str) -> tuple[list[str], dict[str, int]]:
        """Return the names of the folders in order, and the number of each."""
        with os.scandir(directory) as entries:
            classes = sorted(entry.name for entry in entries if entry.is_dir())
        return classes, {name: number for number, name in enumerate(classes)}

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        return changed(self, self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Images in folders named by their classes: ``root/cat/1.png``; needs Pillow.

    Args:
        root: The folder.
        transform: Called with each image.
        target_transform: Called with each label, the number of its folder in their order.
        loader: Reads a file; as an image of red, green and blue if None.
        is_valid_file: Says which files are images; by their suffix if None.
        allow_empty: Whether classes may have no files.

    Example:
        >>> import os
        >>> from ebb.vision import datasets
        >>> from ebb.vision.utils import save_image
        >>> os.makedirs("images/cat")
        >>> save_image(ebb.rand(3, 8, 8), "images/cat/1.png")
        >>> cats = datasets.ImageFolder("images")
        >>> len(cats), cats.class_to_idx
        (1, {'cat': 0})
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Change = None,
        target_transform: Change = None,
        loader: Callable[[str], Any] | None = None,
        is_valid_file: Accepts = None,
        allow_empty: bool = False,
    ):
        super().__init__(
            root,
            loader or default_loader,
            IMG_EXTENSIONS if is_valid_file is None else None,
            transform,
            target_transform,
            is_valid_file,
            allow_empty,
        )
        self.imgs: list[tuple[str, int]] = self.samples


class CelebA(VisionDataset):
    """Faces with 40 yes-or-no attributes, from ``root/celeba``; needs Pillow.

    Args:
        root: The folder.
        split: "train", "valid", "test" or "all".
        target_type: "attr" (attributes as 0 and 1) or "identity", or a list of these.
        transform: Called with each image.
        target_transform: Called with each target.
        download: Taken for torchvision's sake; nothing is downloaded.
    Raises:
        ValueError: If there is no such part or kind of target.
        IoError: If a file is not there.
    Example:
        >>> from pathlib import Path
        >>> from ebb.vision import datasets
        >>> folder = Path("faces/celeba")
        >>> folder.mkdir(parents=True)
        >>> def write(name, *lines):
        ...     with open(folder / name, "w") as file:
        ...         for line in lines:
        ...             print(line, file=file)
        >>> write("list_eval_partition.txt", "1.jpg 0", "2.jpg 2")
        >>> write("list_attr_celeba.txt", "2", "Smiling Young", "1.jpg -1 1", "2.jpg 1 1")
        >>> faces = datasets.CelebA("faces")
        >>> len(faces), faces.attr_names, faces.attr
        (1, ['Smiling', 'Young'], tensor([[0, 1]]))
    """

    base_folder = "celeba"
    _splits = MappingProxyType({"train": 0, "valid": 1, "test": 2, "all": None})

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str = "train",
        target_type: str | list[str] = "attr",
        transform: Change = None,
        target_transform: Change = None,
        download: bool = False,
    ):
        super().__init__(root, transform=transform, target_transform=target_transform)
        if str(split).lower() not in self._splits:
            raise _C.ValueError(f"CelebA: needs a 'split' of {list(self._splits)}, got {split!r}")
        self.split = split
        self.target_type: list[str] = (
            target_type if isinstance(target_type, list) else [target_type]
        )
        if not set(self.target_type) <= {"attr", "identity"}:
            raise _C.ValueError(
                f"CelebA: needs a 'target_type' of attr or identity, got {target_type!r}"
            )
        wanted = self._splits[split.lower()]
        part = dict(line.split() for line in self._lines("list_eval_partition.txt"))
        header, *rows = self._lines("list_attr_celeba.txt")[1:]
        self.attr_names: list[str] = header.split()
        table = {row.split()[0]: row.split()[1:] for row in rows}
        self.filename: list[str] = [
            name for name in table if wanted is None or int(part.get(name, -1)) == wanted
        ]
        values = [[int(one) for one in table[name]] for name in self.filename]
        self.attr: _C.Tensor = _C.tensor(
            (np.array(values, np.int64).reshape(len(values), -1) + 1) // 2
        )
        self.identity: _C.Tensor | None = None
        if "identity" in self.target_type:
            known = dict(line.split() for line in self._lines("identity_CelebA.txt"))
            self.identity = _C.tensor([[int(known[name])] for name in self.filename])

    def _lines(self, name: str) -> list[str]:
        path = os.path.join(self.root, self.base_folder, name)
        if not os.path.exists(path):
            raise _C.IoError(
                f"CelebA: needs {path!r}, got no such file\n"
                "hint: nothing is downloaded; put the files there"
            )
        return readers.read_lines(path)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        folder = os.path.join(self.root, self.base_folder, "img_align_celeba")
        image = default_loader(os.path.join(folder, self.filename[index]))
        kinds: dict[str, Any] = {"attr": self.attr, "identity": self.identity}
        targets = [kinds[one][index] for one in self.target_type]
        return changed(self, image, targets[0] if len(targets) == 1 else tuple(targets))

    def __len__(self) -> int:
        return len(self.filename)
