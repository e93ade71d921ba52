# codegen/kinds.py -- `kind` of a row: what its body in ebb::ops calls, and with what.
#
# A kind has one body by hand (HEADERS), which takes what the row says as a rule. Start reading at
# body_of().
"""Bodies of rows that have a kind."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.dtypes import KernelUse
from codegen.signature import Param, SchemaError, Signature

# What `dtype` may say, by kind.
DTYPES = {
    "reduce": ("same", "widened", "floating", "truth", "counted"),
    "scan": ("same", "widened"),
    "index": ("same",),
}
# How a kernel writes at an index (ebb/ops/impl/index_write.h).
WRITES = {
    "ScatterKernel": "ScatterWrite",
    "ScatterAddKernel": "ScatterWrite",
    "IndexAddKernel": "SliceAddition",
    "IndexCopyKernel": "SliceCopy",
}
KERNELS = {
    "reduce": ("ReduceKernel", "MaxDimKernel"),
    "scan": ("ScanKernel", "RunningExtremumKernel"),
    "index": tuple(WRITES),
}
NOTHING = {"": "computed", "true": "yes", "refused": "refused"}
REDUCTION = "ebb/ops/impl/reduce/reduction.h"
HEADERS = {"reduce": REDUCTION, "scan": REDUCTION, "index": "ebb/ops/impl/index_write.h"}


@dataclass(frozen=True)
class Body:
    """What a row of some kind says of its body."""

    kind: str
    dtype: str
    nothing: str = ""  # of no elements: refused, true, or empty: what the kernel makes
    flag: bool = False  # what the kernel of a scan is told

    @property
    def device_dtypes(self) -> str:
        """The class of dtypes for which a device has the kernel."""
        return "floating" if self.dtype == "floating" else "ordered"

    @property
    def header(self) -> str:
        """What declares the body."""
        return HEADERS[self.kind]

    def call(self, name: str, names: list[str], signature: Signature, kernel: KernelUse) -> str:
        """The body, as an expression of C++: `name` of the function with parameters `names`."""
        table = f"kernels::{kernel.name}_kernels"
        if self.kind == "index":
            run = "run_index_" if name.endswith("_") else "run_index"
            return (
                f'impl::{run}<impl::{WRITES[kernel.type]}>("{name}", {table}, {", ".join(names)})'
            )
        if self.kind == "scan":
            rule = f'{{"{name}", impl::ReducedDType::{self.dtype}}}'
            dtype = "dtype" if "dtype" in names else "std::nullopt"
            flag = "true" if self.flag else "false"
            return f"impl::run_scan({rule}, {table}, input, dim, {dtype}, {flag})"
        if kernel.type == "MaxDimKernel":
            run = "run_extremum" if len(signature.results) == 2 else "run_place"
            return f'impl::{run}("{name}", {table}, {", ".join(names)})'
        return self._reduction(name, table, {param.name: param for param in signature.params})

    def _reduction(self, name: str, table: str, params: dict[str, Param]) -> str:
        has_dim = "true" if "dim" in params else "false"
        rule = (
            f'{{"{name}", impl::ReducedDType::{self.dtype}, '
            f"impl::OfNothing::{NOTHING[self.nothing]}, {has_dim}}}"
        )
        dim = "std::nullopt"
        if "dim" in params:
            dim = "IntSpan(&dim, 1)" if params["dim"].type.name == "int" else "dim"
        keepdim = "keepdim" if "keepdim" in params else "false"
        dtype = "dtype" if "dtype" in params else "std::nullopt"
        return f"impl::run_reduction({rule}, {table}, input, {dim}, {keepdim}, {dtype})"


# The parameters that a kind knows, with the types they may have.
PARAMS = {
    "reduce": {
        "input": ("Tensor",),
        "dim": ("int", "int?", "int[]", "int[]?"),
        "keepdim": ("bool",),
        "dtype": ("dtype?",),
    },
    "scan": {"input": ("Tensor",), "dim": ("int",), "dtype": ("dtype?",)},
    "index": {
        "input": ("Tensor",),
        "dim": ("int",),
        "index": ("Tensor",),
        "src": ("Tensor",),
        "source": ("Tensor",),
        "value": ("Scalar",),
        "alpha": ("Scalar",),
    },
}


def body_of(kind: str, values: dict, signature: Signature, kernels: tuple[str, ...]) -> Body | None:
    """The body of a row whose kernels are of these types; None if it has no kind."""
    if not kind:
        return None
    known = PARAMS[kind]
    for param in signature.params:
        if param.type.name not in known.get(param.name, ()):
            texts = ", ".join(f"{'|'.join(types)} {name}" for name, types in known.items())
            raise SchemaError(
                f"`kind: {kind}` knows parameters {texts}; got {param.type.name} {param.name}"
            )
    if len(kernels) != 1 or kernels[0] not in KERNELS[kind]:
        raise SchemaError(
            f"`kind: {kind}` needs one kernel, of type {' or '.join(KERNELS[kind])}, "
            f"got {', '.join(kernels) or 'none'}"
        )
    if values["dtype"] not in DTYPES[kind]:
        raise SchemaError(
            f"`dtype` of `kind: {kind}` needs one of {', '.join(DTYPES[kind])}, "
            f"got {values['dtype']!r}"
        )
    nothing = "refused" if kernels[0] == "MaxDimKernel" else values["nothing"]
    return Body(kind, values["dtype"], nothing, values["flag"])
