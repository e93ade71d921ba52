# satellites/vision/ebb/vision/datasets/__init__.py -- well-known sets of images, read from local
# files.
#
# known.py has sets of one or a few files, folders.py and listed.py those of many, base.py what
# they share, utils.py what programs ask of files. Each lies where torchvision puts it; nothing is
# downloaded.
"""Sets of images; samples are pairs of an image and its target, mostly the number of its class."""

from ebb._base import naming as _naming
from ebb.vision.datasets import base, folders, known, listed, utils
from ebb.vision.datasets.base import *  # noqa: F403 -- its __all__
from ebb.vision.datasets.folders import *  # noqa: F403 -- its __all__
from ebb.vision.datasets.known import *  # noqa: F403 -- its __all__
from ebb.vision.datasets.listed import *  # noqa: F403 -- its __all__

__all__ = [*base.__all__, *folders.__all__, *known.__all__, *listed.__all__, "utils"]

_naming.name_module(__name__)
