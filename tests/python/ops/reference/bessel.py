# tests/python/ops/reference/bessel.py -- references of Bessel and Airy functions, as integrals.
