# tests/python/distributions/reference_scipy.py -- what SciPy says about each scalar distribution.
"""Prints it as JSON: ``python3 tests/python/distributions/reference_scipy.py``, with SciPy.

reference_scipy.json is that output, of SciPy 1.17.1. A case is a name, its arguments and SciPy's
distribution; values are looked at where SciPy's distribution function has certain values.
"""

import json

import numpy as np
from scipy import special, stats

SHARES = [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99]

WEIGHTS = [0.1, 0.2, 0.3, 0.4]
RATE = np.log(0.7 / 0.3)  # of an exponential density on [0, 1]
GPD = {"loc": 1.0, "scale": 2.0, "concentration": 0.2}

CASES = [
    ("Normal", {"loc": 0.5, "scale": 2.0}, stats.norm(0.5, 2)),
    ("Laplace", {"loc": -0.5, "scale": 3.0}, stats.laplace(-0.5, 3)),
    ("Cauchy", {"loc": 1.0, "scale": 2.0}, stats.cauchy(1, 2)),
    ("Gumbel", {"loc": 1.0, "scale": 0.5}, stats.gumbel_r(1, 0.5)),
    ("StudentT", {"df": 4.5, "loc": 1.0, "scale": 2.0}, stats.t(4.5, 1, 2)),
    ("Uniform", {"low": -1.0, "high": 2.5}, stats.uniform(-1, 3.5)),
    ("Bernoulli", {"probs": 0.3}, stats.bernoulli(0.3)),
    ("Bernoulli", {"logits": 1.5}, stats.bernoulli(1 / (1 + np.exp(-1.5)))),
    ("Categorical", {"probs": WEIGHTS}, stats.rv_discrete(values=(range(4), WEIGHTS))),
    ("Binomial", {"total_count": 12, "probs": 0.3}, stats.binom(12, 0.3)),
    ("Geometric", {"probs": 0.2}, stats.geom(0.2, loc=-1)),
    ("Geometric", {"logits": -1.0}, stats.geom(1 / (1 + np.exp(1.0)), loc=-1)),
    ("NegativeBinomial", {"total_count": 4.5, "probs": 0.6}, stats.nbinom(4.5, 0.4)),
    ("Poisson", {"rate": 3.5}, stats.poisson(3.5)),
    ("Exponential", {"rate": 2.5}, stats.expon(scale=0.4)),
    ("HalfNormal", {"scale": 2.0}, stats.halfnorm(scale=2)),
    ("HalfCauchy", {"scale": 0.5}, stats.halfcauchy(scale=0.5)),
    ("LogNormal", {"loc": 0.5, "scale": 0.75}, stats.lognorm(0.75, scale=np.exp(0.5))),
    ("Pareto", {"scale": 2.0, "alpha": 3.5}, stats.pareto(3.5, scale=2)),
    ("GeneralizedPareto", GPD, stats.genpareto(0.2, 1, 2)),
    ("GeneralizedPareto", {**GPD, "concentration": -0.5}, stats.genpareto(-0.5, 1, 2)),
    ("Weibull", {"scale": 2.0, "concentration": 1.5}, stats.weibull_min(1.5, scale=2)),
    ("Gamma", {"concentration": 2.5, "rate": 1.5}, stats.gamma(2.5, scale=1 / 1.5)),
    ("Gamma", {"concentration": 0.3, "rate": 1.5}, stats.gamma(0.3, scale=1 / 1.5)),
    ("Chi2", {"df": 3.0}, stats.chi2(3)),
    ("InverseGamma", {"concentration": 3.5, "rate": 2.0}, stats.invgamma(3.5, scale=2)),
    ("Beta", {"concentration1": 0.5, "concentration0": 2.0}, stats.beta(0.5, 2)),
    ("FisherSnedecor", {"df1": 5.0, "df2": 7.5}, stats.f(5, 7.5)),
    ("ContinuousBernoulli", {"probs": 0.3}, stats.truncexpon(RATE, scale=1 / RATE)),
    ("VonMises", {"loc": 0.5, "concentration": 2.0}, stats.vonmises(2, 0.5)),
]


def describe(frozen):
    """Return what SciPy knows of a distribution, at the values that have the shares above."""
    values = np.unique(frozen.ppf(SHARES))
    is_discrete = hasattr(frozen, "pmf")
    variance = float(frozen.var())
    if getattr(frozen, "dist", frozen).name == "vonmises":  # that of directions
        variance = float(1 - special.i1e(frozen.args[0]) / special.i0e(frozen.args[0]))
    return {
        "values": values.tolist(),
        "log_prob": (frozen.logpmf if is_discrete else frozen.logpdf)(values).tolist(),
        "cdf": frozen.cdf(values).tolist(),
        "is_discrete": is_discrete,
        "entropy": float(frozen.entropy()),
        "mean": float(frozen.mean()),
        "variance": variance,
    }


if __name__ == "__main__":
    lines = [json.dumps({"name": n, "arguments": a, **describe(f)}) for n, a, f in CASES]
    print("[\n" + ",\n".join(lines) + "\n]")
