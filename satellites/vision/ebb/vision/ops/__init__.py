# satellites/vision/ebb/vision/ops/__init__.py -- boxes around things, and layers of networks for
# images.
"""``box_iou``, ``nms``, ``FrozenBatchNorm2d`` and others, under torchvision's names."""

from ebb._base import naming as _naming
from ebb.vision.ops import boxes, focal_loss, misc
from ebb.vision.ops.boxes import *  # noqa: F403 -- its __all__
from ebb.vision.ops.focal_loss import *  # noqa: F403 -- its __all__
from ebb.vision.ops.misc import *  # noqa: F403 -- its __all__

__all__ = [*boxes.__all__, *focal_loss.__all__, *misc.__all__]

_naming.name_module(__name__)
