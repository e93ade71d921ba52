# tests/fuzz/rows/geometry_trial.py -- one drawn call of an op, held against slow_reference.py.
#
# A trial has two parts: dense float64 operands without ties, against NumPy and differences; then
# operands of any floating dtype that lie anywhere in memory, against their dense float64 copies.
"""Trials of the geometry fuzzer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

import ebb
from tests.fuzz.drawing import Draws
from tests.fuzz.rows import geometry
from tests.fuzz.rows.slow_reference import (
    Derivatives,
    Results,
    difference,
    in_order,
    rounding_slack,
    run,
    widened,
)
from tests.python.ops.op_reference import reference
from tests.python.ops.op_rows import (
    FLOATING,
    VIEW_LAYOUTS,
    Case,
    Row,
    make_arguments,
    wide_array,
    without_phases,
)

if TYPE_CHECKING:
    import random


MOST_DRAWS = 40


class WrongError(AssertionError):
    """What a call gave is not what it must give."""


class Trials:
    """Draws and checks calls of one row; counts what became of them."""

    def __init__(self, row: Row):
        """Nothing is drawn yet."""
        self.row = row
        self.cases = row.cases()
        self.counts: Counter[str] = Counter()
        self.dtype = "float64" if "float64" in row.dtypes else row.dtypes[-1]

    def run_blob(self, blob: bytes) -> None:
        """Run the trial that a blob draws."""
        self.run(Draws(blob))

    def run(self, rng: random.Random) -> None:
        """Run one trial. Raises WrongError with the call."""
        case = self._draw(rng)
        if case is None:
            return
        try:
            if not self._try_dense(case, rng.getrandbits(30)):
                return
        except ebb.linalg.LinAlgError:
            return  # a matrix beside those that were drawn is singular
        except WrongError as error:
            raise WrongError(f"{self.row.op}: {case.arguments}\n{error}") from None
        self.counts["cases"] += 1
        # Memory that repeats makes singular matrices.
        is_dense = self.row.layouts == VIEW_LAYOUTS or bool(self.row.matrices)
        layouts = ("dense",) if is_dense else geometry.LAYOUTS
        placed = geometry.place_tensors(rng, case, layouts)
        dtypes = [one for one in FLOATING if one in self.row.dtypes] or [self.dtype]
        dtype = rng.choice(dtypes)
        form = rng.choice([one for one in self.row.forms if one in ("plain", "inplace", "out")])
        try:
            self._try_placed(placed, dtype, rng.getrandbits(30), form)
        except ebb.linalg.LinAlgError:
            return
        except WrongError as error:
            raise WrongError(
                f"{self.row.op} in {dtype}, {form}: {placed.arguments}\n{error}"
            ) from None

    def _draw(self, rng: random.Random) -> Case | None:
        """Draw until the op takes a case; half of the drawn ones do not fit together."""
        for _ in range(MOST_DRAWS):
            case = geometry.draw_case(rng, self.row, self.cases)
            if not geometry.is_small(case):
                continue
            outs = self._taken(case, make_arguments(self.row, case, self.dtype))
            if outs is None:
                self.counts["refused"] += 1
            elif sum(one.numel() for one in outs) <= geometry.MOST_ELEMENTS:
                return case
        return None

    def _taken(self, case: Case, arguments: dict[str, Any]) -> list[ebb.Tensor] | None:
        """Return what the op makes of arguments, or None if it refuses them: a case was accepted by
        other values, and indices, counts and ends of lists may fit it or not."""
        try:
            return _listed(run(self.row, arguments))
        except ebb.InternalError as error:
            raise WrongError(f"{self.row.op}: {case.arguments}\n{error}") from None
        except ebb.Error:
            return None

    def _differentiated(self, derivatives: Derivatives) -> Results | None:
        """Return values and derivatives, or None if there is none, as the row's `refuses` says."""
        try:
            return derivatives.results()
        except NotImplementedError as error:
            if any(text in str(error) for text in self.row.test.get("refuses", {})):
                self.counts["without derivative"] += 1
                return None
            raise

    def _try_dense(self, case: Case, seed: int) -> bool:
        """Return whether the op took the values that were drawn."""
        arguments = make_arguments(self.row, case, self.dtype, seed=seed)
        if self._taken(case, arguments) is None:
            return False
        derivatives = Derivatives(self.row, arguments, seed)
        results = self._differentiated(derivatives)
        if results is None:
            return False
        self._check_numpy(arguments, derivatives, results)
        text = derivatives.wrong_slope(results)
        if text:
            raise WrongError(text)
        return True

    def _check_numpy(
        self, arguments: dict[str, Any], derivatives: Derivatives, results: Results
    ) -> None:
        outs = results.outs
        try:
            wanted = _listed(in_order(self.row, reference(self.row, arguments)))
        except Exception:
            self.counts["without NumPy"] += 1
            return
        if len(wanted) != len(outs):
            raise WrongError(f"{len(outs)} results, not {len(wanted)}")
        for index, (got, array) in enumerate(zip(outs, wanted, strict=True)):
            name = f"NumPy, result {index}"
            text = difference(name, got, array, "float64", 1e-10)
            if text:  # thirty steps of a recurrence may make much of a rounding
                slack = rounding_slack(derivatives, results, "float64")["value"][index]
                text = difference(name, got, array, "float64", slack)
            if text:
                raise WrongError(text)

    def _try_placed(self, case: Case, dtype: str, seed: int, form: str) -> None:
        arguments = make_arguments(self.row, case, dtype, seed=seed)
        if self._taken(case, widened(arguments)) is None:
            return
        dense = Derivatives(self.row, widened(arguments), seed)
        wanted = self._differentiated(dense)
        if wanted is None:
            return
        if not wanted.is_within(dtype):
            self.counts["beyond the dtype"] += 1
            return
        if form == "inplace" and wanted.outs[0].shape != tuple(
            next(iter(arguments.values())).shape
        ):
            form = "plain"
        if form == "out":
            self._try_out(arguments, dense, wanted, dtype)
            form = "plain"
        try:
            got = Derivatives(self.row, arguments, seed, form).results()
        except ebb.linalg.LinAlgError:
            raise
        except ebb.Error as error:
            raise WrongError(f"refused: {type(error).__name__}: {error}") from None
        slack: dict[str, list[np.ndarray]] | None = None
        for name, arrays in got.parts().items():
            for index, (array, other) in enumerate(zip(arrays, wanted.parts()[name], strict=True)):
                text = difference(name, array, other, dtype, 0.0)
                if text and slack is None:
                    slack = rounding_slack(dense, wanted, dtype)
                if text:
                    text = difference(name, array, other, dtype, slack[name][index])
                if text:
                    raise WrongError(f"[{index}] {text}")

    def _try_out(
        self, arguments: dict[str, Any], dense: Derivatives, wanted: Results, dtype: str
    ) -> None:
        outs = _listed(without_phases(self.row, run(self.row, arguments, "out")))
        for index, (got, array) in enumerate(zip(outs, wanted.outs, strict=True)):
            text = difference("value of out=", wide_array(got), array, dtype, 0.0)
            if text:
                slack = rounding_slack(dense, wanted, dtype)["value"][index]
                text = difference("value of out=", wide_array(got), array, dtype, slack)
            if text:
                raise WrongError(text)


def _listed(result: Any) -> list[ebb.Tensor]:
    return list(result) if isinstance(result, tuple | list) else [result]
