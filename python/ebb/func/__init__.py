# python/ebb/func/__init__.py -- ebb.func: transforms of functions (grad, vjp, jvp, vmap).
#
# derivatives.py and jacobians.py make derivatives of functions; mapping.py maps them over samples.
# batched.py is what a sample is under vmap, rules.py calls functions with all samples at once,
# samples.py one by one. rearrange.py and modules.py have what goes with them.
"""``ebb.func``: grad, vjp, jvp, jacrev, jacfwd, hessian, linearize, functional_call, vmap.

>>> ebb.func.grad(ebb.func.grad(lambda x: x**3))(ebb.tensor(2.0))
tensor(12.)
"""

from ebb._base import naming as _naming
from ebb.func import rules as rules
from ebb.func.derivatives import grad, grad_and_value, jvp, linearize, vjp
from ebb.func.jacobians import hessian, jacfwd, jacrev
from ebb.func.mapping import vmap
from ebb.func.modules import (
    debug_unwrap,
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from ebb.func.rearrange import rearrange

__all__ = [
    "debug_unwrap",
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]

for _part in ("batched", "derivatives", "jacobians", "mapping", "modules", "rearrange", "recorded"):
    _naming.name_module(f"{__name__}.{_part}")
_naming.name_module(__name__)
