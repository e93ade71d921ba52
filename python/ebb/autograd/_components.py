# python/ebb/autograd/_components.py -- tensors as rows of real numbers, for gradcheck.
"""A complex element counts as two components; rows are NumPy arrays of float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebb import _C

if TYPE_CHECKING:
    import numpy as np

    from ebb import Tensor


def wide(dtype: _C.dtype) -> _C.dtype:
    return _C.complex128 if dtype.is_complex else _C.float64


def components(tensor: Tensor) -> np.ndarray:
    """Return all components in row-major order, as a copy; those not stored are zeros."""
    import numpy as np

    dense = tensor if tensor.is_dense else tensor.to_dense()
    values = np.array(dense.detach().to(wide(tensor.dtype)).numpy(), order="C")
    return values.reshape(-1).view(np.float64)


def component_count(tensor: Tensor) -> int:
    return tensor.numel() * (2 if tensor.dtype.is_complex else 1)


def from_components(like: Tensor, components: np.ndarray) -> Tensor:
    """Return a tensor of the shape and dtype of ``like`` that holds these components."""
    import numpy as np

    kind = np.complex128 if like.dtype.is_complex else np.float64
    values = np.ascontiguousarray(components).view(kind).reshape(tuple(like.shape))
    return _C.tensor(values).to(like.dtype)


def random_direction(count: int, seed: int) -> np.ndarray:
    """Return a repeatable random vector of length 1."""
    import numpy as np

    direction = np.random.default_rng(seed).uniform(-1, 1, count)
    return direction / max(float(np.linalg.norm(direction)), 1e-300)


def addresses(tensor: Tensor) -> np.ndarray:
    """Return the address of each element."""
    import numpy as np

    total = np.full(1, tensor.data_ptr(), np.int64)
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        steps = np.arange(size, dtype=np.int64) * stride * tensor.element_size()
        total = (total[:, None] + steps).reshape(-1)
    return total
