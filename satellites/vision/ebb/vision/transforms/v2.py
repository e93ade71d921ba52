# satellites/vision/ebb/vision/transforms/v2.py -- torchvision's second module of transforms, for
# images.
#
# Boxes, masks and videos are not told from images here: each call changes one image.
"""The transforms under ``torchvision.transforms.v2``, with its two new names for what is one image.

>>> from ebb.vision.transforms import v2
>>> import numpy as np
>>> change = v2.Compose([v2.ToImage(), v2.ToDtype(ebb.float32, scale=True)])
>>> change(np.full((1, 2, 1), 255, np.uint8))
tensor([[[1., 1.]]])
"""

from __future__ import annotations

from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb.vision.transforms import functional, transforms
from ebb.vision.transforms.drawn import *  # noqa: F403 -- its __all__
from ebb.vision.transforms.fixed import *  # noqa: F403 -- its __all__
from ebb.vision.transforms.fixed import Transform
from ebb.vision.transforms.functional import InterpolationMode as InterpolationMode

__all__ = ["InterpolationMode", "ToDtype", "ToImage", "functional", *transforms.__all__]


class ToImage(Transform):
    """Make a tensor of channels, rows and columns, its values unchanged; tensors stay.

    Example:
        >>> import numpy as np
        >>> from ebb.vision.transforms import v2
        >>> v2.ToImage()(np.full((2, 2, 3), 255, np.uint8)).shape
        ebb.Size([3, 2, 2])
    """

    def forward(self, img: Any) -> Tensor:
        """Return what becomes of one image."""
        return img if isinstance(img, Tensor) else functional.pil_to_tensor(img)


class ToDtype(Transform):
    """Change the dtype of a tensor.

    Args:
        dtype: The new one.
        scale: Whether full brightness stays full, as in ``ConvertImageDtype``.

    Example:
        >>> from ebb.vision.transforms import v2
        >>> image = ebb.tensor([[[0, 255]]], dtype=ebb.uint8)
        >>> v2.ToDtype(ebb.float32, scale=True)(image)
        tensor([[[0., 1.]]])
    """

    _shown = ("dtype", "scale")

    def __init__(self, dtype: _C.dtype, scale: bool = False):
        super().__init__()
        self.dtype = dtype
        self.scale = scale

    def forward(self, img: Tensor) -> Tensor:
        """Return what becomes of one image."""
        if self.scale:
            return functional.convert_image_dtype(img, self.dtype)
        return img.to(self.dtype)
