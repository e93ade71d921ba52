# python/ebb/precision/__init__.py -- what a narrow dtype does to a step.
"""Run a step in two precisions and find the op where they part."""

from ebb._base import naming as _naming
from ebb.precision.compare import compare_precision
from ebb.precision.report import PrecisionReport, PrecisionRow

__all__ = ["PrecisionReport", "PrecisionRow", "compare_precision"]

for _name in ("", ".compare", ".measure", ".report", ".state"):
    _naming.name_module(__name__ + _name)
