# codegen/optimizers.py -- the table of optimizers as checked dataclasses: Optimizer, Option.
#
# ops/optim/fused.yaml says what a row may have; every mistake names file, line and class. Start
# reading at load_optimizers().
"""The typed model of the table of optimizers."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from codegen.modules import load_rows
from codegen.schema import nearest
from codegen.signature import SchemaError, split

HEADER = ("doc", "args", "defaults", "annotations", "python_only", "pairs", "ranges", "example",
          "optimizers")  # fmt: skip
KEYS = ("optimizer", "doc", "args", "file", "module", "base", "fixed", "options", "annotations",
        "python_only", "example", "step", "state", "by_hand", "counts_steps",
        "on_devices")  # fmt: skip
BY_HAND = ("factors", "usable")
# Options of PyTorch's that choose among implementations of which ebb has one.
TAKEN = ("foreach", "fused", "capturable")


@dataclass(frozen=True)
class Option:
    """An option as Python takes it, and the fields of C++ that it is."""

    name: str
    default: str
    doc: str
    annotation: str
    keyword_only: bool
    fields: list[Field]


@dataclass(frozen=True)
class Field:
    """A field of the C++ struct of options."""

    name: str
    type: str  # double or bool
    default: str
    range: str  # empty: a number from 0 up, or a flag


@dataclass(frozen=True)
class State:
    """A tensor that is kept for each parameter."""

    name: str
    condition: Field | None  # the option that must be set
    initial: str  # the option that it begins with; empty: zeros

    @property
    def is_kept(self) -> str:
        """The condition in C++."""
        if self.condition is None:
            return "true"
        is_number = self.condition.type == "double"
        return f"options().{self.condition.name}" + (" != 0" if is_number else "")


@dataclass
class Optimizer:
    """One row."""

    name: str
    doc: str
    params_doc: str
    file: str
    module: str
    base: str
    fixed: dict[str, Any]
    struct: str
    options: list[Option]
    example: list[str]
    step: str
    state_text: str
    states: list[State]
    by_hand: list[str]
    counts_steps: bool
    on_devices: bool

    @property
    def fields(self) -> list[Field]:
        """Those of the C++ struct of options."""
        return [field for option in self.options for field in option.fields]

    @property
    def documented(self) -> list[Option]:
        """The options that the docstring describes one by one, in order."""
        return [one for one in self.options if one.name not in (*TAKEN, "differentiable")]

    @property
    def taken(self) -> list[str]:
        """The options that change nothing."""
        known = [one.name for one in self.options]
        return [name for name in TAKEN if name in known]

    @property
    def parameters(self) -> list[str]:
        """Those of Python's constructor."""
        texts = ["self", "params: Params"]
        for option in self.options:
            if option.keyword_only and "*" not in texts:
                texts.append("*")
            texts.append(f"{option.name}: {option.annotation} = {option.default}")
        return texts

    @property
    def passed(self) -> list[str]:
        """What Python's constructor passes on to its base: options one by one to another row's."""
        own = "**options_of(locals())" if self.fixed else "options_of(locals())"
        fixed = [f"{name}={value}" for name, value in self.fixed.items()]
        refuses = self.refuses_recording and not self.fixed  # else among the options
        recorded = ["differentiable=differentiable"] if refuses else []
        return ["params", own, *fixed, *recorded]

    @property
    def refuses_recording(self) -> Option | None:
        """The option that asks for a step that is recorded."""
        return next((one for one in self.options if one.name == "differentiable"), None)


def load_optimizers(path: Path) -> tuple[str, list[Optimizer]]:
    """Read the table: what it says of itself and its rows; a mistake raises SchemaError."""
    shown = f"ops/optim/{path.name}"
    header, rows = load_rows(path, shown, HEADER, "optimizers")
    return shown, [_Row(place, values, header).to_optimizer() for place, values in rows]


class _Row:
    """A row on its way from YAML to Optimizer."""

    def __init__(self, place: str, values: dict, header: dict):
        self.place, self.values, self.header = place, values, header
        self.name = str(values.get("optimizer", "?")).partition("(")[0]

    def fail(self, text: str) -> NoReturn:
        raise SchemaError(f"{self.place}: {self.name}: {text}")

    def shared(self, key: str) -> dict[str, Any]:
        """What the row says, and where it says nothing the file."""
        return {**self.header.get(key, {}), **self.values.get(key, {})}

    def to_optimizer(self) -> Optimizer:
        for key in self.values:
            if key not in KEYS:
                self.fail(f"unknown key `{key}`{nearest(key, KEYS)}")
        match = re.fullmatch(r"\w+\((.*)\)", str(self.values.get("optimizer")))
        if not match or not self.values.get("doc"):
            self.fail("needs `optimizer: Name(option=default, ...)` and `doc`")
        by_hand = self.values.get("by_hand", [])
        if not set(by_hand) <= set(BY_HAND):
            self.fail(f"by_hand: needs some of {', '.join(BY_HAND)}, got {', '.join(by_hand)}")
        if ("step" in self.values) != ("state" in self.values):
            self.fail("needs both `step` and `state`, or neither")
        options = self.options(split(match[1]))
        fields = {field.name: field for option in options for field in option.fields}
        file = self.values.get("file", self.name.lower())
        example = self.values.get("example", self.header.get("example", ""))
        return Optimizer(
            name=self.name,
            doc=self.values["doc"],
            params_doc=self.shared("args").get("params", "Parameters, or groups of them."),
            file=file,
            module=self.values.get("module", file),
            base=self.values.get("base", "FusedOptimizer"),
            fixed=self.values.get("fixed", {}),
            struct=self.values.get("options", self.name) + "Options",
            options=options,
            example=example.format(name=self.name).splitlines(),
            step=self.values.get("step", ""),
            state_text=self.values.get("state", ""),
            states=[self.state(text, fields) for text in split(self.values.get("state", ""))],
            by_hand=by_hand,
            counts_steps=self.values.get("counts_steps", True),
            on_devices=self.values.get("on_devices", False),
        )

    def options(self, texts: list[str]) -> list[Option]:
        docs, defaults = self.shared("args"), self.header.get("defaults", {})
        annotations, options, star = self.shared("annotations"), [], False
        for text in texts:
            if text == "*":
                star = True
                continue
            name, _, given = text.partition("=")
            default = given or defaults.get(name)
            if default is None or (name not in docs and name not in TAKEN):
                self.fail(f"`{name}` needs a default, and a doc in `args`")
            options.append(
                Option(
                    name=name,
                    default=default,
                    doc=docs.get(name, ""),
                    annotation=annotations.get(name) or self.annotation(name, default),
                    keyword_only=star,
                    fields=self.fields(name, default),
                )
            )
        return options

    def annotation(self, name: str, default: str) -> str:
        """Python's type, from the default."""
        value = self.value(name, default)
        if isinstance(value, tuple):
            return f"tuple[{', '.join(type(one).__name__ for one in value)}]"
        return "bool | None" if value is None else type(value).__name__

    def value(self, name: str, default: str) -> Any:
        try:
            return ast.literal_eval(default)
        except (ValueError, SyntaxError):
            self.fail(f"`{name}` needs a literal as default, got {default}")

    def fields(self, name: str, default: str) -> list[Field]:
        if name in self.header.get("python_only", []) + self.values.get("python_only", []):
            return []
        names, texts = [name], [default]
        if default.startswith("("):
            names, texts = self.header.get("pairs", {}).get(name, []), split(default[1:-1])
            if len(names) != len(texts):
                self.fail(f"`{name}` needs its names in C++ in `pairs`")
        ranges = self.header.get("ranges", {})
        return [
            Field(
                name=one,
                type="bool" if text in ("True", "False") else "double",
                default=text.lower(),
                range=ranges.get(one, ""),
            )
            for one, text in zip(names, texts, strict=True)
        ]

    def state(self, text: str, fields: dict[str, Field]) -> State:
        match = re.fullmatch(r"(\w+)(?: if (\w+))?(?: = (\w+))?", text)
        if not match or not {match[2], match[3]} <= {None, *fields}:
            self.fail(f"state: needs `name if option` or `name = option`, got `{text}`")
        return State(match[1], fields.get(match[2]), match[3] or "")
