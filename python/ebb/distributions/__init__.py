# python/ebb/distributions/__init__.py -- the names of torch.distributions.
#
# `import ebb` leaves this package alone: ebb/_base/lazy.py imports it at its first use. PyTorch has
# a module per distribution; here one holds a family, and _MODULES gives it PyTorch's names too.
"""Probability distributions: samples, densities, moments and divergences."""

import sys as _sys

from ebb._base import naming as _naming
from ebb.distributions import (
    categories,
    circular,
    composite,
    constraint_registry as constraint_registry,
    constraints as constraints,
    counts,
    distribution,
    gamma as _gamma,
    gaussian,
    kl as kl,
    kl_gamma as kl_gamma,
    kl_pairs as kl_pairs,
    location_scale,
    matrices,
    positive,
    relaxed,
    transforms as transforms,
    utils as utils,
)
from ebb.distributions.categories import *
from ebb.distributions.circular import *
from ebb.distributions.composite import *
from ebb.distributions.constraint_registry import (
    biject_to as biject_to,
    transform_to as transform_to,
)
from ebb.distributions.counts import *
from ebb.distributions.distribution import (
    Distribution as Distribution,
    ExponentialFamily as ExponentialFamily,
)
from ebb.distributions.gamma import *
from ebb.distributions.gaussian import *
from ebb.distributions.kl import *
from ebb.distributions.location_scale import *
from ebb.distributions.matrices import *
from ebb.distributions.positive import *
from ebb.distributions.relaxed import *
from ebb.distributions.transforms import *

_MODULES = {
    categories: "categorical multinomial one_hot_categorical",
    circular: "von_mises",
    composite: "independent log_normal logistic_normal mixture_same_family "
    "transformed_distribution",
    counts: "bernoulli binomial geometric negative_binomial poisson",
    distribution: "exp_family",
    _gamma: "beta chi2 dirichlet fishersnedecor inverse_gamma",
    gaussian: "lowrank_multivariate_normal multivariate_normal",
    location_scale: "cauchy gumbel laplace normal studentT uniform",
    matrices: "lkj_cholesky wishart",
    positive: "exponential generalized_pareto half_cauchy half_normal kumaraswamy pareto weibull",
    relaxed: "continuous_bernoulli relaxed_bernoulli relaxed_categorical",
}

for _module, _names in _MODULES.items():
    for _name in _names.split():
        globals()[_name] = _sys.modules[f"{__name__}.{_name}"] = _module
for _name in [name for name in _sys.modules if name.startswith(__name__)]:
    _naming.name_module(_name)

_FUNCTIONS = ["biject_to", "identity_transform", "kl_divergence", "register_kl", "transform_to"]
_PUBLIC_MODULES = ["constraints", "kl", "transforms", "utils"]
__all__ = [name for name in dir() if name[0].isupper()] + _FUNCTIONS + _PUBLIC_MODULES
