# python/ebb/distributions/transforms/__init__.py -- the names of torch.distributions.transforms.
"""Invertible maps whose derivatives are known."""

from ebb.distributions.transforms import base, elementwise, events
from ebb.distributions.transforms.base import *
from ebb.distributions.transforms.elementwise import *
from ebb.distributions.transforms.events import *

__all__ = [*base.__all__, *elementwise.__all__, *events.__all__]
