# python/ebb/backends/__init__.py -- ebb.backends: switches of libraries, under PyTorch's names.
#
# Programs set them at their top. Those of libraries that ebb does not use are kept and read back,
# and change nothing; which library is there, is told as it is.
"""``ebb.backends``: cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum.

>>> ebb.backends.cudnn.benchmark = True
>>> ebb.backends.mps.is_available()
False
"""

from ebb.backends import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
