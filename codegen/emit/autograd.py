# codegen/emit/autograd.py -- the recording layer: ebb/autograd/ops/<op>.h and <family>.cpp.
#
# For every differentiable op: the class of its node, the entry with the gate, the part that
# records and the slow part. What a node keeps comes from formulas.plan_node(). The text is in
# templates/autograd.cpp.j2 and what that includes.
"""Emitter of ebb:: recording functions and nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from codegen.cpp import Form, environment, forms, op_header, render_with_ops
from codegen.emit.jvp import has_rule, needs_operand
from codegen.formulas import NodePlan, Rule, makes_intermediates, passes_or_masks, plan_node
from codegen.model import Family, Op
from codegen.signature import TYPES, ParamType, SchemaError


@dataclass(frozen=True)
class Kept:
    """What a node keeps besides tensors."""

    type: ParamType
    name: str
    value: str  # an expression of the function that records


class NodeView:
    """What the template needs to print the class of one node."""

    def __init__(self, op: Op):
        self.op = op
        self.name = op.node_name
        self.plan: NodePlan = plan_node(op)
        lists = [rule for rule in self.plan.rules if rule.param.type.is_tensor_list]
        self.list_rule: Rule | None = lists[0] if lists else None
        self.single_rules = [rule for rule in self.plan.rules if rule is not self.list_rule]
        # What passes grad_out on unchanged comes last, since it may move it away.
        self.rules = sorted(self.single_rules, key=lambda rule: rule.is_pass_through)
        results = op.differentiable_results
        self.has_many_outputs = len(results) > 1 or results[0].is_list
        params = {param.name: param for param in op.tensors}
        saved = self.plan.operands
        self.saved_operands = [(one, params[one.name]) for one in saved if one.name in params]
        self.saved_results = [one for one in saved if one.name not in params]

    @property
    def kept(self) -> list[Kept]:
        """Sizes, dtypes, attributes and values, in the order of the members."""
        plan = self.plan
        # Sizes and dtypes of results are known to the node itself.
        known = {result.name for result in self.op.differentiable_results}
        sizes = [name for name in plan.sizes if name not in known]
        dtypes = [name for name in plan.dtypes if name not in known]
        kept = [("int[]", f"{name}_sizes", f"{name}.sizes()") for name in sizes]
        kept += [("dtype", f"{name}_dtype", f"{name}.dtype()") for name in dtypes]
        kept += [(param.type.name, param.name, param.name) for param in plan.attributes]
        kept += [(value.type, value.name, value.expression) for value in plan.values]
        return [Kept(TYPES[kind], name, value) for kind, name, value in kept]

    def block_operands(self, rule: Rule) -> list[str]:
        """The tensors of an element-wise formula that makes others on its way; else none."""
        names = [one.name for one in self.plan.operands if rule in one.needed_by]
        is_cut = self.op.dtype_rule and names and makes_intermediates(rule.text)
        return ["grad_out", *names] if is_cut else []

    def sums_products(self, rule: Rule) -> bool:
        """Whether a formula multiplies the gradient by an operand; the product may be summed."""
        saved = [one.name for one in self.plan.operands if rule in one.needed_by]
        return not self.block_operands(rule) and any(name in self.op.promoted for name in saved)

    def in_float(self, rule: Rule) -> list[str]:
        """What such a formula takes in float32 if it is of a half type."""
        return [] if passes_or_masks(rule.text) else self.block_operands(rule)

    def widened(self, rule: Rule) -> list[str]:
        """Operands of such a formula that may be narrower than the op computed in."""
        return [name for name in self.block_operands(rule) if name in self.op.promoted]


class Recorder:
    """What the template needs to print the functions of one form of a differentiable op."""

    def __init__(self, form: Form, node: NodeView):
        self.form = form
        self.op = form.op
        self.node = node
        self.has_rule = has_rule(form.op)
        self.keeps_operand = self.has_rule and needs_operand(form.op, form.op.params[0].name)

    @property
    def edge_count(self) -> str:
        """How many edges the node gets."""
        if self.node.list_rule:
            return f"{self.node.plan.edges} + {self.node.list_rule.param.name}.size()"
        # The engine knows accumulators by their having no edge: fill_ gets one that leads nowhere.
        return str(max(self.node.plan.edges, 1))

    @property
    def result(self) -> str:
        """A name for what the function returns."""
        if self.form.kind != "plain":
            return "self" if self.form.kind == "inplace" else "out"
        return "results" if self.form.shape_of_result == "tuple" else self.op.results[0].name


def composite_text(form: Form) -> str:
    """The expression of a composite in one of its forms; in place, its last op writes."""
    if form.is_copied:
        given = ", ".join(
            f"autograd::kept({name})" if name == "self" else name for name in form.names
        )
        # `ebb::`, as a parameter may have the op's name.
        return f'autograd::overwrite("{form.name}", self, ebb::{form.op.cpp_name}({given}))'
    text = form.respelled(form.op.composite)
    is_given_once = form.kind != "inplace" or form.op.is_inplace
    return text if is_given_once else re.sub(r"^(\w+)\(self\b", r"\1_(self", text)


def loses_gradient(form: Form) -> bool:
    """Whether the values of operands go into a result that never has a history."""
    is_fresh = form.kind == "plain" and form.shape_of_result == "single"
    return is_fresh and bool(form.required_tensors) and form.op.reads == "values"


def check_supported(op: Op) -> None:
    """Refuse what the templates cannot print."""
    if op.composite not in ("", "hand-written") and op.has_out:
        raise SchemaError(
            f"{op.file}:{op.line}: {op.full_name}: `out` is not for composites of an expression"
        )
    if op.is_differentiable and op.has_inplace and len(op.results) > 1:
        raise SchemaError(f"{op.file}:{op.line}: {op.full_name}: `inplace` needs one result")
    may_lack_rule = op.is_inplace and all(formula == "none" for formula in op.grad.values())
    if op.is_differentiable and not has_rule(op) and not may_lack_rule:
        raise SchemaError(f"{op.file}:{op.line}: {op.full_name}: needs `jvp`, got none")


def emit(family: Family) -> dict[str, str]:
    """The source of a family and a header for each op, by path below the generated folder."""
    for op in family.ops:
        check_supported(op)
    nodes = {op.key: NodeView(op) for op in family.ops if op.is_differentiable}
    functions = [form for op in family.ops for form in forms(op)]
    direct = [form for form in functions if not form.is_copied]
    recorders = [Recorder(form, nodes[form.op.key]) for form in direct if form.op.key in nodes]
    context = {
        "family": family,
        "nodes": list(nodes.values()),
        "functions": functions,
        "recorders": recorders,
        "plain_functions": [
            form for form in direct if form.op.key not in nodes and not form.op.composite
        ],
        "composites": [
            form
            for form in functions
            if form.is_copied or (form.op.composite and form.op.composite != "hand-written")
        ],
        "composite_text": composite_text,
        "loses_gradient": loses_gradient,
    }
    own = {op.name for op in family.ops}
    return {
        **{op_header(name): header(family, name) for name in sorted(own)},
        **operands(family, [form for form in direct if form.op.composite == "hand-written"]),
        f"ebb/autograd/ops/{family.name}.cpp": render_with_ops("autograd.cpp.j2", own, **context),
    }


def operands(family: Family, bodies: list[Form]) -> dict[str, str]:
    """The checks of the tensors that hand-written bodies take."""
    if not bodies:
        return {}
    path = f"ebb/autograd/operands/{family.name}.h"
    template = environment().get_template("operands.h.j2")
    return {path: template.render(path=path, family=family, bodies=bodies)}


def header(family: Family, name: str) -> str:
    """The declarations of one op. Words stay out, so that changing them rebuilds no caller."""
    ops = [op for op in family.ops if op.name == name]
    return (
        environment()
        .get_template("op.h.j2")
        .render(
            path=op_header(name),
            file=family.file,
            name=name,
            functions=[form for op in ops for form in forms(op)],
            needs_reduction=any(p.type.name == "Reduction" for op in ops for p in op.params),
        )
    )
