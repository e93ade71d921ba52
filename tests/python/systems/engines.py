# tests/python/systems/engines.py -- a call for each engine that ops run on, and what it gives.
"""One call for each engine."""

from __future__ import annotations

from collections.abc import Callable

import ebb

F = ebb.nn.functional


def branches() -> ebb.Tensor:
    """Differentiate a graph whose branches several threads run."""
    leaves = [ebb.full((400,), 0.5, requires_grad=True) for _ in range(6)]
    total = 0.0
    for leaf in leaves:
        value = leaf
        for _ in range(60):
            value = (value * 1.01).sin()
        total = total + value.sum()
    total.backward()
    return ebb.stack([leaf.grad for leaf in leaves])


def network() -> ebb.Tensor:
    """Differentiate products, convolutions and a norm."""
    ebb.manual_seed(0)
    x = ebb.randn(8, 4, 24, 24)
    filters = ebb.randn(16, 4, 3, 3, requires_grad=True)
    weight = ebb.randn(16 * 22 * 22, 30, requires_grad=True)
    y = F.layer_norm(ebb.conv2d(x, filters).flatten(1) @ weight, [30])
    y.square().sum().backward()
    return ebb.cat([filters.grad.flatten(), weight.grad.flatten()])


def engines() -> dict[str, Callable[[], ebb.Tensor]]:
    """Return the calls by what runs them."""
    ebb.manual_seed(0)
    square, batch = ebb.randn(300, 300), ebb.randn(20, 110, 110)
    long, images, filters = ebb.randn(1 << 18), ebb.randn(2, 8, 20, 20), ebb.randn(8, 8, 3, 3)
    spd = square @ square.t() + 300 * ebb.eye(300)
    return {
        "oneDNN": lambda: square @ square,
        "oneDNN, by a vector": lambda: square @ square[0],
        "oneDNN, a batch": lambda: batch @ batch,
        "bfloat16": lambda: square.bfloat16() @ square.bfloat16(),
        "float16": lambda: square.half() @ square.half(),
        "OpenBLAS": lambda: square.double() @ square.double(),
        "OpenBLAS, small": lambda: square[:8, :8] @ square[:8, :8],
        "LAPACK": lambda: ebb.linalg.eigvalsh(spd[:90, :90]),
        "LU": lambda: ebb.linalg.solve(spd, square),
        "a convolution": lambda: ebb.conv2d(images, filters),
        "pointwise, threads": lambda: long.exp() * 0.5,
        "a sum, threads": lambda: long.sum(),
        "a sort": lambda: long.sort()[0],
        "FFT": lambda: ebb.fft.rfft(long).abs(),
        "attention": lambda: F.scaled_dot_product_attention(batch, batch, batch),
        "branches": branches,
        "a network": network,
    }
