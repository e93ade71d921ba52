# satellites/vision/ebb/vision/transforms/fixed.py -- transforms that do the same to every image, as
# classes.
#
# Each keeps its numbers and calls the function of functional.py.
"""Classes of transforms without draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ebb import _C
from ebb._base.arguments import check_callable
from ebb._C import Tensor
from ebb.nn.module import Module
from ebb.vision.transforms import functional
from ebb.vision.transforms._images import pair
from ebb.vision.transforms._interpolation import InterpolationMode

__all__ = [
    "CenterCrop",
    "Compose",
    "ConvertImageDtype",
    "FiveCrop",
    "Grayscale",
    "Lambda",
    "LinearTransformation",
    "Normalize",
    "PILToTensor",
    "Pad",
    "Resize",
    "TenCrop",
    "ToPILImage",
    "ToTensor",
]


class Transform(Module):
    """Base: a module, for ``nn.Sequential``, that shows the numbers it was given."""

    _shown: tuple[str, ...] = ()

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)
        return f"{type(self).__name__}({inner})"


class Compose:
    """Several transforms, one after the other.

    Example:
        >>> from ebb.vision import transforms
        >>> change = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.5, 0.5)])
        >>> import numpy as np
        >>> change(np.full((1, 2, 1), 255, np.uint8))
        tensor([[[1., 1.]]])
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]):
        self.transforms: list[Callable[[Any], Any]] = list(transforms)
        check_callable(*self.transforms)

    def __call__(self, img: Any) -> Any:
        """Return what becomes of one image."""
        for change in self.transforms:
            img = change(img)
        return img

    def __repr__(self) -> str:
        inner = "".join(f"\n    {change}" for change in self.transforms)
        return f"{type(self).__name__}({inner}\n)"


class Lambda(Transform):
    """A function as a transform.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.Lambda(lambda image: image * 2)(ebb.ones(1, 1, 2))
        tensor([[[2., 2.]]])
    """

    def __init__(self, lambd: Callable[[Any], Any]):
        super().__init__()
        check_callable(lambd)
        self.lambd = lambd

    def forward(self, img: Any) -> Any:
        """Return what becomes of one image."""
        return self.lambd(img)


class ToTensor(Transform):
    """Make a tensor of channels, rows and columns; bytes become floats from 0 to 1.

    Example:
        >>> import numpy as np
        >>> from ebb.vision import transforms
        >>> transforms.ToTensor()(np.full((2, 2, 3), 255, np.uint8)).shape
        ebb.Size([3, 2, 2])
    """

    def forward(self, pic: Any) -> Tensor:
        """Return what becomes of one image."""
        return functional.to_tensor(pic)


class PILToTensor(Transform):
    """Make a tensor of channels, rows and columns, its values unchanged.

    Example:
        >>> import numpy as np
        >>> from ebb.vision import transforms
        >>> transforms.PILToTensor()(np.full((1, 2, 1), 255, np.uint8)).tolist()
        [[[255, 255]]]
    """

    def forward(self, pic: Any) -> Tensor:
        """Return what becomes of one image."""
        return functional.pil_to_tensor(pic)


class ToPILImage(Transform):
    """Make an image of a tensor or array; see ``functional.to_pil_image``.

    Example:
        >>> import numpy as np
        >>> from ebb.vision import transforms
        >>> np.asarray(transforms.ToPILImage()(ebb.ones(3, 2, 4))).shape
        (2, 4, 3)
    """

    _shown = ("mode",)

    def __init__(self, mode: str | None = None):
        super().__init__()
        self.mode = mode

    def forward(self, pic: Any) -> Any:
        """Return what becomes of one image."""
        return functional.to_pil_image(pic, self.mode)


class ConvertImageDtype(Transform):
    """Change the dtype of a tensor, full brightness staying full.

    Example:
        >>> from ebb.vision import transforms
        >>> image = ebb.tensor([[[0, 255]]], dtype=ebb.uint8)
        >>> transforms.ConvertImageDtype(ebb.float32)(image)
        tensor([[[0., 1.]]])
    """

    _shown = ("dtype",)

    def __init__(self, dtype: _C.dtype):
        super().__init__()
        self.dtype = dtype

    def forward(self, image: Tensor) -> Tensor:
        """Return what becomes of one image."""
        return functional.convert_image_dtype(image, self.dtype)


class Normalize(Transform):
    """Subtract a mean and divide by a deviation, one of each per channel.

    Args:
        mean, std: Numbers, or one for all channels.
        inplace: Write into the tensor.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.Normalize(mean=0.5, std=0.5)(ebb.tensor([[[0.0, 1.0]]]))
        tensor([[[-1.,  1.]]])
    """

    _shown = ("mean", "std")

    def __init__(self, mean: Any, std: Any, inplace: bool = False):
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def forward(self, tensor: Tensor) -> Tensor:
        """Return what becomes of one image."""
        return functional.normalize(tensor, self.mean, self.std, self.inplace)


class Pad(Transform):
    """Put a border around an image; see ``functional.pad``.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.Pad(1)(ebb.ones(1, 1, 1))
        tensor([[[0., 0., 0.],
                 [0., 1., 0.],
                 [0., 0., 0.]]])
    """

    _shown = ("padding", "fill", "padding_mode")

    def __init__(
        self, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant"
    ):  # fmt: skip
        super().__init__()
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def forward(self, img: Any) -> Any:
        """Return what becomes of one image."""
        return functional.pad(img, self.padding, self.fill, self.padding_mode)


class CenterCrop(Transform):
    """Cut a part of the given size out of the middle; smaller images get a border.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.CenterCrop(2)(ebb.ones(3, 4, 4)).shape
        ebb.Size([3, 2, 2])
    """

    _shown = ("size",)

    def __init__(self, size: int | Sequence[int]):
        super().__init__()
        self.size: tuple[int, int] = pair(size)

    def forward(self, img: Any) -> Any:
        """Return what becomes of one image."""
        return functional.center_crop(img, self.size)


class FiveCrop(Transform):
    """Cut the four corners and the middle out of an image; gives a tuple.

    Example:
        >>> from ebb.vision import transforms
        >>> [part.item() for part in transforms.FiveCrop(1)(ebb.arange(9.0).reshape(1, 3, 3))]
        [0.0, 2.0, 6.0, 8.0, 4.0]
    """

    _shown = ("size",)

    def __init__(self, size: int | Sequence[int]):
        super().__init__()
        self.size: tuple[int, int] = pair(size)

    def forward(self, img: Any) -> tuple[Any, ...]:
        """Return what becomes of one image."""
        return functional.five_crop(img, self.size)


class TenCrop(FiveCrop):
    """Do so with the mirror image too.

    Args:
        size: Rows and columns, or one number for both.
        vertical_flip: Whether top and bottom are exchanged, not left and right.

    Example:
        >>> from ebb.vision import transforms
        >>> len(transforms.TenCrop(2)(ebb.ones(3, 4, 4)))
        10
    """

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False):
        super().__init__(size)
        self.vertical_flip = vertical_flip

    def forward(self, img: Any) -> tuple[Any, ...]:
        """Return what becomes of one image."""
        return functional.ten_crop(img, self.size, self.vertical_flip)


class Grayscale(Transform):
    """Make an image grey, of one channel or of three alike.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.Grayscale()(ebb.ones(3, 2, 2)).shape
        ebb.Size([1, 2, 2])
    """

    _shown = ("num_output_channels",)

    def __init__(self, num_output_channels: int = 1):
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Any) -> Any:
        """Return what becomes of one image."""
        return functional.rgb_to_grayscale(img, self.num_output_channels)


class Resize(Transform):
    """Give an image other sizes, by interpolation without gaps (antialiased).

    Args:
        size: Rows and columns; or one number, for the shorter side.
        interpolation: An ``InterpolationMode``, or Pillow's number of it.
        max_size: The longer side gets no longer than this, where ``size`` is one number.
        antialias: Whether every pixel of a larger image counts; images of Pillow's always do.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.Resize((2, 6))(ebb.ones(3, 4, 4)).shape
        ebb.Size([3, 2, 6])
        >>> transforms.Resize(2)(ebb.ones(3, 4, 8)).shape  # the shorter side
        ebb.Size([3, 2, 4])
    """

    _shown = ("size", "interpolation", "max_size", "antialias")

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: Any = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ):
        super().__init__()
        self.size = size
        self.interpolation: InterpolationMode = InterpolationMode.of("Resize", interpolation)
        self.max_size = max_size
        self.antialias = antialias

    def forward(self, img: Any) -> Any:
        """Return what becomes of one image."""
        return functional.resize(
            img, self.size, self.interpolation, self.max_size, self.antialias
        )  # fmt: skip


class LinearTransformation(Transform):
    """Take a tensor, written as one row, through a matrix: whitening.

    Args:
        transformation_matrix: [D, D], D being the product of the image's sizes.
        mean_vector: [D], subtracted first.
    Raises:
        ShapeError: If the sizes do not fit.
    Example:
        >>> from ebb.vision import transforms
        >>> change = transforms.LinearTransformation(2 * ebb.eye(2), ebb.ones(2))
        >>> change(ebb.tensor([[[3.0, 4.0]]]))
        tensor([[[4., 6.]]])
    """

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor):
        super().__init__()
        size = transformation_matrix.shape[0]
        if list(transformation_matrix.shape) != [size, size] or len(mean_vector) != size:
            raise _C.ShapeError(
                "LinearTransformation: needs a square matrix and a mean of its size, got "
                f"{list(transformation_matrix.shape)} and {list(mean_vector.shape)}"
            )
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def forward(self, tensor: Tensor) -> Tensor:
        """Return what becomes of one image."""
        size = self.transformation_matrix.shape[0]
        if math.prod(tensor.shape[-3:]) != size:
            raise _C.ShapeError(
                f"LinearTransformation: needs images of {size} values, got {list(tensor.shape)}"
            )
        rows = tensor.reshape(-1, size) - self.mean_vector
        return (rows @ self.transformation_matrix).reshape(tensor.shape)
