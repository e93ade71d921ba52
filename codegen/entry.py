# codegen/entry.py -- from the files of ops/ to the model: each row is checked as it is read.
#
# A file is parsed with its line numbers kept, each entry is checked against ops/schema.yaml
# (schema.py) and then as a whole, and every mistake names file, line and op. Start reading at
# load_family().
"""Reads and checks the op table."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from codegen.device_text import parse_device
from codegen.dtypes import KernelUse, image, parse_class, parse_kernel
from codegen.kinds import Body, body_of
from codegen.model import TABLE, Family, Op, SavedValue
from codegen.operators import OperatorUse, parse_operator
from codegen.schema import KEYS, LOADER, RowError, check_keys, check_names, nearest
from codegen.signature import Param, SchemaError, Signature, parse_params, parse_signature

DTYPE_RULES = ("promote", "promote_float", "promote_number")


def load_family(path: Path, shown_as: str | None = None) -> Family:
    """Read one file of the table; a mistake raises SchemaError."""
    shown = shown_as or _shown(path)
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        problem = getattr(error, "problem", None) or error
        raise SchemaError(f"{shown}:{line}: yaml: {problem}") from error
    if not isinstance(root, yaml.SequenceNode):
        raise SchemaError(f"{shown}:1: file: needs a list of ops, got something else")
    ops = [_Entry(node, path.stem, shown).to_op() for node in root.value]
    seen: dict[str, Op] = {}
    for op in ops:
        first = seen.setdefault(op.full_name, op)
        if first is not op:
            raise SchemaError(
                f"{shown}:{op.line}: {op.full_name}: already defined in line {first.line}"
            )
    for place, op in enumerate(ops):
        op.without_default = _told_apart_at(op, [one for one in ops[:place] if one.name == op.name])
    return Family(path.stem, shown, ops)


def _shown(path: Path) -> str:
    """A file of the table as mistakes name it."""
    inside = path.is_relative_to(TABLE)
    return str(path.relative_to(TABLE.parent)) if inside else f"{path.parent.name}/{path.name}"


def _told_apart_at(op: Op, earlier: list[Op]) -> int:
    """How many parameters C++ needs before it knows this overload from those above it."""
    count = 0
    for other in earlier:
        required = [[p.type.name for p in one.params if p.default is None] for one in (op, other)]
        if required[0] == required[1]:
            pairs = zip(op.params, other.params, strict=False)
            same = list(itertools.takewhile(lambda pair: pair[0].type == pair[1].type, pairs))
            count = max(count, len(same) + 1)
    return count


class _Entry:
    """One entry on its way from YAML to Op."""

    def __init__(self, node: yaml.Node, family: str, shown: str):
        self.family = family
        self.shown = shown
        self.op_line = self.line = node.start_mark.line + 1
        self.name = "?"
        if not isinstance(node, yaml.MappingNode):
            self.fail("needs keys such as `op:`, got something else")
        self.values: dict[str, Any] = {}
        self.lines: dict[str, int] = {}
        constructor = yaml.SafeLoader("")
        for key, value in node.value:
            self.line = key.start_mark.line + 1
            if key.value in self.values:
                self.fail(f"key `{key.value}` is given twice")
            self.values[key.value] = constructor.construct_object(value, deep=True)
            self.lines[key.value] = self.line
            if isinstance(value, yaml.MappingNode):
                inner = {
                    f"{key.value}.{one.value}": one.start_mark.line + 1 for one, _ in value.value
                }
                self.lines.update(inner)
            if key.value == "op":
                self.name = str(self.values["op"]).split("(")[0].strip()

    def fail(self, text: str, key: str | None = None) -> None:
        line = self.lines.get(key, self.op_line) if key else self.line
        raise SchemaError(f"{self.shown}:{line}: {self.name}: {text}")

    def guarded(self, key: str, parse: Callable[..., Any], *arguments: Any) -> Any:
        """Call a parser, whose error gets this entry's place."""
        try:
            return parse(*arguments)
        except SchemaError as error:
            self.fail(str(error), error.path if isinstance(error, RowError) else key)

    def to_op(self) -> Op:
        self.line = self.op_line
        self.guarded("op", check_keys, self.values)
        signature = self.guarded("op", parse_signature, self.values["op"])
        self.guarded("op", check_names, self.values, signature)
        kind = self.value("kind")
        rule, _, result = ("" if kind else self.values.get("dtype", "")).partition("->")
        op = Op(
            signature=signature,
            family=self.family,
            file=self.shown,
            line=self.op_line,
            doc=self.text("doc"),
            dtypes=self.accepted(signature),
            dtype_rule=rule.strip(),
            result_dtype=self.result_dtype(result.strip()),
            is_impl=self.value("impl") or bool(kind),
            composite=self.composite(),
            devices=self.value("devices"),
            layouts=self.value("layouts"),
            sparse=self.sparse(signature),
            reads=self.value("reads"),
            has_inplace=self.value("inplace") is not False,
            copies_inplace=self.values.get("inplace") == "copy",
            has_out=self.values.get("out") is True,
            copies_out=self.value("out") == "copy",
            is_method=self.value("method"),
            skip=self.text("skip"),
            namespace=self.namespace(signature),
            aliases=self.aliases(),
            spellings=self.spellings(signature),
            ignored=self.ignored(signature),
            averaging=self.averaging(signature),
            takes_numbers=self.value("numbers"),
            defaults={name: str(one) for name, one in self.value("defaults").items()},
            python=self.value("python"),
            cost=self.value("cost"),
            takes_generator=self.value("generator") is not False,
            has_generator_place=self.values.get("generator") == "place",
            batch=self.value("batch"),
            test=self.value("test"),
            not_differentiable=tuple(self.strings("not_differentiable")),
        )
        op.saved_values = self.saved_values()
        op.kernels = self.kernels(op)
        op.body = self.body(op, kind)
        op.device = self.guarded(
            "device", parse_device, self.values.get("device"), op.kernels, bool(op.body)
        )
        op.checks = self.checks(op)
        op.operators = self.operators(op)
        op.grad = self.gradients(op)
        op.joint = self.joint(op)
        op.jvp = self.forward_rule(op)
        op.amp = self.amp(op)
        op.poles = self.poles(op)
        self.check_whole(op)
        return op

    def result_dtype(self, text: str) -> str:
        """The C++ name of what stands behind `->` in `dtype`."""
        known = {"": "same", "bool": "boolean", "real": "real", "complex": "complex"}
        if text not in known:
            self.fail(f"`dtype` needs bool, real or complex behind `->`, got `{text}`", "dtype")
        return known[text]

    def value(self, key: str) -> Any:
        """What the row says, or what rows without the key have."""
        return self.values.get(key, KEYS[key].default)

    def text(self, key: str) -> str:
        return " ".join(self.values.get(key, "").split())

    def sparse(self, signature: Signature) -> str:
        """What a call with a sparse operand means; `values`: the op on what that stores."""
        text = self.text("sparse")
        if text != "values":
            return text
        names = [param.name for param in signature.params]
        given = ", ".join(["stored", *names[1:]])
        function = f"[&](const Tensor& stored) {{ return {signature.name}({given}); }}"
        return f'rules::on_values("{signature.name}", {names[0]}, {function})'

    def strings(self, key: str) -> list[str]:
        value = self.values.get(key, [])
        return [value] if isinstance(value, str) else value

    def composite(self) -> str:
        value = self.values.get("composite", "")
        return "hand-written" if value is True else self.text("composite")

    def namespace(self, signature: Signature) -> str:
        value = self.value("namespace")
        if value and not signature.name.startswith(f"{value}_"):
            self.fail(f"`namespace: {value}` needs a name that starts with {value}_", "namespace")
        return value

    def aliases(self) -> tuple[str, ...]:
        found = tuple(self.strings("aliases"))
        for alias in found:
            if "." in alias and alias.partition(".")[0] not in KEYS["namespace"].values:
                self.fail(f"`aliases` needs a namespace before the point, got {alias}", "aliases")
        return found

    def accepted(self, signature: Signature) -> dict[str, tuple[str, ...]]:
        names = [p.name for p in signature.params if p.type.is_tensor or p.type.is_tensor_list]
        value = self.values.get("dtypes", "any")
        if isinstance(value, str):
            value = dict.fromkeys(names, value)
        return {
            name: self.guarded("dtypes", parse_class, str(value.get(name, "any"))) for name in names
        }

    def spellings(self, signature: Signature) -> dict[str, tuple[str, ...]]:
        names = [param.name for param in signature.params]
        found = {
            name: (value,) if isinstance(value, str) else tuple(value)
            for name, value in self.values.get("spellings", {}).items()
        }
        for name, spelled in found.items():
            if set(spelled) & set(names):
                self.fail(f"`spellings` needs `parameter: other names`, got `{name}`", "spellings")
        return found

    def ignored(self, signature: Signature) -> tuple[Param, ...]:
        found = self.guarded("ignored", parse_params, self.text("ignored"))
        names = [param.name for param in signature.params]
        for param in found:
            if param.name in names or param.default is None:
                self.fail("`ignored` needs further parameters with a default", "ignored")
        return found

    def averaging(self, signature: Signature) -> str:
        value = self.text("averaging")
        names = [param.name for param in signature.params]
        if value and (value not in names or "reduction" not in names):
            self.fail(f"`averaging` needs a parameter of a loss, got `{value}`", "averaging")
        return value

    def saved_values(self) -> tuple[SavedValue, ...]:
        saved = []
        for declared, expression in (self.values.get("save") or {}).items():
            words = declared.split()
            if len(words) != 2 or words[0] not in ("int[]", "int", "bool", "float", "Scalar"):
                self.fail(f"`save` needs `type name: expression`, got `{declared}`", "save")
            saved.append(SavedValue(words[1], words[0], str(expression)))
        return tuple(saved)

    def kernels(self, op: Op) -> tuple[KernelUse, ...]:
        if op.is_pointwise and len(self.strings("kernel")) != 1:
            self.fail("needs one `kernel`, or `impl: true`, or `composite`")
        if op.is_pointwise and op.dtype_rule not in DTYPE_RULES:
            self.fail(
                f"`dtype` needs one of {', '.join(DTYPE_RULES)}, got {op.dtype_rule!r}", "dtype"
            )
        promoted = [dtypes for name, dtypes in op.dtypes.items() if not op.is_condition(name)]
        default = image(op.dtype_rule, promoted[-1] if promoted else ())
        uses = [
            self.guarded("kernel", parse_kernel, one, default) for one in self.strings("kernel")
        ]
        operands = [p.name for p in op.params if p.type.is_tensor or p.type.name == "Scalar"]
        for use in uses:
            for name in use.operands:
                if name not in operands:
                    self.fail(f"`kernel` names `{name}`, which is no operand", "kernel")
        return tuple(use.with_operands(tuple(operands)) for use in uses)

    def body(self, op: Op, kind: str) -> Body | None:
        values = {key: self.value(key) for key in ("nothing", "flag")}
        values["dtype"] = self.values.get("dtype", "same")
        types = tuple(use.type for use in op.kernels)
        return self.guarded("kind", body_of, kind, values, op.signature, types)

    def operators(self, op: Op) -> tuple[OperatorUse, ...]:
        names = tuple(param.name for param in op.params)
        if "operator" in self.values and any(
            param.type.name not in ("Tensor", "Scalar") for param in op.params
        ):
            self.fail("`operator` is for ops of tensors and numbers alone", "operator")
        return tuple(
            self.guarded("operator", parse_operator, one, names) for one in self.strings("operator")
        )

    def checks(self, op: Op) -> tuple[tuple[str, tuple[str, ...]], ...]:
        names = [param.name for param in op.params]
        parsed = []
        for one in self.strings("check"):
            match = re.fullmatch(r"(\w+)\(([^()]*)\)", one.strip())
            if not match or match[1] not in KEYS["check"].values:
                known = ", ".join(KEYS["check"].values)
                self.fail(f"`check` needs one of {known} with operands, got `{one}`", "check")
            arguments = tuple(part.strip() for part in match[2].split(","))
            for name in arguments:
                if not name.isdigit() and name not in names:
                    text = f"`check` names `{name}`, which is no parameter{nearest(name, names)}"
                    self.fail(text, "check")
            parsed.append((match[1], arguments))
        return tuple(parsed)

    def gradients(self, op: Op) -> dict[str, str]:
        value = self.values.get("grad")
        names = [param.name for param in (*op.tensors, *op.tensor_lists)]
        if op.composite:
            return {}
        if value == "none" or not names:
            return {}
        if value == "refused":
            value = dict.fromkeys(names, value)
        if not isinstance(value, dict):
            self.fail("needs `grad: none`, `grad: refused` or a formula per tensor parameter")
        formulas = {name: str(formula) for name, formula in value.items()}
        for name in names:
            if name not in formulas:
                self.fail(f"`grad` needs a formula or `none` for `{name}`", "grad")
        return {
            name: op.refusal(name) if formulas[name] == "refused" else formulas[name]
            for name in names
        }

    def joint(self, op: Op) -> str:
        text = self.text("joint")
        is_named = any(re.search(r"\bjoint\b", formula) for formula in op.grad.values())
        if is_named and not text:
            self.fail("`grad` names `joint`, which needs a key of its own", "grad")
        if text and not is_named:
            self.fail("`joint` needs a formula in `grad` that names it", "joint")
        return text

    def forward_rule(self, op: Op) -> str | dict[str, str]:
        default = (
            "auto" if op.is_differentiable and (op.is_pointwise or op.only_refuses) else "none"
        )
        value = self.values.get("jvp", default)
        if isinstance(value, dict):
            for name in value:
                if name == "joint" and len(value) == 1:
                    continue
                if op.grad.get(name, "none") == "none":
                    self.fail(f"`jvp` names `{name}`, which has no gradient", "jvp")
            return {name: str(formula) for name, formula in value.items()}
        if value not in ("auto", "linear", "none"):
            self.fail(
                f"`jvp` needs auto, linear, none or a rule per parameter, got {value!r}", "jvp"
            )
        return value

    def amp(self, op: Op) -> str:
        """Its list; an op that computes, and is recorded, must be on one."""
        value = self.values.get("amp", "")
        may_be_cast = (
            not op.is_inplace
            and op.composite != "hand-written"
            and (op.is_differentiable or bool(op.composite))
            and not op.only_refuses
        )
        if value not in ("", "none") and not may_be_cast:
            self.fail("`amp` is for recorded ops and expressions of them, not in-place", "amp")
        if value:
            return value
        if op.python == "private" or op.composite or not may_be_cast:
            return "none"
        if op.is_pointwise:
            return "widest"
        if op.cost in ("view", "copy"):
            return "none"
        if op.cost != "elements":
            return "lower"
        self.fail(f"needs `amp`, one of {', '.join(KEYS['amp'].values)}")

    def poles(self, op: Op) -> dict[str, tuple[float | str, ...]]:
        """By tensor parameter: the numbers at which a result may be infinite, or `any`."""
        value = self.value("poles")
        return {
            name: ("any",)
            if pole == "any"
            else tuple(float(one) for one in (pole if isinstance(pole, list) else [pole]))
            for name, pole in value.items()
        }

    def check_whole(self, op: Op) -> None:
        if op.sparse and op.layouts == "any":
            self.fail("`sparse` is for ops that know strided operands only", "sparse")
        if op.has_generator_place and (
            op.has_out or op.copies_out or any(param.keyword_only for param in op.params)
        ):
            self.fail("`generator: place` is not for ops with arguments by name only", "generator")
        if op.composite and any(kind != "same_dtype" for kind, _ in op.checks):
            self.fail(
                "a composite knows `check: same_dtype(a, b)` alone; its body does others", "check"
            )
        if op.is_inplace and (not op.params or op.params[0].name != "self"):
            self.fail("an op that ends in `_` needs `Tensor self` first", "op")
        if op.namespace and op.has_inplace:
            self.fail("`inplace` is not for functions of a namespace", "inplace")
        if op.has_inplace and (not op.params or op.params[0].type.name != "Tensor"):
            self.fail("`inplace` needs a tensor as first parameter", "inplace")
        if len(op.tensor_lists) > 1:
            self.fail("needs at most one list of tensors", "op")
