# python/ebb/optim/line_search.py -- a step length that meets the strong Wolfe conditions.
#
# Nocedal and Wright, Numerical Optimization (2006), algorithms 3.5 and 3.6: a bracket is found by
# growing steps, then narrowed by cubic interpolation kept away from its ends.
"""The line search of LBFGS."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ebb._C import Tensor

ENOUGH_DECREASE = 1e-4  # c1: of the loss, as a share of what the slope promises
ENOUGH_CURVATURE = 0.9  # c2: the slope's size, as a share of that at the start


class Point(NamedTuple):
    """Where a line was looked at."""

    t: float
    loss: float
    slope: float  # along the line
    grad: Tensor


def cubic_minimum(a: Point, b: Point, bounds: tuple[float, float] | None = None) -> float:
    """Return where the cubic through two points with their slopes is least, within bounds."""
    if a.t > b.t:
        a, b = b, a
    low, high = bounds if bounds is not None else (a.t, b.t)
    one = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = one * one - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    root = math.sqrt(square)
    divisor = b.slope - a.slope + 2 * root
    if divisor == 0:
        return (low + high) / 2
    return min(max(b.t - (b.t - a.t) * ((b.slope + root - one) / divisor), low), high)


class WolfeSearch:
    """One search from ``start`` along a line.

    Args:
        look: Returns the point at a step length.
        start: The point at 0.
        size: The largest element of the direction.
        tolerance: The smallest change of an element worth a step.
        most: How often to look again after the first time.
    """

    def __init__(
        self, look: Callable[[float], Point], start: Point, size: float, tolerance: float, most: int
    ):
        self._look = look
        self._start = start
        self._size = size
        self._tolerance = tolerance
        self._most = most
        self.evaluations: int = 0

    def run(self, t: float) -> Point:
        """Return a point that meets the conditions, or the best that was found."""
        before, now = self._start, self._at(t)
        for number in range(self._most):
            if not self._falls(now) or (number > 0 and now.loss >= before.loss):
                return self._zoom(before, now, number)
            if self._is_flat(now):
                return now
            if now.slope >= 0:
                return self._zoom(before, now, number)
            bounds = (now.t + 0.01 * (now.t - before.t), now.t * 10)
            before, now = now, self._at(cubic_minimum(before, now, bounds))
        return now if now.loss < self._start.loss else self._start

    def _at(self, t: float) -> Point:
        self.evaluations += 1
        return self._look(t)

    def _falls(self, point: Point) -> bool:
        promised = ENOUGH_DECREASE * point.t * self._start.slope
        return point.loss <= self._start.loss + promised

    def _is_flat(self, point: Point) -> bool:
        return abs(point.slope) <= -ENOUGH_CURVATURE * self._start.slope

    def _zoom(self, a: Point, b: Point, steps: int) -> Point:
        low, high = (a, b) if a.loss <= b.loss else (b, a)
        was_near_end = False
        for _ in range(steps, self._most):
            first, last = min(low.t, high.t), max(low.t, high.t)
            if (last - first) * self._size < self._tolerance:
                break
            t = cubic_minimum(low, high)
            margin = 0.1 * (last - first)
            is_near_end = min(last - t, t - first) < margin
            if is_near_end and (was_near_end or not first < t < last):
                t = last - margin if abs(t - last) < abs(t - first) else first + margin
                is_near_end = False
            was_near_end = is_near_end
            now = self._at(t)
            if not self._falls(now) or now.loss >= low.loss:
                high = now
                low, high = (low, high) if low.loss <= high.loss else (high, low)
                continue
            if self._is_flat(now):
                return now
            if now.slope * (high.t - low.t) >= 0:
                high = low
            low = now
        return low
