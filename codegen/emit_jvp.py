# codegen/emit_jvp.py -- forward-mode rules: ebb/autograd/jvp/<family>.h and .cpp.
#
# `auto` reuses the gradient formula of a pointwise op: its derivative is a factor, so the formula
# with the conjugated tangent in place of grad_out, conjugated again, is the tangent of the result.
# `linear` applies the op to the tangents. Otherwise the table gives an expression per parameter.
"""Emitter of forward-mode rules."""

from __future__ import annotations

from codegen.cpp import Form, environment, render_with_ops
from codegen.formulas import names_in
from codegen.model import Family, Op
from codegen.signature import Param, SchemaError

# How a type is taken out of a list of arguments.
_GETTERS = {
    "Tensor": "argument<Tensor>",
    "Tensor?": "tensor_argument",
    "Tensor[]": "argument<std::vector<Tensor>>",
    "Scalar": "argument<Scalar>",
    "Scalar?": "optional_argument<Scalar>",
    "int": "argument<int64_t>",
    "int?": "optional_argument<int64_t>",
    "int[]": "argument<std::vector<int64_t>>",
    "int[]?": "optional_argument<std::vector<int64_t>>",
    "bool": "argument<bool>",
    "bool?": "optional_argument<bool>",
    "float": "argument<double>",
    "float?": "optional_argument<double>",
    "str": "argument<std::string>",
    "str?": "optional_argument<std::string>",
    "dtype": "argument<DType>",
    "device": "argument<Device>",
    "dtype?": "optional_argument<DType>",
    "Reduction": "argument<kernels::Reduction>",
}


class JvpView:
    """What the template needs to print one rule."""

    def __init__(self, op: Op):
        self.op = op
        self.form = Form(op, "plain")
        self.inputs = [param for param in op.params if op.grad.get(param.name, "none") != "none"]
        if len(op.differentiable_results) != 1 and not self.joint:
            raise SchemaError(
                f"{op.file}:{op.line}: {op.full_name}: `jvp` of several results needs `joint`"
            )
        self.result = op.differentiable_results[0]
        for param in op.params:
            if param.type.name not in _GETTERS:
                raise SchemaError(
                    f"{op.file}:{op.line}: {op.full_name}: `jvp` cannot take `{param.type.name}`"
                )

    @property
    def joint(self) -> str:
        """The expression for the tangents of all results, or an empty text."""
        return self.op.jvp.get("joint", "") if isinstance(self.op.jvp, dict) else ""

    @property
    def result_type(self) -> str:
        """One tangent or a list."""
        return "std::vector<Tensor>" if self.result.is_list or self.joint else "Tensor"

    @property
    def parameters(self) -> str:
        """Primals, then tangents."""
        tangents = [f"{param.type.argument} {param.name}_tangent" for param in self.inputs]
        return ", ".join([self.form.parameters(), *tangents])

    @property
    def arguments(self) -> str:
        """The parameters of the rule, passed on."""
        return ", ".join([self.form.arguments, *(f"{p.name}_tangent" for p in self.inputs)])

    def _results(self) -> list[str]:
        kind = "std::span<const Tensor>" if self.result.is_list else "const Tensor&"
        return [f"{kind} {result.name}" for result in self.op.results]

    @property
    def rule_parameters(self) -> str:
        """Primals, tangents and results; a rule may ignore any of them."""
        texts = [*self.parameters.split(", "), *self._results()]
        return ", ".join(f"[[maybe_unused]] {text}" for text in texts)

    @property
    def no_results(self) -> str:
        """Stands for results that the rule does not look at."""
        return ", ".join(["{}"] * len(self.op.results))

    @property
    def push_parameters(self) -> str:
        """Primals, results, and whether a result was written in place."""
        return ", ".join(
            [self.form.parameters(), *self._results(), "autograd::DualResult dual_result"]
        )

    @property
    def operands(self) -> str:
        """What may carry a tangent: a list of pointers, or a parameter that is a list."""
        lists = [param.name for param in self.inputs if param.type.is_tensor_list]
        if lists:
            return lists[0]
        return "{" + ", ".join(f"&{param.name}" for param in self.inputs) + "}"

    @property
    def first_out(self) -> str:
        """The first result with a derivative."""
        name = self.result.name
        return f"{name}.empty() ? Tensor() : {name}.front()" if self.result.is_list else name

    @property
    def outs(self) -> str:
        """Results with a derivative: one, a list, or several as a list."""
        if not self.joint:
            return self.result.name
        names = ", ".join(result.name for result in self.op.differentiable_results)
        return "std::vector<Tensor>{" + names + "}"

    @property
    def peeled_arguments(self) -> str:
        """Arguments of the rule on one level of a call."""
        texts = []
        for param in self.op.params:
            kinds = {"Tensor[]": "primals", "Tensor": "primal", "Tensor?": "primal"}
            kind = kinds.get(param.type.name)
            texts.append(f"call.{kind}({param.name})" if kind else param.name)
        for param in self.inputs:
            kind = "tangents" if param.type.is_tensor_list else "tangent"
            texts.append(f"call.{kind}({param.name})")
        kind = "primals" if self.result.is_list else "primal"
        texts += [f"call.{kind}({result.name})" for result in self.op.results]
        return ", ".join(texts)

    @property
    def is_linear(self) -> bool:
        """Whether the op itself is applied to the tangents."""
        return self.op.jvp == "linear"

    @property
    def linear_call(self) -> str:
        """The op applied to tangents, zeros where there is none."""
        arguments = []
        for param in self.op.params:
            kind = "tangents_or_zero" if param.type.is_tensor_list else "tangent_or_zero"
            arguments.append(
                f"autograd::{kind}({param.name}_tangent, {param.name})"
                if param in self.inputs
                else param.name
            )
        call = f"ebb::{self.op.name}({', '.join(arguments)})"
        if len(self.op.results) > 1:
            return f"std::get<{self.op.results.index(self.result)}>({call})"
        return call

    @property
    def terms(self) -> list[tuple[str, str, str, str]]:
        """Per tangent: its parameter, the name that the formula uses, its value, the formula."""
        if isinstance(self.op.jvp, dict):
            return [
                (p.name, "tangent", f"{p.name}_tangent", self.op.jvp[p.name])
                for p in self.inputs
                if p.name in self.op.jvp
            ]
        return [
            (p.name, "grad_out", f"conj({p.name}_tangent)", f"conj({self.op.grad[p.name]})")
            for p in self.inputs
        ]

    @property
    def getters(self) -> list[str]:
        """Expressions for all primals and tangents from two lists of arguments."""
        name = f'"{self.op.full_name}"'
        primals = [
            _getter(param, name, "arguments", index) for index, param in enumerate(self.op.params)
        ]
        tangents = []
        for index, param in enumerate(self.inputs):
            kind = (
                "argument<std::vector<Tensor>>" if param.type.is_tensor_list else "tensor_argument"
            )
            tangents.append(f"autograd::{kind}({name}, tangents, {index})")
        return [*primals, *tangents]


def _getter(param: Param, op: str, source: str, index: int) -> str:
    text = f"autograd::{_GETTERS[param.type.name]}({op}, {source}, {index})"
    return f"as_span({text})" if param.type.name == "int[]?" else text


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
    context = {
        "family": family,
        "rules": rules,
        "listed": [rule for rule in rules if not rule.op.is_inplace],
    }
    env = environment()
    name = f"ebb/autograd/jvp/{family.name}"
    return {
        f"{name}.h": env.get_template("jvp.h.j2").render(context),
        f"{name}.cpp": render_with_ops("jvp.cpp.j2", (), **context),
    }
