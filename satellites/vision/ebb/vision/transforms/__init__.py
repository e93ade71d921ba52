# satellites/vision/ebb/vision/transforms/__init__.py -- what is done to images before and while
# training.
#
# functional.py has the functions, of which _colours.py and _warps.py have two families; fixed.py,
# drawn.py and sometimes.py have the classes over them, gathered in transforms.py as torchvision
# has it.
"""Transforms, under torchvision's names.

Each takes an image of Pillow, an array of rows, columns and channels, or a tensor of channels, rows
and columns, and gives back its like; ``ToTensor`` makes tensors. Random ones draw from ebb.

>>> from ebb.vision import transforms
>>> change = transforms.Compose([transforms.CenterCrop(2), transforms.Grayscale()])
>>> change(ebb.ones(3, 4, 4)).shape
ebb.Size([1, 2, 2])
"""

from ebb.vision.transforms import functional, transforms
from ebb.vision.transforms.drawn import *  # noqa: F403 -- its __all__
from ebb.vision.transforms.fixed import *  # noqa: F403 -- its __all__
from ebb.vision.transforms.functional import InterpolationMode

__all__ = ["InterpolationMode", "functional", *transforms.__all__]
