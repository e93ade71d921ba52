# satellites/torch/ebb/torch_compat/dtypes.py -- dtypes and layouts of PyTorch's that no tensor has
# here.
#
# Programs compare with them (`x.dtype == torch.complex32`) and list them, so they are there; where
# a dtype is needed they are refused as anything else that is none.
"""``complex32``, ``float8_e4m3fn`` and others, equal to nothing but themselves."""

from __future__ import annotations

MISSING = (
    *("bits8", "bits16", "chalf", "complex32", "float4_e2m1fn_x2", "float8_e4m3fn"),
    *("float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "int1", "int2"),
    *("int4", "jagged", "qint32", "qint8", "quint2x4", "quint4x2", "quint8", "sparse_bsc"),
    *("sparse_bsr", "sparse_csc", "uint1", "uint2", "uint4"),
)


class MissingDtype:
    """A dtype or layout that ebb lacks.

    >>> from ebb.torch_compat import dtypes
    >>> dtypes.complex32, dtypes.complex32 == ebb.complex64
    (torch.complex32, False)
    """

    def __init__(self, name: str):
        self.name = name
        self.is_floating_point = name.startswith("float")
        self.is_complex = name in ("chalf", "complex32")
        self.is_signed = not name.startswith(("uint", "quint", "bits"))
        self.itemsize = 4 if self.is_complex else 2 if name == "bits16" else 1

    def __repr__(self) -> str:
        return f"torch.{self.name}"


for _name in MISSING:
    globals()[_name] = MissingDtype(_name)
