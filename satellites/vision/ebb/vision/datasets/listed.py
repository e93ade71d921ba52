# satellites/vision/ebb/vision/datasets/listed.py -- images in folders that a file beside them tells
# of.
"""``ImageNet``, ``CocoDetection`` and ``CocoCaptions``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

from ebb import _C
from ebb.io.files import load
from ebb.io.reading import opened
from ebb.vision.datasets.base import Change, VisionDataset
from ebb.vision.datasets.folders import ImageFolder, default_loader

__all__ = ["CocoCaptions", "CocoDetection", "ImageNet"]


class ImageNet(ImageFolder):
    """Photographs in folders named by WordNet's numbers, ``root/train/n01440764/1.JPEG``.

    ``root/meta.bin``, which torchvision writes, names the classes; without it the folders do.
    Needs Pillow.

    Args:
        root: The folder.
        split: "train" or "val"; the images of both lie in folders of their classes.
        **options: Of ``ImageFolder``.
    Raises:
        ValueError: If there is no such part, no image, or ``meta.bin`` holds something else.
        IoError: If the folder is not there.
    Example:
        >>> import os
        >>> from ebb.vision import datasets
        >>> from ebb.vision.utils import save_image
        >>> os.makedirs("imagenet/val/n01440764")
        >>> save_image(ebb.rand(3, 8, 8), "imagenet/val/n01440764/1.png")
        >>> ebb.save(({"n01440764": ("tench", "Tinca tinca")}, ["n01440764"]), "imagenet/meta.bin")
        >>> fish = datasets.ImageNet("imagenet", split="val")
        >>> len(fish), fish.wnids, fish.classes, fish.class_to_idx["Tinca tinca"]
        (1, ['n01440764'], [('tench', 'Tinca tinca')], 0)
    """

    splits: tuple[str, ...] = ("train", "val")

    def __init__(self, root: str | os.PathLike[str], split: str = "train", **options: Any):
        if split not in self.splits:
            raise _C.ValueError(f"ImageNet: needs a 'split' of train or val, got {split!r}")
        top = os.fspath(root)
        folder = os.path.join(top, split)
        if not os.path.isdir(folder):
            raise _C.IoError(
                f"ImageNet: needs the folder {folder!r}, got none\n"
                "hint: nothing is downloaded or unpacked; put a folder of images per class there"
            )
        super().__init__(folder, **options)
        self.split = split
        self.split_folder: str = folder
        self.root = top
        self.wnids: list[Any] = self.classes
        self.wnid_to_idx: dict[str, int] = self.class_to_idx
        names = _names_of(os.path.join(top, "meta.bin"))
        self.classes: list[Any] = [names.get(one, (one,)) for one in self.wnids]
        self.class_to_idx = {
            name: number for number, several in enumerate(self.classes) for name in several
        }


def _names_of(path: str) -> dict[str, tuple[str, ...]]:
    """Return the names of each of WordNet's numbers that a file has; none if it is not there."""
    if not os.path.exists(path):
        return {}
    found = load(path)
    names = found[0] if isinstance(found, tuple | list) and found else None
    if not isinstance(names, dict) or not all(isinstance(one, tuple) for one in names.values()):
        raise _C.ValueError(f"ImageNet: needs names of classes in {path!r}, got something else")
    return names


class CocoIndex:
    """The images and annotations of a file in COCO's format, under pycocotools' names.

    Args:
        annotation_file: Its path.
        name: Who reads it, for errors.
    Raises:
        ValueError: If it is not in this format.
        IoError: If it is not there.
    """

    def __init__(self, annotation_file: str | os.PathLike[str], name: str = "CocoIndex"):
        path = os.fspath(annotation_file)
        if not os.path.exists(path):
            raise _C.IoError(
                f"{name}: needs {path!r}, got no such file\n"
                "hint: nothing is downloaded; put the files there"
            )
        self.dataset: dict[str, Any] = _read_json(name, path)
        try:
            self.imgs: dict[Any, Any] = {one["id"]: one for one in self.dataset["images"]}
            self.cats: dict[Any, Any] = {
                one["id"]: one for one in self.dataset.get("categories", [])
            }
            self.anns: dict[Any, Any] = {
                one["id"]: one for one in self.dataset.get("annotations", [])
            }
            self.imgToAnns: dict[Any, list[Any]] = {number: [] for number in self.imgs}
            for one in self.anns.values():
                self.imgToAnns.setdefault(one["image_id"], []).append(one)
        except (KeyError, TypeError, AttributeError) as error:
            raise _C.ValueError(
                f"{name}: needs lists of 'images' and 'annotations' in {path!r}, got a "
                f"file without: {error}"
            ) from None

    def getImgIds(self) -> list[Any]:  # noqa: N802 -- pycocotools' name, as those below
        """Return the numbers of the images, as the file has them."""
        return list(self.imgs)

    def getCatIds(self) -> list[Any]:  # noqa: N802
        """Return the numbers of the kinds of things."""
        return list(self.cats)

    def getAnnIds(self, imgIds: Any = ()) -> list[Any]:  # noqa: N802, N803
        """Return the numbers of the annotations of some images, of all if none are named."""
        numbers = _listed(imgIds) or self.imgToAnns
        return [one["id"] for number in numbers for one in self.imgToAnns.get(number, [])]

    def loadImgs(self, ids: Any = ()) -> list[Any]:  # noqa: N802
        """Return what the file says of some images."""
        return [self.imgs[one] for one in _listed(ids)]

    def loadCats(self, ids: Any = ()) -> list[Any]:  # noqa: N802
        """Return what the file says of some kinds of things."""
        return [self.cats[one] for one in _listed(ids)]

    def loadAnns(self, ids: Any = ()) -> list[Any]:  # noqa: N802
        """Return some annotations."""
        return [self.anns[one] for one in _listed(ids)]


def _listed(numbers: Any) -> list[Any]:
    is_many = isinstance(numbers, Iterable) and not isinstance(numbers, str)
    return list(numbers) if is_many else [numbers]


def _read_json(name: str, path: str) -> Any:
    with opened(name, path) as file:
        try:
            return json.loads(file.read())
        except (ValueError, RecursionError) as error:
            raise _C.ValueError(f"{name}: needs JSON, got {path!r}: {error}") from None


class CocoDetection(VisionDataset):
    """Photographs with what is in them, from a file in COCO's format; needs Pillow.

    Targets are the image's annotations, dicts such as ``{"bbox": [x, y, w, h], "category_id": 3}``.

    Args:
        root: The folder of the images.
        annFile: The file that tells of them.
        transform: Called with each image.
        target_transform: Called with each list of annotations.
        transforms: Called with both; instead of the other two.
    Raises:
        ValueError: If the file is not in this format.
        IoError: If it is not there.
    Example:
        >>> import json
        >>> from pathlib import Path
        >>> from ebb.vision import datasets
        >>> boxes = [{"id": 7, "image_id": 4, "bbox": [0, 0, 2, 3], "category_id": 1}]
        >>> told = {"images": [{"id": 4, "file_name": "a.png"}], "annotations": boxes}
        >>> _ = Path("instances.json").write_text(json.dumps(told))
        >>> photos = datasets.CocoDetection(".", "instances.json", transform=str)
        >>> len(photos), photos.ids, photos.coco.loadAnns(7)[0]["bbox"]
        (1, [4], [0, 0, 2, 3])
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        annFile: str | os.PathLike[str],  # noqa: N803 -- torchvision's name
        transform: Change = None,
        target_transform: Change = None,
        transforms: Callable[[Any, Any], Any] | None = None,
    ):
        super().__init__(root, transforms, transform, target_transform)
        self.coco: CocoIndex = CocoIndex(annFile, type(self).__name__)
        self.ids: list[Any] = sorted(self.coco.imgs)

    def _load_image(self, id: Any) -> Any:
        return default_loader(os.path.join(self.root, self.coco.imgs[id]["file_name"]))

    def _load_target(self, id: Any) -> list[Any]:
        return list(self.coco.imgToAnns[id])

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        number = self.ids[index]
        return self.transforms(self._load_image(number), self._load_target(number))

    def __len__(self) -> int:
        return len(self.ids)


class CocoCaptions(CocoDetection):
    """The same photographs; targets are lists of sentences on them.

    Example:
        >>> import json
        >>> from pathlib import Path
        >>> from ebb.vision import datasets
        >>> said = [{"id": 1, "image_id": 4, "caption": "a tench"}]
        >>> told = {"images": [{"id": 4, "file_name": "a.png"}], "annotations": said}
        >>> _ = Path("captions.json").write_text(json.dumps(told))
        >>> datasets.CocoCaptions(".", "captions.json")._load_target(4)
        ['a tench']
    """

    def _load_target(self, id: Any) -> list[Any]:
        return [one["caption"] for one in super()._load_target(id)]
