# satellites/vision/ebb/vision/models/__init__.py -- well-known networks for images.
#
# Parts have torchvision's names, so that its files of parameters fit. Nothing is downloaded:
# weights come from a file that lies where torch.hub would put it (_weights.py).
"""``resnet18`` and others: networks of images [N, 3, H, W], under torchvision's names."""

from ebb._base import naming as _naming
from ebb.vision.models import densenet, resnet, small, vgg
from ebb.vision.models.densenet import *  # noqa: F403 -- its __all__
from ebb.vision.models.resnet import *  # noqa: F403 -- its __all__
from ebb.vision.models.small import *  # noqa: F403 -- its __all__
from ebb.vision.models.vgg import *  # noqa: F403 -- its __all__

__all__ = [*densenet.__all__, *resnet.__all__, *small.__all__, *vgg.__all__]

_naming.name_module(__name__)
