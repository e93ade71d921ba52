# codegen/emit_autograd.py -- the recording layer: ebb/autograd/ops/<op>.h and <family>.cpp.
#
# For every differentiable op: the class of its node, the entry with the gate, the part that
# records and the slow part. What a node keeps comes from formulas.plan_node(). The functions below
# print the statements that depend on the plan; the rest is in templates/autograd.cpp.j2.
"""Emitter of ebb:: recording functions and nodes."""

from __future__ import annotations

import re

from codegen.cpp import Form, environment, forms, op_header, render_with_ops
from codegen.emit_jvp import has_rule, needs_operand
from codegen.formulas import NodePlan, Rule, SavedOperand, plan_node
from codegen.model import Family, Op
from codegen.signature import Param, SchemaError


class NodeView:
    """What the template needs to print the class of one node."""

    def __init__(self, op: Op):
        self.op = op
        self.plan: NodePlan = plan_node(op)
        lists = [rule for rule in self.plan.rules if rule.param.type.is_tensor_list]
        self.list_rule: Rule | None = lists[0] if lists else None
        self.single_rules = [rule for rule in self.plan.rules if rule is not self.list_rule]
        results = op.differentiable_results
        self.has_many_outputs = len(results) > 1 or results[0].is_list
        # Sizes and dtypes of results are known to the node itself.
        names = [result.name for result in results]
        self.kept_sizes = [name for name in self.plan.sizes if name not in names]
        self.kept_dtypes = [name for name in self.plan.dtypes if name not in names]
        self.own_metas = [name for name in names if name in (*self.plan.sizes, *self.plan.dtypes)]

    @property
    def name(self) -> str:
        """The class."""
        return self.op.node_name

    def members(self) -> list[str]:
        """Declarations of what is saved."""
        lines = [f"autograd::SavedTensor {one.name}_;" for one in self.plan.operands]
        lines += [f"autograd::SavedShape {name}_sizes_;" for name in self.kept_sizes]
        lines += [f"DType {name}_dtype_{{}};" for name in self.kept_dtypes]
        for param in self.plan.attributes:
            lines += _member(param.type.name, param.type.stored, param.name)
        for value in self.plan.values:
            stored = {"int": "int64_t", "float": "double"}.get(value.type, value.type)
            lines += _member(value.type, stored, value.name)
        return lines

    def attributes(self) -> list[str]:
        """Statements that show a visitor what is saved besides tensors."""
        kinds = [("int[]", f"{name}_sizes") for name in self.kept_sizes]
        kinds += [("dtype", f"{name}_dtype") for name in self.kept_dtypes]
        kinds += [(param.type.name, param.name) for param in self.plan.attributes]
        kinds += [(value.type, value.name) for value in self.plan.values]
        lines = []
        for kind, name in kinds:
            shown = f"{name}_"
            if kind == "int[]":
                shown = f"{name}_.get()"
            elif kind == "int[]?":
                shown = f"autograd::given_sizes(has_{name}_, {name}_)"
            lines.append(f'visitor.visit("{name}", autograd::attribute({shown}));')
        return lines

    def apply_lines(self) -> list[str]:
        """The body of apply()."""
        ordered = [rule for rule in self.single_rules if not rule.is_pass_through]
        ordered += [rule for rule in self.single_rules if rule.is_pass_through]
        lines = [f"const bool wants_{rule.edge} = run.wants({rule.edge});" for rule in ordered]
        if self.list_rule:
            lines += self._list_wants()
        lines += self._unpack_lines()
        lines += self._local_lines()
        lines += self._joint_lines()
        for position, rule in enumerate(ordered):
            later = [f"wants_{one.edge}" for one in ordered[position + 1 :] if one.uses_grad]
            lines += self._rule_lines(rule, " || ".join(later))
        if self.list_rule:
            lines += self._list_lines()
        return lines

    def _joint_lines(self) -> list[str]:
        """One call that gives several gradients, made if any of them is wanted."""
        sharing = [rule for rule in self.single_rules if rule.uses_joint]
        if not sharing:
            return []
        bits = [f"(wants_{rule.edge} ? {1 << rule.edge}u : 0u)" for rule in sharing]
        return [
            f"const uint32_t wanted = {' | '.join(bits)};",
            "const std::vector<Tensor> joint =",
            f"    wanted != 0 ? autograd::as_list({self.plan.joint}) : std::vector<Tensor>();",
        ]

    def _list_wants(self) -> list[str]:
        first = self.plan.edges
        return [f"const size_t list_edges = edge_count() - {first};"]

    def _unpack_lines(self) -> list[str]:
        operands = self.plan.operands
        if not operands:
            return []
        lines = [
            f"Tensor {', '.join(one.name for one in operands)};",
            "{",
            "  autograd::SavedLock lock(*this);",
            "  if (is_released()) [[unlikely]] autograd::throw_released(*this);",
        ]
        for one in operands:
            unpack = f'{one.name} = {one.name}_.unpack(*this, "{one.name}", run.releases(), &lock);'
            wants = [
                f"wants_{rule.edge}" for rule in self.single_rules if one.name in rule.operands
            ]
            is_for_list = self.list_rule is not None and one.name in self.list_rule.operands
            lines.append(f"  {unpack}" if is_for_list else f"  if ({' || '.join(wants)}) {unpack}")
        return [*lines, "}"]

    def _local_lines(self) -> list[str]:
        lines = []
        if self.has_many_outputs:
            lines.append("const std::span<Tensor> grads(grad_outs, output_count());")
            for index, result in enumerate(self.op.differentiable_results):
                if not result.is_list:
                    lines.append(
                        f"[[maybe_unused]] Tensor& grad_{result.name} = grad_outs[{index}];"
                    )
            if self.plan.uses_filled_grads:
                lines.append(
                    "const std::vector<Tensor> filled_grads = autograd::filled(*this, grads);"
                )
        else:
            lines.append("[[maybe_unused]] Tensor& grad_out = grad_outs[0];")
            name = self.op.differentiable_results[0].name
            if name != "out":
                lines.append(f"[[maybe_unused]] Tensor& grad_{name} = grad_out;")
        for name in self.kept_sizes:
            lines.append(f"const IntSpan {name}_sizes = {name}_sizes_.get();")
        for name in self.kept_dtypes:
            lines.append(f"const DType {name}_dtype = {name}_dtype_;")
        for index, result in enumerate(self.op.differentiable_results):
            if result.name in self.own_metas:
                unused, name = "[[maybe_unused]] const", result.name
                lines.append(f"{unused} IntSpan {name}_sizes = output_meta({index}).shape();")
                lines.append(f"{unused} DType {name}_dtype = output_meta({index}).dtype;")
                lines.append(
                    f"{unused} Device {name}_device = revealed(output_meta({index}).device);"
                )
        for param in self.plan.attributes:
            lines.append(_local(param.type.name, param.type.stored, param.name))
        for value in self.plan.values:
            stored = {"int": "int64_t", "float": "double"}.get(value.type, value.type)
            lines.append(_local(value.type, stored, value.name))
        return lines

    def _rule_lines(self, rule: Rule, later: str) -> list[str]:
        target = f"grad_inputs[{rule.edge}]"
        if rule.is_pass_through:
            kept = "std::move(grad_out)"
            value = f"{later} ? grad_out : {kept}" if later else kept
            return [f"if (wants_{rule.edge}) {target} = {value};"]
        if not rule.own_sizes:
            return [f"if (wants_{rule.edge}) {target} = {rule.text};"]
        return [
            f"if (wants_{rule.edge}) {{",
            *_meta_lines(rule, str(rule.edge)),
            f"  {target} = {rule.text};",
            "}",
        ]

    def _list_lines(self) -> list[str]:
        rule, first = self.list_rule, self.plan.edges
        return [
            "for (size_t position = 0; position < list_edges; ++position) {",
            f"  if (!run.wants(position + {first})) continue;",
            *(_meta_lines(rule, f"position + {first}") if rule.own_sizes else []),
            f"  grad_inputs[position + {first}] = {rule.text};",
            "}",
        ]


def _meta_lines(rule: Rule, edge: str) -> list[str]:
    name = rule.param.name
    lines = [f"  const autograd::OutputMeta& meta = autograd::meta_of_edge(*this, {edge});"]
    if f"{name}_sizes" in rule.text:
        lines.append(f"  const IntSpan {name}_sizes = meta.shape();")
    if f"{name}_dtype" in rule.text:
        lines.append(f"  const DType {name}_dtype = meta.dtype;")
    if f"{name}_device" in rule.text:
        lines.append(f"  const Device {name}_device = revealed(meta.device);")
    return lines


def _member(kind: str, stored: str, name: str) -> list[str]:
    if kind == "int[]":
        return [f"autograd::SavedShape {name}_;"]
    if kind == "int[]?":
        return [f"bool has_{name}_ = false;", f"autograd::SavedShape {name}_;"]
    return [f"{stored} {name}_{{}};"]


def _local(kind: str, stored: str, name: str) -> str:
    if kind == "int[]":
        return f"const IntSpan {name} = {name}_.get();"
    if kind == "int[]?":
        return (
            f"const std::optional<IntSpan> {name} = has_{name}_ ? "
            f"std::optional<IntSpan>({name}_.get()) : std::nullopt;"
        )
    return f"const {stored}& {name} = {name}_;"


class Recorder:
    """What the template needs to print the functions of one form of a differentiable op."""

    def __init__(self, form: Form, node: NodeView):
        self.form = form
        self.op = form.op
        self.node = node

    def spelled(self, name: str) -> str:
        """A parameter's name in this form."""
        first = self.op.params[0]
        return self.form.spelled(first) if name == first.name else name

    @property
    def edge_count(self) -> str:
        """How many edges the node gets."""
        if self.node.list_rule:
            return f"{self.node.plan.edges} + {self.node.list_rule.param.name}.size()"
        # The engine knows accumulators by their having no edge: fill_ gets one that leads nowhere.
        return str(max(self.node.plan.edges, 1))

    def edge_lines(self) -> list[str]:
        """Statements that connect the edges and find the highest number above."""
        lines = []
        for rule in self.node.single_rules:
            connect = "add_edge" if rule.param.type.is_optional else "add_edge_of"
            add = f"autograd::{connect}(*node, {rule.edge}, {self.spelled(rule.param.name)})"
            lines.append(
                f"above = std::max(above, {add});" if lines else f"uint64_t above = {add};"
            )
        if not lines:
            lines.append("uint64_t above = 0;")
        if self.node.list_rule:
            name, first = self.node.list_rule.param.name, self.node.plan.edges
            lines += [
                f"for (size_t index = 0; index < {name}.size(); ++index) {{",
                f"  above = std::max(above, autograd::add_edge(*node, {first} + index, "
                f"{name}[index]));",
                "}",
            ]
        return lines

    def save_lines(self) -> list[str]:
        """Statements that save operands, sizes and attributes; before an in-place write."""
        lines = []
        for one in self.node.plan.operands:
            if not self._is_result(one):
                lines += self._save_operand(one)
        for name in self.node.kept_sizes:
            lines.append(f"node->{name}_sizes_.save({self.spelled(name)}.sizes());")
        for name in self.node.kept_dtypes:
            lines.append(f"node->{name}_dtype_ = {self.spelled(name)}.dtype();")
        for param in self.node.plan.attributes:
            lines += _store(param)
        for value in self.node.plan.values:
            is_list = value.type == "int[]"
            text = re.sub(
                rf"\b{self.op.params[0].name}\b",
                self.spelled(self.op.params[0].name),
                value.expression,
            )
            lines.append(
                f"node->{value.name}_.save({text});"
                if is_list
                else f"node->{value.name}_ = {text};"
            )
        return lines

    def save_result_lines(self) -> list[str]:
        """Statements that save results; after an in-place write."""
        lines = []
        for one in self.node.plan.operands:
            if not self._is_result(one):
                continue
            target = "self" if self.form.kind == "inplace" else one.name
            save = (
                f"save_output({target}, {one.index})"
                if one.kind == "output"
                else f"save_constant({target})"
            )
            lines.append(f"{self._condition(one)}node->{one.name}_.{save};")
        return lines

    def _is_result(self, one: SavedOperand) -> bool:
        return one.name in [result.name for result in self.op.results] and one.name not in [
            param.name for param in self.op.tensors
        ]

    def _save_operand(self, one: SavedOperand) -> list[str]:
        name = self.spelled(one.name)
        if self.form.kind == "inplace" and name == "self":
            value = f'ops::copy_as("{self.form.name}", self, self.dtype())'
            save = (
                f"save_copy({value}, {one.index})"
                if one.kind == "input"
                else f"save_constant({value})"
            )
        elif one.kind == "input":
            optional = {param.name for param in self.op.tensors if param.type.is_optional}
            keep = "save_input" if one.name in optional else "save_operand"
            save = f"{keep}({name}, {one.index})"
        else:
            save = f"save_constant({name})"
        return [f"{self._condition(one)}node->{one.name}_.{save};"]

    def _condition(self, one: SavedOperand) -> str:
        """Nothing is tested if every recorded call needs the operand."""
        rules = self.node.plan.rules
        if len(one.needed_by) == len(rules):
            return ""
        tests = []
        for rule in rules:
            if rule.param.name in one.needed_by:
                name = self.spelled(rule.param.name)
                is_list = rule.param.type.is_tensor_list
                tests.append(
                    f"autograd::requires_grad({name})" if is_list else f"{name}.requires_grad()"
                )
        return f"if ({' || '.join(tests)}) "

    @property
    def pushed(self) -> str:
        """Arguments of push_...() after a call of the plain form: operands, then results."""
        results = [result.name for result in self.op.results]
        if len(results) > 1:
            results = [f"std::get<{index}>(results)" for index in range(len(results))]
        return ", ".join([self.form.arguments, *results])

    @property
    def out_operands(self) -> str:
        """Pointers to the tensors of a call of the out= form."""
        return "{" + ", ".join(f"&{p.name}" for p in self.op.tensors) + ", &out}"

    def dual_inplace_lines(self) -> list[str]:
        """Statements that write in place where an operand carries a tangent."""
        form, op = self.form, self.op
        call = f"slow_{form.key}({form.arguments}, bits & ~gate::kTangent);"
        if not has_rule(op):
            return [call, "autograd::clear_written_tangents(self);"]
        first = op.params[0]
        keeps = needs_operand(op, first.name)
        lines = ["const Tensor before = clone(self);"] if keeps else []
        pushed = ["before" if keeps else "self"]
        for param in op.params[1:]:
            pushed.append(param.name)
            if param.type.is_tensor:
                pushed[-1] += "_before"
                lines.append(
                    f"const Tensor {pushed[-1]} = autograd::before_write({param.name}, self);"
                )
        lines.append(call)
        if keeps:
            lines.append("autograd::carry_before_write(self, before);")
        pushed += ["self", "autograd::DualResult::written"]
        return [*lines, f"jvp::push_{op.key}({', '.join(pushed)});"]

    @property
    def origins(self) -> str:
        """Operands whose reason for having no history a result inherits."""
        return "".join(f", {name}" for name in self.form.required_tensors)

    @property
    def watched(self) -> str:
        """Arguments of OpWatch::see(): results, operands, and whether given numbers are finite."""
        form = self.form
        result = {"plain": self.result, "inplace": "self", "out": "out"}[form.kind]
        operands = ", ".join(
            f'{{"{name}", &{name}}}' for name in form.required_tensors if name != result
        )
        numbers = [p.name for p in self.op.params if p.type.name.rstrip("?") in ("Scalar", "float")]
        tests = "".join(
            f"{' && ' if i else ', '}autograd::is_finite_number({name})"
            for i, name in enumerate(numbers)
        )
        return f"{result}, {{{operands}}}{tests}"

    @property
    def observed(self) -> str:
        """All arguments, for observers."""
        names = [self.form.spelled(param) for param in self.op.params]
        return ", ".join(f"autograd::argument_of({name})" for name in names)

    @property
    def layout_check(self) -> list[str]:
        """Statements for a call with an operand that is no strided memory: its meaning, or none."""
        form, op = self.form, self.op
        if op.layouts == "any":
            return []
        if op.sparse and form.kind == "plain":
            return [
                "const LocationScope scope(autograd::place_of_call(return_address));",
                f"return {op.sparse};",
            ]
        tensors = [(form.spelled(p), p) for p in (*op.tensors, *op.tensor_lists)]
        names = [name for name, _ in tensors] + (["out"] if form.kind == "out" else [])
        return [f'autograd::refuse_layouts("{form.name}", "{name}", {name});' for name in names]

    @property
    def result(self) -> str:
        """A name for what the function returns."""
        return "results" if self.form.shape_of_result == "tuple" else self.op.results[0].name

    @property
    def defined_check(self) -> str:
        """The call that names an undefined operand."""
        names = self.form.required_tensors
        pointers = ", ".join(f"&{name}" for name in names)
        texts = ", ".join(f'"{name}"' for name in names)
        return f'autograd::check_defined("{self.form.name}", {{{pointers}}}, {{{texts}}});'

    @property
    def max_ndim(self) -> str:
        """The most dims of a differentiable result."""
        results = self.op.differentiable_results
        if results[0].is_list:
            return f"autograd::max_ndim({results[0].name})"
        return results[0].name + ".ndim()" if len(results) == 1 else "autograd::max_ndim(outputs)"


def _store(param: Param) -> list[str]:
    if param.type.name == "int[]":
        return [f"node->{param.name}_.save({param.name});"]
    if param.type.name == "int[]?":
        return [
            f"node->has_{param.name}_ = {param.name}.has_value();",
            f"if ({param.name}) node->{param.name}_.save(*{param.name});",
        ]
    return [f"node->{param.name}_ = {param.name};"]


def composite_text(form: Form) -> str:
    """The expression of a composite in one of its forms."""
    text = form.op.composite
    if form.kind == "inplace":
        first = form.op.params[0].name
        text = re.sub(rf"^{form.op.name}\(", f"{form.op.name}_(", text)
        text = re.sub(rf"\b{first}\b", "self", text)
    return text


def loses_gradient(form: Form) -> bool:
    """Whether the values of operands go into a result that never has a history."""
    is_fresh = form.kind == "plain" and form.shape_of_result == "single"
    return is_fresh and bool(form.required_tensors) and form.op.reads == "values"


def noted_operands(form: Form) -> str:
    """Arguments of note_no_gradient()."""
    return ", ".join(f"&{name}" for name in form.required_tensors)


def check_supported(op: Op) -> None:
    """Refuse what the templates cannot print."""
    if op.composite and op.has_out:
        raise SchemaError(f"{op.file}:{op.line}: {op.full_name}: `out` is not for composites")
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
    recorders = [Recorder(form, nodes[form.op.key]) for form in functions if form.op.key in nodes]
    context = {
        "family": family,
        "nodes": list(nodes.values()),
        "functions": functions,
        "recorders": recorders,
        "plain_functions": [
            form for form in functions if form.op.key not in nodes and not form.op.composite
        ],
        "composites": [
            form for form in functions if form.op.composite and form.op.composite != "hand-written"
        ],
        "composite_text": composite_text,
        "loses_gradient": loses_gradient,
        "noted_operands": noted_operands,
    }
    own = {op.name for op in family.ops}
    return {
        **{op_header(name): header(family, name) for name in sorted(own)},
        f"ebb/autograd/ops/{family.name}.cpp": render_with_ops("autograd.cpp.j2", own, **context),
    }


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
