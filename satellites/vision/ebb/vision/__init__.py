# satellites/vision/ebb/vision/__init__.py -- well-known sets of images, and what is done to images.
"""``datasets``, ``models``, ``ops``, ``transforms`` and ``utils``, under torchvision's names.

They are imported when they are first used.

Images are those of Pillow if it is installed, else NumPy arrays of rows, columns and channels.
"""

import sys as _sys

from ebb._base import naming as _naming
from ebb._imports import check_version as _check_version

_check_version(__name__)

from ebb.vision import datasets, models, ops, transforms, utils

__all__ = ["datasets", "models", "ops", "transforms", "utils"]

for _name in sorted(name for name in _sys.modules if name.startswith(__name__)):
    _naming.name_module(_name)
