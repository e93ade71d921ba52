# codegen/emit_modules.py -- the modules of the table: C++ classes, Python classes and their tests.
#
# ebb/nn/<family>.h and .cpp, python/ebb/nn/<family>.py, the functions of ebb.nn.functional that add
# an option to an op, a C++ test of all examples and module_rows.json for the Python tests. What is
# text stands in the templates; here is how options read in either language.
"""Emitter of modules that hold options only."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from typing import Any

from codegen.cpp import comment, environment
from codegen.examples import example_of
from codegen.modules import Module, ModuleFamily, Option
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
STORED = {"Scalar": "double", "Tensor?": "Tensor", "str": "std::string"}
# C++ modules with more options than these take a struct of them.
MOST_PARAMETERS = 3


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
            texts.append(_parameter(option))
        if self.averages:
            texts += [] if "*" in texts else ["*"]
            texts += [f"{name}: bool | None = None" for name in AVERAGING]
        return texts

    @property
    def averages(self) -> bool:
        """Whether it is a loss that averages unless told otherwise."""
        return any(option.name == "reduction" for option in self.row.options)

    def given(self, option: Option) -> str:
        """The expression of a value as it was given."""
        name = option.name
        if self.averages and name == "reduction":
            return f"check.averaged(self, {', '.join([name, *AVERAGING])})"
        return f"{option.if_none} if {name} is None else {name}" if option.if_none else name

    def check(self, option: Option) -> str:
        """The function of ebb.nn._options that looks at a value; empty if none does."""
        if not option.is_checked:
            return ""
        return "choice" if option.choices else CHECKS[option.type]

    @property
    def passed(self) -> list[str]:
        """What forward() gives its function: options follow that one's order, or go by name."""
        order = [param.name for param in self.row.params]
        passed = list(self.row.inputs)
        options = {option.name: option for option in self.row.options}
        wanted = [*options, *(["training"] if "training" in order else [])]
        if "training" in order:
            wanted.sort(key=order.index)
        for name in wanted:
            value = f"self.{options[name].attribute if name in options else name}"
            param = self.row.params[order.index(name)]
            is_next = order[len(passed)] == name and not param.keyword_only
            passed.append(value if is_next else f"{name}={value}")
        return passed

    @property
    def result(self) -> str:
        """The annotation of what a call returns."""
        return _result(self.row)

    @property
    def inputs(self) -> str:
        """The parameters of forward()."""
        return ", ".join(f"{name}: Tensor" for name in self.row.inputs)

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
        tensors = [f"ebb.tensor({value})" for value in example["inputs"]]
        lines = [f">>> {make}({', '.join(tensors)})"]
        if len(lines[0]) > 80:
            lines = [f">>> layer = {make}", f">>> layer({', '.join(tensors)})"]
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


def tensor_repr(values: Any) -> str:
    """A tensor of these values as ebb prints it, without what is recorded."""
    flat = _flat(values)
    is_whole = all(float(value).is_integer() for value in flat)
    texts = [(f"{value:.0f}." if is_whole else f"{value:.4f}") for value in flat]
    if isinstance(flat[0], int):
        texts = [str(value) for value in flat]
    width = max(len(text) for text in texts)
    return f"tensor({_nested(values, iter(text.rjust(width) for text in texts), 8)})"


def _nested(values: Any, texts: Any, indent: int) -> str:
    if not isinstance(values, list):
        return next(texts)
    inner = [_nested(one, texts, indent + 1) for one in values]
    depth = _depth(values)
    between = ", " if depth == 1 else "," + "\n" * (depth - 1) + " " * indent
    return f"[{between.join(inner)}]"


def _depth(values: Any) -> int:
    return 1 + _depth(values[0]) if isinstance(values, list) else 0


def _flat(values: Any) -> list:
    if not isinstance(values, list):
        return [values]
    return [one for value in values for one in _flat(value)]


def _shape(values: Any) -> list[int]:
    return [len(values), *_shape(values[0])] if isinstance(values, list) else []


@dataclass
class CppModule:
    """A row as the C++ templates read it; only modules of ops exist in C++."""

    row: Module

    @property
    def options(self) -> list[Option]:
        """What C++ knows of the options."""
        return [option for option in self.row.options if not option.is_added]

    @property
    def required(self) -> list[Option]:
        """Options without a default."""
        return [option for option in self.options if option.param.default is None]

    @property
    def defaulted(self) -> list[Option]:
        """Options with a default."""
        return [option for option in self.options if option.param.default is not None]

    @property
    def struct(self) -> str:
        """The name of the struct of options; empty if they are few."""
        has_many = len(self.defaulted) > MOST_PARAMETERS
        return self.row.name.removesuffix("Loss") + "Options" if has_many else ""

    @property
    def members(self) -> list[Option]:
        """Options that are members of the class."""
        return self.required if self.struct else self.options

    def type(self, option: Option) -> str:
        """How an option is stored."""
        ints = {"1d": "int64_t", "3d": "Triple"}.get(self.row.name[-2:], "Pair")
        kinds = {**STORED, "int[]": ints, "int[]?": f"std::optional<{ints}>"}
        return kinds.get(option.type, option.param.type.stored)

    def default(self, option: Option) -> str:
        """Its default, empty if there is none; a number of ints stands for all of them."""
        if option.param.default is None:
            return ""
        if option.type.startswith("int[]"):
            return "std::nullopt" if option.param.default == "None" else str(option.param.default)
        return option.param.cpp_default or ""

    @property
    def parameters(self) -> str:
        """The constructor's parameters."""
        texts = []
        for option in self.members:
            default = self.default(option)
            texts.append(
                f"{self.type(option)} {option.name}" + (f" = {default}" if default else "")
            )
        if self.struct:
            texts.append(f"{self.struct} options = {{}}")
        return ", ".join(texts)

    @property
    def initializers(self) -> str:
        """The constructor's list of members."""
        names = [option.name for option in self.members] + (["options"] if self.struct else [])
        moved = {option.name for option in self.members if option.type in ("str", "Tensor?")}
        return ", ".join(
            f"{name}_({f'std::move({name})' if name in moved | {'options'} else name})"
            for name in names
        )

    @property
    def buffers(self) -> list[tuple[str, str]]:
        """Tensors that it registers: their names and members."""
        tensors = [one for one in self.options if one.type == "Tensor?"]
        return [(option.name, self.kept(option.name)) for option in tensors]

    def kept(self, name: str) -> str:
        """A member's expression."""
        in_struct = self.struct and name in [option.name for option in self.defaulted]
        return f"options_.{name}" if in_struct else f"{name}_"

    @property
    def checks(self) -> list[tuple[str, str, str]]:
        """Conditions between numbers: in C++, as written, and the values to show."""
        found = []
        for one in self.row.checks:
            terms = re.split(r"\s*(<=|<)\s*", one)
            terms = [self.kept(term) if term.isidentifier() else term for term in terms]
            pairs = [" ".join(terms[i : i + 3]) for i in range(0, len(terms) - 1, 2)]
            names = [self.kept(term) for term in re.findall(r"[a-z_]\w*", one)]
            found.append((" && ".join(pairs), one, ', " and ", '.join(names)))
        return found

    @property
    def base(self) -> str:
        """Its base class, by what a call takes."""
        return "Loss" if self.row.inputs == ["input", "target"] else "Module"

    @property
    def has_own_call(self) -> bool:
        """Whether its base class knows no call of such inputs."""
        return self.base == "Module" and self.row.inputs != ["input"]

    @property
    def inputs(self) -> str:
        """The parameters of forward()."""
        return ", ".join(f"const Tensor& {name}" for name in self.row.inputs)

    @property
    def call(self) -> str:
        """The call of the op in forward()."""
        options = {option.name: option for option in self.options}
        passed = []
        for param in self.row.op.params if self.row.op else ():
            if param.name in self.row.inputs:
                passed.append(param.name)
            elif param.name in options:
                passed.append(self._passed(options[param.name]))
            elif param.name == "training":
                passed.append("is_training()")
            else:
                break  # it and what follows keep the op's defaults
        call = f"ebb::{self.row.op.cpp_name}({', '.join(passed)})" if self.row.op else ""
        many = self.row.op is not None and len(self.row.op.results) > 1
        return f"std::get<0>({call})" if many else call

    def _passed(self, option: Option) -> str:
        value = self.kept(option.name)
        if option.if_none:
            value = f"{value}.value_or({self.kept(option.if_none)})"
        is_number = option.type.startswith("int[]") and self.row.name.endswith("1d")
        return f"Shape{{{value}}}" if is_number else value

    @property
    def example_arguments(self) -> str:
        """The constructor's arguments of the example."""
        given = (self.row.example or {}).get("options", {})
        positional = list(self.members)
        while positional and positional[-1].name not in given:
            positional.pop()
        texts = [
            cpp_value(one, given[one.name]) if one.name in given else self.default(one)
            for one in positional
        ]
        named = [one for one in self.defaulted if self.struct and one.name in given]
        if named:
            fields = ", ".join(f".{one.name} = {cpp_value(one, given[one.name])}" for one in named)
            texts.append(f"{{{fields}}}")
        return ", ".join(texts)

    @property
    def example_buffers(self) -> int:
        """How many tensors the example gives as options."""
        given = (self.row.example or {}).get("options", {})
        return sum(name in given for name, _ in self.buffers)

    @property
    def example_inputs(self) -> str:
        """The tensors of the example."""
        return ", ".join(cpp_tensor(one) for one in (self.row.example or {})["inputs"])

    @property
    def example_out(self) -> str:
        """The result of the example."""
        return cpp_tensor((self.row.example or {})["out"])


def has_pair(kind: str) -> bool:
    """Whether a type of C++ is made of those of ebb/nn/pair.h."""
    return "Pair" in kind or "Triple" in kind


def cpp_value(option: Option, value: Any) -> str:
    """A value of an example in C++."""
    if option.type == "Reduction":
        return f"kernels::Reduction::{value}"
    if isinstance(value, list) and option.type == "Tensor?":
        return cpp_tensor(value)
    if isinstance(value, list):
        name = {2: "Pair", 3: "Triple"}[len(value)]
        return f"{name}({', '.join(map(str, value))})"
    return json.dumps(value)


def cpp_tensor(values: Any) -> str:
    """A tensor of an example: of classes if it holds integers, else of float32."""
    flat = _flat(values)
    kind = "integers" if isinstance(flat[0], int) else "floats"
    sizes, numbers = ", ".join(map(str, _shape(values))), ", ".join(map(str, flat))
    return f"{kind}(Shape{{{sizes}}}, {{{numbers}}})"


def row_of(module: Module, family: ModuleFamily) -> dict[str, Any]:
    """What the Python tests must know of a module."""
    return {
        "module": module.name,
        "family": family.name,
        "function": module.function,
        "inputs": module.inputs,
        "options": [
            {"name": one.name, "type": one.type, "default": one.param.default,
             "attribute": one.attribute, "checked": one.is_checked, "choices": one.choices,
             "keyword_only": one.keyword_only, "if_none": one.if_none}
            for one in module.options
        ],
        "shown": module.shown,
        "example": module.example,
        "is_op": module.op is not None,
    }  # fmt: skip


def emit(families: list[ModuleFamily]) -> dict[str, str]:
    """All files of the module table, by path below the generated folder."""
    env = environment()
    files = {}
    tested = []
    for family in families:
        rows = [PythonModule(one) for one in family.modules]
        files[f"python/ebb/nn/{family.name}.py"] = env.get_template("modules.py.j2").render(
            family=family,
            modules=rows,
            folded=folded,
            has_sequence=any("Sequence" in text for one in rows for text in one.parameters),
            has_error=any(one.checks for one in rows),
            has_check=any(one.check(option) for one in rows for option in one.row.options),
        )
        ours = [CppModule(one) for one in family.modules if one.op is not None]
        if not ours:
            continue
        context = {
            "family": family,
            "modules": ours,
            "comment": comment,
            "has_pair": any(has_pair(one.type(o)) for one in ours for o in one.options),
            "has_loss": any(one.base == "Loss" for one in ours),
            "ops": sorted({one.row.op.name for one in ours if one.row.op}),
        }
        for kind in ("h", "cpp"):
            template = env.get_template(f"modules.{kind}.j2")
            files[f"ebb/nn/{family.name}.{kind}"] = template.render(context)
        tested.append((family, [one for one in ours if one.row.example]))
    functions = [one for family in families for one in AddedFunction.of(family)]
    files["python/ebb/nn/functional/added_options.py"] = env.get_template(
        "functional.py.j2"
    ).render(
        functions=functions, folded=folded, names=[name for one in functions for name in one.names]
    )
    files["tests/nn/module_table_test.cpp"] = env.get_template("modules_test.cpp.j2").render(
        tested=tested
    )
    rows = [row_of(one, family) for family in families for one in family.modules]
    files["module_rows.json"] = json.dumps(rows, indent=1) + "\n"
    return files
