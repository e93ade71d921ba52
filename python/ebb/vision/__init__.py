# python/ebb/vision/__init__.py -- well-known sets of images, and what is done to images.
"""``datasets``, ``models``, ``transforms`` and ``utils``, under torchvision's names.

They are imported when they are first used.

Images are those of Pillow if it is installed, else NumPy arrays of rows, columns and channels.
"""

from ebb._base import naming as _naming
from ebb.vision import datasets, models, transforms, utils

__all__ = ["datasets", "models", "transforms", "utils"]

_PARTS = (
    *("", ".datasets", ".datasets.base", ".datasets.folders", ".datasets.known", ".datasets.utils"),
    *(".transforms", ".transforms.drawn", ".transforms.fixed", ".transforms.functional"),
)
for _name in _PARTS:
    _naming.name_module(__name__ + _name)
