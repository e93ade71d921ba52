# python/ebb/utils/gradient_flow.py -- norms of gradients by parameter and step: table and picture.
"""``GradientFlow``: where gradients vanish, explode, or never arrive."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from os import PathLike

from ebb import Tensor
from ebb._base.svg import clean, document, element
from ebb.errors import DTypeError, ValueError
from ebb.io.writing import write_text
from ebb.nn import Module
from ebb.utils.gradient_state import MISSING, NOT_FINITE, ZERO as STATE_ZERO, norm_of, state_of

CELL, ROW, LABEL, TOP, LEGEND = 14, 16, 8, 56, 44
NOTHING, ZERO, BAD = "#e4e4e4", "#8a8a8a", "#d01c8b"
SCALE = ("#2c1e5c", "#2f5597", "#2a9d8f", "#8ab17d", "#e9c46a", "#f4a261", "#e76f51")
MOST_COLUMNS = 96


class GradientFlow:
    """Notes the norm of each parameter's gradient, step by step.

    Call ``record()`` after each ``backward()``, before gradients are cleared. ``print(flow)`` shows
    a table, ``write_svg`` a picture with one row per parameter and one column per step.

    Args:
        parameters: A module, a dict of tensors by name, or pairs of names and tensors, such as
            ``model.named_parameters()``.

    Raises:
        ValueError: If there is no parameter.
        TypeError: If one is no tensor.

    Example:
        >>> model = ebb.nn.Linear(2, 1, bias=False)
        >>> flow = ebb.utils.GradientFlow(model)
        >>> model(ebb.tensor([[3.0, 4.0]])).sum().backward()
        >>> flow.record()
        >>> flow.norms, flow.unused()
        ({'weight': [5.0]}, [])
    """

    def __init__(
        self, parameters: Module | Mapping[str, Tensor] | Iterable[tuple[str, Tensor]]
    ) -> None:
        if isinstance(parameters, Module):
            parameters = parameters.named_parameters()
        elif isinstance(parameters, Mapping):
            parameters = parameters.items()
        self._parameters = dict(parameters)
        if not self._parameters:
            raise ValueError("GradientFlow: needs at least one parameter, got none")
        for name, parameter in self._parameters.items():
            if not isinstance(parameter, Tensor):
                raise DTypeError(
                    f"GradientFlow: needs tensors, got {type(parameter).__name__} for {name!r}"
                )
        self._norms: dict[str, list[float | None]] = {name: [] for name in self._parameters}

    @property
    def norms(self) -> dict[str, list[float | None]]:
        """The 2-norm of each parameter's gradient at each step; None where it had no gradient."""
        return {name: list(values) for name, values in self._norms.items()}

    @property
    def steps(self) -> int:
        """How many times ``record()`` was called."""
        return len(next(iter(self._norms.values())))

    def record(self) -> None:
        """Note the norms of the gradients that the parameters have now."""
        found = {}
        for name, parameter in self._parameters.items():
            found[name] = norm_of(parameter.grad)
        for name, norm in found.items():
            self._norms[name].append(norm)

    def unused(self) -> list[str]:
        """Names of parameters at which no gradient arrived at any step."""
        return self._names_where({MISSING})

    def zero(self) -> list[str]:
        """Names of parameters whose gradient was there at some step, and always zero."""
        unused = set(self.unused())
        return [name for name in self._names_where({MISSING, STATE_ZERO}) if name not in unused]

    def zero_from(self) -> dict[str, int]:
        """The step, from 0, from which on a gradient was zero to the end, though not before."""
        found = {}
        for name, values in self._norms.items():
            steps = len(values)
            while steps > 0 and state_of(values[steps - 1]) == STATE_ZERO:
                steps -= 1
            was_not = any(state_of(norm) not in (MISSING, STATE_ZERO) for norm in values[:steps])
            if steps < len(values) and was_not:
                found[name] = steps
        return found

    def non_finite(self) -> dict[str, int]:
        """The first step, from 0, at which a gradient held NaN or infinity, by parameter."""
        found = {}
        for name, values in self._norms.items():
            for step, norm in enumerate(values):
                if state_of(norm) == NOT_FINITE:
                    found[name] = step
                    break
        return found

    def _names_where(self, states: set[str]) -> list[str]:
        if self.steps == 0:
            return []
        return [
            name
            for name, values in self._norms.items()
            if all(state_of(norm) in states for norm in values)
        ]

    def _note(self, name: str) -> str:
        values = self._norms[name]
        if name in self.unused():
            is_wanted = self._parameters[name].requires_grad
            return "no gradient arrived" if is_wanted else "requires no gradient"
        if name in self.zero():
            return "always zero"
        first_bad = self.non_finite().get(name)
        if first_bad is not None:
            return f"not finite from step {first_bad}"
        zero_from = self.zero_from().get(name)
        if zero_from is not None:
            return f"zero from step {zero_from} on"
        missing = sum(norm is None for norm in values)
        return f"missing at {missing} of {len(values)} steps" if missing else ""

    def __str__(self) -> str:
        """Return a table: one line per parameter, and its first, smallest, largest, last norm."""
        head = ("parameter", "shape", "first", "least", "most", "last", "")
        rows = [head]
        for name, values in self._norms.items():
            seen = [norm for norm in values if norm is not None]
            numbers = [seen[0], min(seen), max(seen), seen[-1]] if seen else []
            texts = [f"{number:.3g}" for number in numbers] or ["-"] * 4
            shape = "x".join(map(str, self._parameters[name].shape)) or "scalar"
            rows.append((name, shape, *texts, self._note(name)))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [f"gradient norms of {len(rows) - 1} parameters over {self.steps} steps"]
        for row in rows:
            cells = [
                text.ljust(width) if number in (0, 1, 6) else text.rjust(width)
                for number, (text, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)

    def write_svg(self, path: str | PathLike[str]) -> None:
        """Write the picture: a row per parameter, a column per step, colour by log10 of the norm.

        Light grey is no gradient, dark grey zero, magenta NaN or infinity. Of more than 96 steps a
        column shows the largest norm of several.
        """
        write_text("write_svg", path, self._svg())

    def _svg(self) -> str:
        per_column = max(1, math.ceil(self.steps / MOST_COLUMNS))
        rows = {
            name: [_worst(values[at : at + per_column]) for at in range(0, len(values), per_column)]
            for name, values in self._norms.items()
        }
        shown = [
            math.log10(norm)
            for values in rows.values()
            for norm in values
            if norm is not None and norm > 0 and math.isfinite(norm)
        ]
        low, high = (min(shown), max(shown)) if shown else (0.0, 0.0)
        left = LABEL + 7 * max(map(len, rows)) + 8
        columns = max(1, math.ceil(self.steps / per_column))
        width = max(left + CELL * columns + 16, 480)
        bottom = TOP + ROW * len(rows)
        merged = f", {per_column} per column" if per_column > 1 else ""
        parts = [
            element("rect", width=width, height=bottom + LEGEND, fill="#ffffff"),
            _text(LABEL, 22, "Gradient norms", font_size=16),
            _text(LABEL, 42, f"{self.steps} steps, left to right{merged}", fill="#666666"),
        ]
        for number, (name, values) in enumerate(rows.items()):
            y = TOP + ROW * number
            parts.append(_text(left - 8, y + 12, name, text_anchor="end"))
            for column, norm in enumerate(values):
                text = "no gradient" if norm is None else f"{norm:.3g}"
                tip = element("title", clean(f"{name}, step {column * per_column}: {text}"))
                parts.append(element("rect", tip, x=left + CELL * column, y=y + 1, width=CELL - 1,
                                     height=ROW - 2, fill=_colour(norm, low, high)))  # fmt: skip
        parts += _legend(bottom + 14, low, high)
        font = {"font_family": "Helvetica, Arial, sans-serif", "font_size": 12}
        return document(width, bottom + LEGEND, parts, **font)


def _text(x: int, y: int, text: str, **look: str | float) -> str:
    return element("text", clean(text), x=x, y=y, **{"fill": "#333333", **look})


def _worst(values: list[float | None]) -> float | None:
    """Return the norm that a column of several steps shows."""
    seen = [norm for norm in values if norm is not None]
    bad = [norm for norm in seen if not math.isfinite(norm)]
    return bad[0] if bad else max(seen, default=None)


def _colour(norm: float | None, low: float, high: float) -> str:
    if norm is None:
        return NOTHING
    if not math.isfinite(norm):
        return BAD
    if norm == 0:
        return ZERO
    place = (math.log10(norm) - low) / (high - low) if high > low else 0.5
    return SCALE[min(int(place * len(SCALE)), len(SCALE) - 1)]


def _legend(y: int, low: float, high: float) -> list[str]:
    """Return boxes from the smallest norm to the largest, and what the other colours mean."""
    parts = [_text(LABEL, y + 12, f"{10**low:.1e}")]
    x = LABEL + 58
    for colour in SCALE:
        parts.append(element("rect", x=x, y=y, width=20, height=14, fill=colour))
        x += 20
    parts.append(_text(x + 6, y + 12, f"{10**high:.1e}"))
    x += 74
    for colour, text in ((NOTHING, "none"), (ZERO, "zero"), (BAD, "nan or inf")):
        parts.append(element("rect", x=x, y=y, width=14, height=14, fill=colour))
        parts.append(_text(x + 20, y + 12, text))
        x += 30 + 7 * len(text)
    return parts
