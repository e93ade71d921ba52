# tests/python/leaves.py -- tensors that want a gradient: what most tests of autograd begin with.
import ebb


def leaf(*values, dtype=None):
    """Return a vector of these numbers that requires a gradient."""
    return ebb.tensor(list(values), dtype=dtype, requires_grad=True)


def leaf_of(values, grad=None, *, dtype=ebb.float64):
    """Return a tensor that requires a gradient, of an array or nested lists; perhaps with one."""
    tensor = ebb.tensor(values, dtype=dtype, requires_grad=True)
    if grad is not None:
        tensor.grad = ebb.tensor(grad, dtype=dtype)
    return tensor
