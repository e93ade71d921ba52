# python/ebb/autograd/_gradcheck_report.py -- what gradcheck says when derivatives disagree.
#
# One line for machines and tests (which derivative, first wrong element), then the worst element
# and a map of the Jacobian, since which elements are wrong often tells what is wrong.
"""Texts of GradcheckError."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from ebb import Tensor

MAP_SIZE = 24  # rows and columns shown


class Comparison(NamedTuple):
    """Two Jacobians of one output and one input: a row per component of the output."""

    analytical: np.ndarray
    numerical: np.ndarray
    atol: float
    rtol: float

    def wrong(self) -> np.ndarray:
        """Where they disagree. Written so that NaN does."""
        tolerance = self.atol + self.rtol * abs(self.numerical)
        return ~(abs(self.analytical - self.numerical) <= tolerance)


def place(tensor: Tensor, component: int) -> str:
    """Return the index of a component, and which part of a complex number it is."""
    import numpy as np

    parts = 2 if tensor.dtype.is_complex else 1
    position = np.unravel_index(component // parts, tuple(tensor.shape) or (1,))
    text = str([int(one) for one in position[: tensor.ndim]])
    return text if parts == 1 else f"{text} ({'imaginary' if component % 2 else 'real'} part)"


def explain(comparison: Comparison, out: Tensor, value: Tensor) -> str:
    """Return where two Jacobians disagree: the first element, the worst one, and a map."""
    import numpy as np

    wrong = comparison.wrong()
    rows, columns = np.nonzero(wrong)
    first = (int(rows[0]), int(columns[0]))
    off = np.where(wrong, abs(comparison.analytical - comparison.numerical), -1.0)
    off = np.where(np.isnan(off), np.inf, off)
    worst = tuple(int(one) for one in np.unravel_index(int(off.argmax()), off.shape))
    lines = [_element(comparison, first, out, value)]
    if worst != first:
        lines.append(f"worst: {_element(comparison, worst, out, value)}")
    lines.append(f"wrong: {len(rows)} of {wrong.size} elements")
    if wrong.size > 1:
        lines += ["rows: output, columns: input, #: wrong", *_map(wrong)]
    return "\n".join(lines)


def _element(comparison: Comparison, position: tuple[int, ...], out: Tensor, value: Tensor) -> str:
    row, column = position
    return (
        f"analytical {comparison.analytical[row, column]:.9g} and numerical "
        f"{comparison.numerical[row, column]:.9g} at {place(value, column)} of the input and "
        f"{place(out, row)} of the output"
    )


def _map(wrong: np.ndarray) -> list[str]:
    lines = []
    for row in wrong[:MAP_SIZE]:
        cells = "".join("#" if one else "." for one in row[:MAP_SIZE])
        lines.append("  " + cells + ("..." if len(row) > MAP_SIZE else ""))
    return [*lines, "  ..."] if len(wrong) > MAP_SIZE else lines
