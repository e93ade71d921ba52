# codegen/modules.py -- the module table as checked dataclasses: Module and its options.
#
# A row says which class holds which options of which op; their types and defaults are the op's. A
# function that is no op brings its own signature, and its module exists in Python only. Every
# mistake names file, line and class. Start reading at load_modules().
"""The typed model of the module table, ops/modules/*.yaml."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import yaml

from codegen.model import Family, Op
from codegen.schema import LOADER, nearest
from codegen.signature import TYPES, Param, SchemaError, parse_signature

HEADER = ("doc", "includes", "args", "base", "shown", "returns", "modules")
KEYS = ("module", "op", "function", "doc", "args", "base", "shown", "check", "if_none", "choices",
        "annotations", "attributes", "named", "example", "own", "as", "parameters", "fixed",
        "channels")  # fmt: skip
LAST_DIMS = {1: "last dim", 2: "last two dims", 3: "last three dims"}  # `{dims}` in rows for each
# Options of every module with parameters, and what their documentation is unless a row says more.
PLACES = {"device": "Where they are; the default one if None.",
          "dtype": "Of the parameters; the default one if None."}  # fmt: skip
REDUCTIONS = ("none", "mean", "sum")
# Options that Python's functions add to every op of their kind.
ADDED = {name: Param(TYPES["bool"], name, "False") for name in ("inplace", "return_indices")}


@dataclass(frozen=True)
class Option:
    """An option of a module: a parameter of its function that the module keeps."""

    param: Param
    doc: str
    keyword_only: bool
    is_added: bool  # by Python; C++ does not have it
    attribute: str  # its name in Python's instance
    annotation: str  # Python's
    is_checked: bool  # whether its type is the op's own
    choices: tuple[str, ...]
    if_none: str  # the option whose value it takes when it is None
    is_own: bool = False  # the module's: its function does not have it
    is_kept: bool = True  # as an attribute
    checked_by: str = ""  # a function of ebb.nn._options that is not its type's

    @property
    def name(self) -> str:
        """The parameter's name."""
        return self.param.name

    @property
    def type(self) -> str:
        """The type's name in the table."""
        return self.param.type.name


@dataclass(frozen=True)
class Weight:
    """A parameter of a module, which its function takes under the same name."""

    name: str
    shape: str  # a Python expression of options
    wanted: str  # a condition of options; empty if it is always there
    start: str  # how it is drawn or set: a call without the parameter itself


@dataclass
class Module:
    """One row."""

    name: str
    doc: str
    function: str
    options: list[Option]
    inputs: list[str]  # what a call passes
    params: list[Param]  # of the function
    shown: list[str]
    returns: str
    base: str  # Python's: a class of python/ebb/nn/_bases.py, Options, or one of the same file
    base_options: str  # what its constructor gets
    checks: list[str] = field(default_factory=list)
    example: dict[str, Any] | None = None
    op: Op | None = None
    named: dict[str, str] = field(default_factory=dict)  # inputs that Python's forward() renames
    weights: list[Weight] = field(default_factory=list)
    fixed: dict[str, str] = field(default_factory=dict)  # what its function is always given
    channels: int = 0  # how many dims follow the channels of its input; 0: it takes any

    @property
    def is_in_cpp(self) -> bool:
        """Whether it is a class of C++, too."""
        return self.op is not None and not self.weights


@dataclass
class ModuleFamily:
    """One file of the table."""

    name: str
    file: str
    doc: str
    modules: list[Module]


def load_modules(folder: Path, families: list[Family]) -> list[ModuleFamily]:
    """Read all files of the module table; a mistake raises SchemaError."""
    ops = {op.full_name: op for family in families for op in family.ops}
    return [_load_file(path, ops) for path in sorted(folder.glob("*.yaml"))]


def load_rows(
    path: Path, shown: str, keys: tuple[str, ...], rows: str
) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    """Read a file of a table: its header, and its rows (the entry `rows`) with their places."""
    try:
        text = path.read_text(encoding="utf-8")
        root = yaml.compose(text, Loader=LOADER)
        header = yaml.load(text, Loader=LOADER)
    except yaml.YAMLError as error:
        raise SchemaError(f"{shown}:1: yaml: {error}") from error
    if not isinstance(header, dict) or not header.keys() <= set(keys) or rows not in header:
        raise SchemaError(f"{shown}:1: file: needs keys of {', '.join(keys)}, {rows} among them")
    nodes = next(value for key, value in root.value if key.value == rows).value
    places = [f"{shown}:{node.start_mark.line + 1}" for node in nodes]
    return header, list(zip(places, header[rows], strict=True))


def _load_file(path: Path, ops: dict[str, Op]) -> ModuleFamily:
    shown = f"ops/modules/{path.name}"
    header, rows = load_rows(path, shown, HEADER, "modules")
    modules = [
        _Row(place, values, header, ops).to_module()
        for place, row in rows
        for values in _by_dims(row)
    ]
    return ModuleFamily(path.stem, shown, header.get("doc", ""), modules)


def _by_dims(row: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each number of dims, of one that stands for several."""
    if "dims" not in row:
        return [row]
    plain = {key: value for key, value in row.items() if key != "dims"}
    return [_of_dims(plain, dims) for dims in row["dims"]]


def _of_dims(value: Any, dims: int) -> Any:
    """A value of a row as it reads for a number of dims.

    Values of its example are those for one, shapes those for three.
    """
    if isinstance(value, str):
        return value.replace("{d}", str(dims)).replace("{dims}", LAST_DIMS[dims])
    if isinstance(value, list):
        return [_of_dims(one, dims) for one in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"last"}:
        return [1] * (dims - 1) + [value["last"]] if dims > 1 else value["last"]
    made = {key: _of_dims(one, dims) for key, one in value.items()}
    if "out_shape" in made:  # written for three
        made["shapes"] = [shape[: len(shape) - 3 + dims] for shape in made["shapes"]]
        made["out_shape"] = made["out_shape"][: len(made["out_shape"]) - 3 + dims]
    if "inputs" in made and "out" in made:
        made["inputs"] = [_with_dims(one, dims) for one in made["inputs"]]
        made["out"] = _with_dims(made["out"], dims)
    return made


def _with_dims(values: Any, dims: int) -> Any:
    """Nested lists with further dims of size 1 before the last."""
    if isinstance(values[0], list):
        return [_with_dims(one, dims) for one in values]
    for _ in range(dims - 1):
        values = [values]
    return values


class _Row:
    """A row on its way from YAML to Module."""

    def __init__(self, place: str, values: dict, header: dict, ops: dict[str, Op]):
        self.place, self.values, self.header, self.ops = place, values, header, ops
        self.name = str(values.get("module", "?")).partition("(")[0]

    def fail(self, text: str) -> NoReturn:
        raise SchemaError(f"{self.place}: {self.name}: {text}")

    def to_module(self) -> Module:
        for key in self.values:
            if key not in KEYS:
                self.fail(f"unknown key `{key}`{nearest(key, KEYS)}")
        match = re.fullmatch(r"(\w+)\(([\w, *]*)\)", str(self.values.get("module")))
        if not match or not self.values.get("doc"):
            self.fail("needs `module: Name(option, ...)` and `doc`")
        op, function, params = self.function()
        names = [one.strip() for one in match[2].split(",") if one.strip()]
        params += [param for name, param in ADDED.items() if name in names]
        weights = self.weights({param.name for param in params})
        options = self.options(names, params, {weight.name for weight in weights})
        kept = {option.name for option in options} | {weight.name for weight in weights}
        base, _, base_options = self.inherited("base", "Options").partition("(")
        return Module(
            name=self.name,
            doc=" ".join(self.values["doc"].split()),
            function=function,
            options=options,
            inputs=[one.name for one in params
                    if one.type.name == "Tensor" and one.name not in kept],
            params=params,
            shown=self.shown(options),
            returns=self.header.get("returns", "the layer's output"),
            base=base,
            base_options=base_options.rstrip(")"),
            checks=self.values.get("check", []),
            example=self.values.get("example"),
            op=op,
            named=self.values.get("named", {}),
            weights=weights,
            fixed=self.values.get("fixed", {}),
            channels=int(self.values.get("channels", 0)),
        )  # fmt: skip

    def inherited(self, key: str, default: str) -> str:
        """What the row says, or the head of its file."""
        return self.values.get(key, self.header.get(key, default))

    def function(self) -> tuple[Op | None, str, list[Param]]:
        """The op if there is one, and name and parameters of what a call runs."""
        if "function" in self.values:
            try:
                signature = parse_signature(self.values["function"] + " -> Tensor out")
            except SchemaError as error:
                self.fail(str(error))
            return None, signature.name, list(signature.params)
        op = self.ops.get(self.values.get("op", ""))
        if op is None:
            self.fail(f"needs `op` of the op table or `function`, got {self.values.get('op')!r}")
        return op, op.name, list(op.params)

    def weights(self, known: set[str]) -> list[Weight]:
        found = []
        for name, keys in self.values.get("parameters", {}).items():
            if name not in known or not {"shape", "start"} <= keys.keys() <= {
                "shape",
                "start",
                "if",
            }:
                self.fail(f"parameter `{name}` needs its function to take it, `shape` and `start`")
            found.append(Weight(name, str(keys["shape"]), str(keys.get("if", "")), keys["start"]))
        return found

    def own(self) -> dict[str, Param]:
        """Options that the function does not have."""
        text = self.values.get("own", "")
        try:
            params = parse_signature(f"own({text}) -> Tensor out").params if text else ()
        except SchemaError as error:
            self.fail(str(error))
        found = {param.name: param for param in params}
        if "parameters" in self.values:
            found |= {name: Param(TYPES["dtype?"], name, "None") for name in PLACES}
        return found

    def options(self, names: list[str], params: list[Param], weights: set[str]) -> list[Option]:
        own = self.own()
        known = {param.name: param for param in params} | own
        docs = {**PLACES, **self.header.get("args", {}), **self.values.get("args", {})}
        annotations = dict.fromkeys(PLACES, "Any") | self.values.get("annotations", {})
        options, star = [], False
        for name in names:
            if name == "*":
                star = True
                continue
            if name not in known or name not in docs:
                self.fail(f"`{name}` needs to be a parameter of its function, with a doc in `args`")
            param = known[name]
            default = REDUCTIONS if param.type.name == "Reduction" else ()
            python = {"Scalar": "float"}.get(param.type.name, param.type.python)
            options.append(
                Option(
                    param=param,
                    doc=docs[name],
                    keyword_only=star,
                    is_added=name in ADDED,
                    attribute=self.values.get("attributes", {}).get(name, name),
                    annotation=annotations.get(name, python),
                    is_checked=name not in annotations,
                    choices=tuple(self.values.get("choices", {}).get(name, default)),
                    if_none=self.values.get("if_none", {}).get(name, ""),
                    is_own=name in own,
                    is_kept=name not in weights and (name not in own or name not in PLACES),
                    checked_by=self.values.get("as", {}).get(name, ""),
                )
            )
        return options

    def shown(self, options: list[Option]) -> list[str]:
        shown = self.values.get("shown", self.header.get("shown", "all"))
        if shown != "all":
            return list(shown)
        shown = [one for one in options if one.name not in PLACES]
        return [one.name + ("?" if one.is_added else "") for one in shown]
