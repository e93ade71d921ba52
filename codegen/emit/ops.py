# codegen/emit/ops.py -- the unrecorded layer: ebb/ops/<family>.h and .cpp.
#
# Pointwise ops are generated whole; for the others the generated function runs the checks of the
# table and calls ebb::ops::impl.
"""Emitter of ebb::ops."""

from __future__ import annotations

from codegen.cpp import Form, environment, forms, kernel_header, written_header
from codegen.model import Family, Op


class Body:
    """What the templates ask of one function of ebb::ops; its text stands in straight.j2."""

    def __init__(self, form: Form):
        self.form = form
        self.op = form.op

    @property
    def call(self) -> str:
        """What the function calls if its op is not pointwise."""
        if self.op.body:
            return self.op.body.call(
                self.form.name, self.form.names, self.op.signature, self.op.kernels[0]
            )
        return f"impl::{self.form.name}({self.form.arguments})"

    @property
    def operand_params(self) -> list:
        """Operands of the kernel in its order."""
        by_name = {param.name: param for param in self.op.params}
        return [by_name[name] for name in self.op.kernels[0].operands]

    @property
    def has_straight_path(self) -> bool:
        """Whether one or two operands, at least one a tensor, may go straight to the kernel."""
        kinds = [param.type.name for param in self.operand_params]
        return (
            self.form.kind != "out"
            and self.op.result_dtype != "complex"
            and (self.form.kind == "plain" or self.op.result_dtype != "boolean")
            and kinds
            in (
                ["Tensor"],
                ["Tensor", "Tensor"],
                ["Tensor", "Scalar"],
                ["Scalar", "Tensor"],
            )
        )

    @property
    def lead(self) -> str:
        """The tensor whose geometry the result has on the straight path."""
        lead = next(param for param in self.operand_params if param.type.is_tensor)
        return self.form.spelled(lead)

    @property
    def scalar(self) -> str:
        """The number among the operands, or an empty text."""
        return next((p.name for p in self.operand_params if p.type.name == "Scalar"), "")

    @property
    def splat(self) -> int:
        """The bits of the operands that are one number."""
        bits = [param.type.name == "Scalar" for param in self.operand_params]
        return sum(1 << index for index, is_number in enumerate(bits) if is_number)

    @property
    def fallback_lead(self) -> str:
        """The tensor whose device runs the op, where the CPU may stand in; else empty."""
        if "any" in (self.op.devices, self.op.layouts):
            return ""
        if self.op.tensors:
            return self.form.spelled(self.op.tensors[0])
        return f"{self.fallback_list}[0]" if self.fallback_list else ""

    @property
    def fallback_list(self) -> str:
        """The list, perhaps an empty one, that holds the lead of an op without other tensors."""
        lists = [] if self.op.tensors else self.op.tensor_lists
        return lists[0].name if lists else ""


def emit(family: Family) -> dict[str, str]:
    """Both files of a family, by path below the generated folder."""
    env = environment()
    direct = [op for op in family.ops if not op.composite]
    kernels = {use.name for op in direct for use in op.kernels}
    context = {
        "family": family,
        "kernel_headers": [kernel_header(name) for name in sorted(kernels)],
        "bodies": [Body(form) for op in direct for form in forms(op) if not form.is_copied],
        "rules": [op for op in direct if op.is_pointwise],
        "bodies_headers": _bodies_headers(family, direct),
        "needs_reduction": _uses_reduction(family.ops),
    }
    return {
        f"ebb/ops/{family.name}.h": env.get_template("ops.h.j2").render(context),
        f"ebb/ops/{family.name}.cpp": env.get_template("ops.cpp.j2").render(context),
    }


def _bodies_headers(family: Family, ops: list[Op]) -> list[str]:
    """What declares the bodies of a family that are not pointwise."""
    by_hand = any(op.is_impl and not op.body for op in ops)
    own = {written_header("ebb/ops/impl", family.name)} if by_hand else set()
    return sorted(own | {op.body.header for op in ops if op.body})


def _uses_reduction(ops: list[Op]) -> bool:
    return any(param.type.name == "Reduction" for op in ops for param in op.params)
