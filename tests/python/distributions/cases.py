# tests/python/distributions/cases.py -- the cases of reference_scipy.json as distributions.
import json
from pathlib import Path

import ebb
from ebb import distributions as D

CASES = json.loads((Path(__file__).parent / "reference_scipy.json").read_text())
NAMES = [f"{case['name']}-{'-'.join(case['arguments'])}" for case in CASES]


def made(case, batch=(), requires_grad=False):
    """Return the distribution of a case in float64, expanded to a batch, and its parameters."""
    parameters = {}
    for name, value in case["arguments"].items():
        whole = ebb.tensor(value, dtype=ebb.float64)
        parameters[name] = whole.expand((*batch, *whole.shape)).clone()
        parameters[name].requires_grad_(requires_grad)
    return getattr(D, case["name"])(**parameters), parameters
