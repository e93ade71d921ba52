# python/ebb/distributions/kl_pairs.py -- formulas of kl_divergence(), without gamma functions.
"""Registers formulas; two of one family first, then of different ones."""

from __future__ import annotations

import math
from typing import Any

import ebb
from ebb import Tensor
from ebb.distributions.categories import Categorical, OneHotCategorical
from ebb.distributions.composite import Independent, TransformedDistribution
from ebb.distributions.counts import Bernoulli, Geometric
from ebb.distributions.distribution import ExponentialFamily
from ebb.distributions.gaussian import LowRankMultivariateNormal, MultivariateNormal
from ebb.distributions.kl import kl_divergence, register_kl
from ebb.distributions.location_scale import Cauchy, Gumbel, Laplace, Normal, Uniform
from ebb.distributions.positive import Exponential, HalfCauchy, HalfNormal, Pareto
from ebb.distributions.relaxed import ContinuousBernoulli
from ebb.distributions.transforms.base import sum_rightmost
from ebb.errors import NotImplementedError
from ebb.linalg import solve_triangular
from ebb.nn import functional as F

# Two of one family.


@register_kl(ExponentialFamily, ExponentialFamily)
def _family(p: Any, q: Any) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            f"kl_divergence: no formula is registered for {type(p).__name__} and {type(q).__name__}"
        )
    normalizer, naturals, means = p._log_normalizer_and_means()
    total = q._log_normalizer(*q._natural_params) - normalizer
    for own, other, mean in zip(naturals, q._natural_params, means, strict=True):
        total = total - sum_rightmost((other - own) * mean, len(q.event_shape))
    return total


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    return _normal(p._whole, q._whole)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return ratio * (-distance / p.scale).exp() + distance / q.scale - 1 - ratio.log()


@register_kl(HalfCauchy, HalfCauchy)
def _half_cauchy(p: Any, q: Any) -> Tensor:
    return ((p.scale + q.scale).square() / (4 * p.scale * q.scale)).log()


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    above = (p.scale + q.scale).square() + (p.loc - q.loc).square()
    return (above / (4 * p.scale * q.scale)).log()


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    is_inside = (q.low <= p.low) & (p.high <= q.high)
    return ebb.where(is_inside, ((q.high - q.low) / (p.high - p.low)).log(), math.inf)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    ones = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    return ones + (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    rest = (-p.probs).log1p() - (-q.probs).log1p()
    return p.mean * (p.logits - q.logits) + rest + p._log_weight() - q._log_weight()


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = ebb.where(q.probs == 0, math.inf, terms)
    return ebb.where(p.probs == 0, 0.0, terms).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Tensor:
    return _categorical(p, q)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    scales, ratio = p.scale / q.scale, q.alpha / p.alpha
    result = q.alpha * scales.log() - ratio.log() + ratio - 1
    return ebb.where(p.scale < q.scale, math.inf, result)


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _vectors(p: Any, q: Any) -> Tensor:
    # The trace of Q^-1 P is the sum of squares of L_Q^-1 L_P.
    own, other = ebb.broadcast_tensors(p.scale_tril, q.scale_tril)
    ratio = solve_triangular(other, own, upper=False)
    distance = q._squared_distance(q.loc - p.loc)
    spread = ratio.square().sum((-2, -1)) + distance - p.event_shape[0]
    return 0.5 * spread + q._half_log_det() - p._half_log_det()


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("kl_divergence: Independents need as many dims in the event")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("kl_divergence: needs the same transforms and shape of events")
    divergence = kl_divergence(p.base_dist, q.base_dist)
    return sum_rightmost(divergence, len(p.event_shape) - len(p.base_dist.event_shape))


# Of different ones: the mean of log p is minus the entropy of p.


def _infinite(p: Any, q: Any) -> Tensor:
    """Where p has values that q does not have."""
    shape = ebb.broadcast_tensors(p.mean, q.mean)[0]
    return ebb.full_like(shape, math.inf)


def register_infinite(p: type, *others: type) -> None:
    """Register that p has values that none of the others has."""
    for q in others:
        register_kl(p, q)(_infinite)


for _p in (Normal, Laplace, Gumbel):
    register_infinite(_p, ContinuousBernoulli, Exponential, Pareto, Uniform)
register_infinite(Exponential, ContinuousBernoulli, Pareto, Uniform)
register_infinite(Pareto, ContinuousBernoulli, Uniform)
register_infinite(ContinuousBernoulli, Pareto)


def to_normal(p: Any, q: Any) -> Tensor:
    """Return the divergence from a Normal of what has an entropy and two moments."""
    spread = p.variance + (p.mean - q.loc).square()
    constant = 0.5 * math.log(2 * math.pi) + q.scale.log()
    return -p.entropy() + constant + 0.5 * spread / q.scale.square()


def to_exponential(p: Any, q: Any) -> Tensor:
    """Return the divergence from an Exponential of what has an entropy and a mean."""
    return -p.entropy() - q.rate.log() + q.rate * p.mean


for _p in (Exponential, Gumbel, Laplace, Uniform, ContinuousBernoulli):
    register_kl(_p, Normal)(to_normal)
register_kl(ContinuousBernoulli, Exponential)(to_exponential)


def within(p: Uniform, low: float, high: float, result: Tensor) -> Tensor:
    """Return a divergence of a Uniform, infinite where it leaves (low, high)."""
    return ebb.where((p.low >= low) & (p.high <= high), result, math.inf)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Any, q: Any) -> Tensor:
    return within(p, 0, math.inf, to_exponential(p, q))


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Any, q: Any) -> Tensor:
    rate, shift = p.rate * q.scale, q.loc / q.scale
    return rate.log() - 1 + 1 / rate - shift + shift.exp() * rate / (rate + 1)


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Any, q: Any) -> Tensor:
    z, spread = (p.loc - q.loc) / q.scale, (p.scale / q.scale).square()
    return -p.entropy() + q.scale.log() + z + (0.5 * spread - z).exp()


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Tensor:
    z = (p.loc - q.loc) / p.scale
    near = math.sqrt(2 / math.pi) * (-0.5 * z.square()).exp()
    distance = p.scale * (near + z * ebb.erf(z / math.sqrt(2)))
    return -p.entropy() + (2 * q.scale).log() + distance / q.scale


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Any, q: Any) -> Tensor:
    finite = -p.entropy() - q.rate.log() + q.rate * p.mean
    return ebb.where(p.alpha > 1, finite, math.inf)


@register_kl(Pareto, Normal)
def _pareto_normal(p: Any, q: Any) -> Tensor:
    return ebb.where(p.alpha > 2, to_normal(p, q), math.inf)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Any, q: Any) -> Tensor:
    low, high = ((q.loc - end) / q.scale for end in (p.low, p.high))
    tail = (low.exp() - high.exp()) / (low - high)
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) / q.scale + tail


@register_kl(ContinuousBernoulli, Uniform)
def to_uniform(p: Any, q: Any) -> Tensor:
    """Return the divergence from a Uniform of what has values from 0 to 1."""
    finite = -p.entropy() + (q.high - q.low).log()
    return ebb.where((q.low <= 0) & (q.high >= 1), finite, math.inf)


def to_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    """Return the divergence from a ContinuousBernoulli of what has values from 0 to 1."""
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._log_weight()


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return within(p, 0, 1, to_continuous_bernoulli(p, q))
