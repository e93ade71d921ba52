# codegen/formulas.py -- what gradient formulas name, and so what a node must save.
#
# A formula is C++; only its names matter here. A tensor named as such is saved, under the condition
# that an input whose formula names it requires a gradient. A tensor of which only shape, dtype and
# the like are asked is not saved: its sizes are. Where a formula asks for those of its own input,
# not even that: the node at the other end of the edge knows them. Start reading at plan_node().
"""Inference of saved operands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from codegen.model import Op, SavedValue
from codegen.signature import Param, SchemaError

# A name that is not a member, a qualified name or part of a longer word, and what follows it.
_NAME = re.compile(
    r"(?<![\w.:>])([A-Za-z_]\w*)(\s*\.\s*(shape|sizes|ndim|numel|size|dtype|device)\s*\()?"
)


@dataclass
class SavedOperand:
    """A tensor that a node keeps."""

    name: str
    kind: str  # input, output or constant
    index: int  # of its edge or output
    needed_by: list[Rule] = field(default_factory=list)  # whose formulas name it


@dataclass
class Rule:
    """One gradient formula, ready to be printed."""

    param: Param
    edge: int
    text: str  # with metadata rewritten: input.shape() -> input_sizes
    own_sizes: bool = False  # asks for sizes or dtype of its own input
    uses_grad: bool = False
    uses_joint: bool = False

    @property
    def is_pass_through(self) -> bool:
        """Whether the gradient passes unchanged."""
        return self.text == "grad_out"


@dataclass
class NodePlan:
    """Everything that the class of a node contains."""

    op: Op
    rules: list[Rule] = field(default_factory=list)
    operands: list[SavedOperand] = field(default_factory=list)
    sizes: list[str] = field(default_factory=list)  # tensors whose sizes are kept
    dtypes: list[str] = field(default_factory=list)  # tensors whose dtype is kept
    attributes: list[Param] = field(default_factory=list)
    values: list[SavedValue] = field(default_factory=list)
    uses_filled_grads: bool = False
    joint: str = ""  # the op's `joint`, ready to be printed

    @property
    def edges(self) -> int:
        """Edges of single tensors; those of a list come behind."""
        return sum(1 for rule in self.rules if not rule.param.type.is_tensor_list)


def names_in(formula: str) -> list[tuple[str, str]]:
    """Names in a formula, each with the metadata asked of it (empty: the value itself)."""
    code = re.sub(r'"[^"]*"', '""', formula)
    return [(match[1], match[3] or "") for match in _NAME.finditer(code)]


def makes_intermediates(formula: str) -> bool:
    """Whether a formula is more than one call of an op."""
    formula = re.sub(r"\bconj\((\w+)\)", r"\1", formula)  # of real numbers, themselves
    one_call = r"(?!rules::)[\w:]+\([\w:., ]*\)|\w+ [-+*/] \w+"
    return re.fullmatch(one_call, formula) is None


def passes_or_masks(formula: str) -> bool:
    """Whether a formula gives the gradient in places and 0 elsewhere: nothing is rounded."""
    return re.fullmatch(r"where\(.*, (grad_out, 0|0, grad_out)\)", formula) is not None


def plan_node(op: Op) -> NodePlan:
    """Work out edges, formulas and saved values of an op's node."""
    plan = NodePlan(op)
    ordered = [p for p in op.tensors if op.grad.get(p.name, "none") != "none"]
    ordered += [p for p in op.tensor_lists if op.grad.get(p.name, "none") != "none"]
    plan.rules = [Rule(param, edge, "") for edge, param in enumerate(ordered)]
    for rule in plan.rules:
        _read_formula(plan, rule, " ".join(op.grad[rule.param.name].split()))
    plan.joint = _rewrite(op, op.joint)
    return plan


def _read_formula(plan: NodePlan, rule: Rule, formula: str) -> None:
    _note_names(plan, rule, formula)
    rule.uses_joint = any(name == "joint" for name, _ in names_in(formula))
    if rule.uses_joint:
        _note_names(plan, rule, plan.op.joint, is_joint=True)
    rule.text = _rewrite(plan.op, formula)


def _note_names(plan: NodePlan, rule: Rule, formula: str, is_joint: bool = False) -> None:
    for name, asked in names_in(formula):
        if name in ("grad_out", "grads", "filled_grads", *_gradient_names(plan.op)):
            rule.uses_grad = True
            plan.uses_filled_grads |= name == "filled_grads"
        elif asked:
            # What all rules share cannot ask the edge of one of them.
            _note_metadata(plan, rule, name, asked, may_ask_edge=not is_joint)
        else:
            _note_value(plan, rule, name)


def _gradient_names(op: Op) -> list[str]:
    return [f"grad_{result.name}" for result in op.differentiable_results]


def _tensor_names(op: Op) -> list[str]:
    return [p.name for p in (*op.tensors, *op.tensor_lists)] + [r.name for r in op.results]


def _note_metadata(plan: NodePlan, rule: Rule, name: str, asked: str, may_ask_edge: bool) -> None:
    if name not in _tensor_names(plan.op):
        return
    if name == rule.param.name and may_ask_edge:
        rule.own_sizes = True
        return
    if asked == "device" and name not in [result.name for result in plan.op.results]:
        op = plan.op
        raise SchemaError(
            f"{op.file}:{op.line}: {op.full_name}: `grad` may ask the device of `{name}` only in "
            "the formula of that parameter"
        )
    kept = plan.dtypes if asked == "dtype" else plan.sizes
    if name not in kept:
        kept.append(name)


def _note_value(plan: NodePlan, rule: Rule, name: str) -> None:
    op = plan.op
    if name in [param.name for param in op.tensor_lists]:
        raise SchemaError(
            f"{op.file}:{op.line}: {op.full_name}: `grad` names the list `{name}`; use `save` for "
            "what is needed of it"
        )
    if name in _tensor_names(op):
        operand = next((one for one in plan.operands if one.name == name), None)
        if operand is None:
            operand = SavedOperand(name, *_kind_of(plan, name))
            plan.operands.append(operand)
        if rule not in operand.needed_by:
            operand.needed_by.append(rule)
        return
    for param in op.params:
        if param.name == name and param not in plan.attributes:
            plan.attributes.append(param)
    for value in op.saved_values:
        if value.name == name and value not in plan.values:
            plan.values.append(value)


def _kind_of(plan: NodePlan, name: str) -> tuple[str, int]:
    for rule in plan.rules:
        if rule.param.name == name:
            return "input", rule.edge
    for index, result in enumerate(plan.op.differentiable_results):
        if result.name == name:
            return "output", index
    return "constant", 0


_METADATA = {
    "shape": "{0}_sizes",
    "sizes": "{0}_sizes",
    "ndim": "static_cast<int64_t>({0}_sizes.size())",
    "numel": "autograd::numel_of({0}_sizes)",
    "dtype": "{0}_dtype",
    "device": "{0}_device",
}


def _rewrite(op: Op, formula: str) -> str:
    """Replace `x.shape()` by `x_sizes` and so on, for tensors of the op."""
    for name in _tensor_names(op):
        for asked, text in _METADATA.items():
            formula = re.sub(
                rf"(?<![\w.:>]){name}\s*\.\s*{asked}\s*\(\s*\)", text.format(name), formula
            )
        formula = re.sub(
            rf"(?<![\w.:>]){name}\s*\.\s*size\s*\(", f"autograd::size_at({name}_sizes, ", formula
        )
    return formula
