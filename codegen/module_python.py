# codegen/module_python.py -- rows of the module table as their Python templates read them.
#
# modules.py.j2 prints the classes, functional.py.j2 the functions that add an option to an op.
"""``PythonModule`` and ``AddedFunction``."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from typing import Any

from codegen.examples import example_of
from codegen.module_values import tensor_repr
from codegen.modules import Module, ModuleFamily, Option, Weight
from codegen.signature import Param

CHECKS = {
    "Scalar": "number",
    "float": "number",
    "int": "integer",
    "int?": "optional_integer",
    "int[]": "integers",
    "int[]?": "integers",
    "bool": "flag",
    "str": "text",
}
# How losses were told what `reduction` tells them now.
AVERAGING = ("size_average", "reduce")
OWN_STARTS = ("by_fan",)  # first values that ebb.nn._options knows, not ebb.nn.init


@dataclass
class PythonModule:
    """A row as the Python template reads it."""

    row: Module

    @property
    def parameters(self) -> list[str]:
        """The parameters of __init__()."""
        texts = ["self"]
        for option in self.row.options:
            if option.keyword_only and "*" not in texts:
                texts.append("*")
            texts += [f"{name}: bool | None = None" for name in self.older_before(option.name)]
            texts.append(_parameter(option))
        return texts

    def older_before(self, name: str) -> list[str]:
        """Which of PyTorch's older options of losses stand before an option."""
        if not self.averages:
            return []
        places = {AVERAGING[0]: self.row.op.averaging, AVERAGING[1]: "reduction"}
        return [older for older, place in places.items() if place == name]

    @property
    def averages(self) -> bool:
        """Whether it is a loss that PyTorch's older options tell how to reduce."""
        return self.row.op is not None and bool(self.row.op.averaging)

    def given(self, option: Option) -> str:
        """The expression of a value as it was given."""
        name = option.name
        if self.averages and name == "reduction":
            return f"check.averaged(self, {', '.join([name, *AVERAGING])})"
        return f"{option.if_none} if {name} is None else {name}" if option.if_none else name

    def kept(self, option: Option) -> str:
        """The type of the attribute that keeps a value: None stands for another option's value."""
        return option.annotation.removesuffix(" | None") if option.if_none else option.annotation

    def check(self, option: Option) -> str:
        """The function of ebb.nn._options that looks at a value; empty if none does."""
        if option.checked_by:
            return option.checked_by.partition("(")[0]
        if not option.is_checked:
            return ""
        return "choice" if option.choices else CHECKS[option.type]

    def check_args(self, option: Option) -> list[str]:
        """What that function gets beside the value: "2" of `counts(2)`."""
        given = option.checked_by.partition("(")[2].removesuffix(")")
        return [given] if given else []

    @property
    def passed(self) -> list[str]:
        """What forward() gives its function: options follow that one's order, or go by name."""
        order = [param.name for param in self.row.params]
        passed = self._inputs
        weights = [weight.name for weight in self.row.weights]
        options = {one.name: one for one in self.row.options if not one.is_own}
        fixed = self.row.fixed
        wanted = [*options, *weights, *fixed, *(["training"] if "training" in order else [])]
        if "training" in order or weights or fixed:
            wanted.sort(key=order.index)
        for name in wanted:
            value = f"self.{options[name].attribute if name in options else name}"
            value = _literal(fixed[name]) if name in fixed else value
            param = self.row.params[order.index(name)]
            is_next = order[len(passed)] == name and not param.keyword_only
            if self.averages and order.index(name) >= order.index(self.row.op.averaging):
                is_next = False  # the function's signature has older options before it
            passed.append(value if is_next else f"{name}={value}")
        return passed

    @property
    def result(self) -> str:
        """The annotation of what a call returns."""
        return _result(self.row)

    @property
    def inputs(self) -> str:
        """The parameters of forward()."""
        return ", ".join(f"{name}: Tensor" for name in self._inputs)

    @property
    def _inputs(self) -> list[str]:
        return [self.row.named.get(name, name) for name in self.row.inputs]

    @property
    def weights(self) -> list[dict[str, Any]]:
        """Its parameters: how each is made, and how it begins."""
        return [
            {
                "name": one.name,
                "type": "Parameter | None" if one.wanted else "Parameter",
                "held": ["self", f'"{one.name}"', self._of_self(one.shape), "device", "dtype"]
                + ([one.wanted] if one.wanted else []),
                "wanted": one.wanted,
                "start": self._started(one),
            }
            for one in self.row.weights
        ]

    def _started(self, weight: Weight) -> str:
        name, _, given = self._of_self(weight.start).partition("(")
        args = [f"self.{weight.name}", *([given.removesuffix(")")] if given.strip(")") else [])]
        home = "check" if name in OWN_STARTS else "init"
        return f"{home}.{name}({', '.join(args)})"

    def _of_self(self, expression: str) -> str:
        """An expression of options as one of attributes."""
        names = {option.name: option.attribute for option in self.row.options if option.is_kept}
        return re.sub(
            r"[A-Za-z_]\w*",
            lambda match: f"self.{names[match[0]]}" if match[0] in names else match[0],
            expression,
        )

    @property
    def checks(self) -> list[tuple[str, str]]:
        """Conditions between numbers, and what their error shows of the values."""
        return [(one, _shown_values(one, "{}")) for one in self.row.checks]

    @property
    def shown(self) -> str:
        """The tuple of names that the representation has."""
        names = ", ".join(f'"{name}"' for name in self.row.shown)
        return f"({names},)" if len(self.row.shown) == 1 else f"({names})"

    @property
    def example(self) -> list[str]:
        """Lines of the docstring's example."""
        example = self.row.example
        if example is None:
            return []
        options = example.get("options", {})
        tensors = [option.name for option in self.row.options if option.type == "Tensor?"]
        given = ", ".join(
            f"{name}={f'ebb.tensor({value})' if name in tensors else _literal(value)}"
            for name, value in options.items()
        )
        make = f"ebb.nn.{self.row.name}({given})"
        if "out_shape" in example:
            sizes = [", ".join(map(str, shape)) for shape in example["shapes"]]
            passed = ", ".join(f"ebb.ones({one})" for one in sizes)
            shown = f"ebb.Size({example['out_shape']})"
            return [f">>> layer = {make}", f">>> layer({passed}).shape", shown]
        tensors = [f"ebb.tensor({value})" for value in example["inputs"]]
        plain = ".detach()" if self.row.weights else ""
        lines = [f">>> {make}({', '.join(tensors)}){plain}"]
        if len(lines[0]) > 80:
            lines = [f">>> layer = {make}", f">>> layer({', '.join(tensors)}){plain}"]
        if len(lines[-1]) > 92:
            lines[-1:] = [">>> layer(", *(f"...     {tensor}," for tensor in tensors), "... )"]
        shown = tensor_repr(example["out"]).splitlines()
        return [*lines, *(line or "<BLANKLINE>" for line in shown)]


@dataclass
class AddedFunction:
    """A function of ebb.nn.functional that adds an option to its op."""

    row: Module

    @classmethod
    def of(cls, family: ModuleFamily) -> list[AddedFunction]:
        """Those of a family; what changes more than that is written by hand."""
        return [
            cls(row)
            for row in family.modules
            if any(option.is_added for option in row.options)
            and {one.name for one in row.params} <= {*row.inputs, "training", *_names(row.options)}
            and row.op is not None
            and len(row.op.results) == 1
        ]

    @property
    def options(self) -> list[Option]:
        """All parameters but the input, in the op's order, and the added one."""
        known = {option.name: option for option in self.row.options}
        params = [one for one in self.row.params if one.name not in self.row.inputs]
        return [known.get(one.name) or _mode(one) for one in params]

    @property
    def names(self) -> list[str]:
        """The ops that are called."""
        name, added = self.row.function, self.options[-1].name
        return [name, name + "_with_indices"] if added == "return_indices" else [name]

    @property
    def parameters(self) -> list[str]:
        """Its parameters, annotated."""
        return ["input: Tensor", *map(_parameter, self.options)]

    @property
    def overloads(self) -> list[tuple[list[str], str]]:
        """What `return_indices` returns, for type checkers: parameters and result."""
        if len(self.names) == 1:
            return []
        plain, added = self.parameters[:-1], self.options[-1].name
        return [
            ([*plain, f"{added}: Literal[False] = False"], "Tensor"),
            ([*plain, "*", f"{added}: Literal[True]"], "tuple[Tensor, Tensor]"),
            (self.parameters, self.result),
        ]

    @property
    def example(self) -> list[str]:
        """Lines of the op's example, with the name that users of this module know."""
        own = f"ebb.{self.row.function}("
        lines = example_of(self.row.function)
        return [line.replace(own, f"ebb.nn.functional.{self.row.function}(") for line in lines]

    @property
    def passed(self) -> list[str]:
        """The options that the op takes."""
        return [option.name for option in self.options[:-1]]

    @property
    def result(self) -> str:
        """The annotation of what it returns."""
        return _result(self.row)


def _names(options: list[Option]) -> set[str]:
    return {option.name for option in options}


def _mode(param: Param) -> Option:
    """The parameter that is a module's mode."""
    doc = "Otherwise the input is returned as it is."
    return Option(param, doc, False, False, param.name, "bool", True, (), "")


def _parameter(option: Option) -> str:
    """A parameter of Python as it is declared."""
    default = option.param.python_default
    text = f"{option.name}: {option.annotation}"
    return text if default is None else f"{text} = {_double_quoted(default)}"


def _result(row: Module) -> str:
    """The annotation of what a call returns."""
    has_places = any(option.name == "return_indices" for option in row.options)
    return "Tensor | tuple[Tensor, Tensor]" if has_places else "Tensor"


def folded(head: str, items: list[str], tail: str) -> str:
    """A list in brackets, on lines of their own where one line is too short, as ruff folds it."""
    line = head + ", ".join(items) + tail
    if len(line) <= 100:
        return line
    indent = " " * (len(head) - len(head.lstrip()))
    inner = f"{indent}    {', '.join(items)}"
    if len(inner) > 100:
        inner = ",\n".join(f"{indent}    {item}" for item in items) + ","
    return f"{head}\n{inner}\n{indent}{tail}"


def _double_quoted(default: str) -> str:
    value = ast.literal_eval(default)
    return json.dumps(value) if isinstance(value, str) else default


def _literal(value: Any) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _shown_values(condition: str, form: str) -> str:
    names = re.findall(r"[a-z_]\w*", condition)
    return " and ".join(form.replace("{}", "{" + name + "}") for name in names)
