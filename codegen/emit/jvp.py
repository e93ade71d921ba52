# codegen/emit/jvp.py -- forward-mode rules: ebb/autograd/jvp/<family>.h and .cpp.
#
# `auto` reuses the gradient formula of a pointwise op: its derivative is a factor, so the formula
# with the conjugated tangent in place of grad_out, conjugated again, is the tangent of the result.
# `linear` applies the op to the tangents. Otherwise the table gives an expression per parameter.
"""Emitter of forward-mode rules."""

from __future__ import annotations

from codegen.cpp import Form, environment, render_with_ops
from codegen.formulas import makes_intermediates, names_in
from codegen.model import Family, Op
from codegen.signature import SchemaError


class JvpView:
    """What the template needs to print one rule."""

    def __init__(self, op: Op):
        self.op = op
        self.form = Form(op, "plain")
        self.inputs = [param for param in op.params if op.grad.get(param.name, "none") != "none"]
        # The expression for the tangents of all results, or an empty text.
        self.joint = op.jvp.get("joint", "") if isinstance(op.jvp, dict) else ""
        self.has_several = bool(self.joint) or len(op.differentiable_results) != 1
        if self.has_several and not self.joint and not op.only_refuses:
            raise SchemaError(
                f"{op.file}:{op.line}: {op.full_name}: `jvp` of several results needs `joint`"
            )
        self.result = op.differentiable_results[0]
        self.list = next((param.name for param in self.inputs if param.type.is_tensor_list), "")

    @property
    def in_float(self) -> bool:
        """Whether half types are computed in float32: more than one op would round each result."""
        given = self.op.jvp
        formulas = given.values() if isinstance(given, dict) else self.op.grad.values()
        is_element_wise = self.op.dtype_rule and given != "linear"
        return bool(is_element_wise) and any(map(makes_intermediates, formulas))

    @property
    def result_type(self) -> str:
        """One tangent or a list."""
        return "std::vector<Tensor>" if self.result.is_list or self.has_several else "Tensor"


def has_rule(op: Op) -> bool:
    """Whether an op gets a forward-mode rule."""
    return op.is_differentiable and op.jvp != "none"


def needs_operand(op: Op, name: str) -> bool:
    """Whether a rule, forward or backward, names the value of a parameter."""
    formulas = [*op.grad.values(), op.joint]
    formulas += op.jvp.values() if isinstance(op.jvp, dict) else []
    found = [one for formula in formulas for one in names_in(formula)]
    return (name, "") in found


def emit(family: Family) -> dict[str, str]:
    """Both files of a family, by path below the generated folder."""
    rules = [JvpView(op) for op in family.ops if has_rule(op)]
    context = {"family": family, "rules": rules}
    name = f"ebb/autograd/jvp/{family.name}"
    return {
        f"{name}.h": environment().get_template("jvp.h.j2").render(context),
        f"{name}.cpp": render_with_ops("jvp.cpp.j2", (), **context),
    }
