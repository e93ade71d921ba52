# satellites/vision/ebb/vision/transforms/transforms.py -- all classes of transforms in one module.
"""Classes of transforms, for ``from torchvision.transforms.transforms import ...``."""

from ebb.vision.transforms import drawn, fixed
from ebb.vision.transforms.drawn import *  # noqa: F403 -- its __all__
from ebb.vision.transforms.fixed import *  # noqa: F403 -- its __all__

__all__ = [*drawn.__all__, *fixed.__all__]
