# python/ebb/distributions/kl_gamma.py -- formulas of kl_divergence() with gamma functions.
"""Registers formulas of Gamma, Beta, Dirichlet, Poisson, Binomial, Gumbel and Wishart."""

from __future__ import annotations

import math
from typing import Any

import ebb
from ebb import Tensor
from ebb.distributions.counts import Bernoulli, Binomial, Poisson
from ebb.distributions.gamma import Beta, Dirichlet, Gamma, InverseGamma
from ebb.distributions.gaussian import _log_diagonal
from ebb.distributions.kl import kl_divergence, register_kl
from ebb.distributions.kl_pairs import (
    register_infinite,
    to_continuous_bernoulli,
    to_exponential,
    to_normal,
    to_uniform,
    within,
)
from ebb.distributions.location_scale import Gumbel, Laplace, Normal, Uniform
from ebb.distributions.matrices import Wishart, _log_multigamma, _multidigamma
from ebb.distributions.positive import Exponential, Pareto
from ebb.distributions.relaxed import ContinuousBernoulli
from ebb.errors import NotImplementedError

_EULER = 0.57721566490153286

for _p in (Normal, Laplace, Gumbel):
    register_infinite(_p, Beta, Gamma)
register_infinite(Exponential, Beta)
register_infinite(Gamma, Beta, ContinuousBernoulli, Pareto, Uniform)
register_infinite(Pareto, Beta)
register_infinite(Beta, Pareto)
register_infinite(Poisson, Bernoulli, Binomial)
register_kl(Beta, Uniform)(to_uniform)
register_kl(Beta, ContinuousBernoulli)(to_continuous_bernoulli)
for _p in (Beta, Gamma):
    register_kl(_p, Normal)(to_normal)
    register_kl(_p, Exponential)(to_exponential)


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio, shift = p.scale / q.scale, (q.loc - p.loc) / q.scale
    tail = (shift + (ratio + 1).lgamma()).exp()
    return -ratio.log() - shift + _EULER * (ratio - 1) + tail - 1


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if not (p.total_count == q.total_count).all():
        raise NotImplementedError("kl_divergence: Binomials need the same total_count")
    return p.total_count * kl_divergence(Bernoulli(p.probs), Bernoulli(q.probs))


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Gamma, Gamma)
@register_kl(InverseGamma, InverseGamma)
def _gamma(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    shapes = b.lgamma() - a.lgamma() + (a - b) * a.digamma()
    return b * (p.rate / q.rate).log() + shapes + a * (q.rate / p.rate - 1)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    a1, a0, b1, b0 = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    slopes = (a1 - b1) * a1.digamma() + (a0 - b0) * a0.digamma()
    total = a1 + a0
    return p._log_beta(b1, b0) - p._log_beta(a1, a0) + slopes + (b1 + b0 - total) * total.digamma()


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    weight = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return weight + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Any, q: Any) -> Tensor:
    return _gamma(Gamma(ebb.ones_like(p.rate), p.rate, validate_args=False), q)


def _mean_log(low: Tensor, high: Tensor) -> Tensor:
    """Return the mean of log x of a Uniform."""
    return (ebb.xlogy(high, high) - ebb.xlogy(low, low)) / (high - low) - 1


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Any, q: Any) -> Tensor:
    a = q.concentration
    logs = (a - 1) * _mean_log(p.low.clamp(min=0), p.high.clamp(min=0))
    return within(
        p, 0, math.inf, -p.entropy() + a.lgamma() - a * q.rate.log() - logs + q.rate * p.mean
    )


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Tensor:
    low, high = p.low.clamp(min=0, max=1), p.high.clamp(min=0, max=1)
    a, b = q.concentration1, q.concentration0
    logs = (a - 1) * _mean_log(low, high) + (b - 1) * _mean_log(1 - high, 1 - low)
    return within(p, 0, 1, -p.entropy() + q._log_beta(a, b) - logs)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Tensor:
    logs = (q.alpha + 1) * _mean_log(p.low.clamp(min=0), p.high.clamp(min=0))
    result = -p.entropy() + logs - q.alpha.log() - ebb.xlogy(q.alpha, q.scale)
    return ebb.where(p.low >= q.scale, result, math.inf)


@register_kl(Beta, Gamma)
def _beta_gamma(p: Any, q: Any) -> Tensor:
    a, total = p.concentration1, p.concentration1 + p.concentration0
    logs = (q.concentration - 1) * (a.digamma() - total.digamma())
    weight = q.concentration.lgamma() - q.concentration * q.rate.log()
    return -p.entropy() + weight - logs + q.rate * p.mean


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Any, q: Any) -> Tensor:
    rate, shift = p.rate * q.scale, q.loc / q.scale
    tail = shift.exp() * (1 + 1 / rate).pow(-p.concentration)
    return -p.entropy() + q.scale.log() + p.concentration / rate - shift + tail


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Any, q: Any) -> Tensor:
    a = q.concentration
    logs = (a - 1) * (p.scale.log() + 1 / p.alpha)
    finite = -p.entropy() + a.lgamma() - a * q.rate.log() - logs + q.rate * p.mean
    return ebb.where(p.alpha > 1, finite, math.inf)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Wishart, Wishart)
def _wishart(p: Any, q: Any) -> Tensor:
    size, half = p._size, 0.5 * q.df
    log_det_p, log_det_q = 2 * _log_diagonal(p._factor), 2 * _log_diagonal(q._factor)
    mean_log_det = _multidigamma(0.5 * p.df, size) + size * math.log(2) + log_det_p
    trace = (q.precision_matrix * p.covariance_matrix).sum((-2, -1))
    weight = half * (size * math.log(2) + log_det_q) + _log_multigamma(half, size)
    return -p.entropy() - 0.5 * (q.df - size - 1) * mean_log_det + 0.5 * p.df * trace + weight
