# codegen/model.py -- the op table as dataclasses: Family and Op.
#
# entry.py makes them of the files of ops/, checked; emitters ask them and never read YAML.
"""The typed model of the op table."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codegen.dtypes import KernelUse
from codegen.kinds import Body
from codegen.operators import OperatorUse
from codegen.signature import Param, Result, Signature

# How the formula of a gradient begins that is refused.
REFUSAL = "autograd::refused_gradient("


@dataclass(frozen=True)
class SavedValue:
    """A value computed when recording: `save: {int[] sizes: expression}`."""

    name: str
    type: str
    expression: str


@dataclass
class Op:
    """One entry of the table."""

    signature: Signature
    family: str
    file: str
    line: int
    doc: str
    dtypes: dict[str, tuple[str, ...]]  # tensor parameter -> accepted dtypes
    dtype_rule: str = ""  # promote, promote_float or promote_number; empty unless pointwise
    result_dtype: str = "same"  # or boolean, real, complex: what the result has
    kernels: tuple[KernelUse, ...] = ()
    device: dict[str, str] = field(default_factory=dict)  # kind of number -> expression
    is_impl: bool = False  # not pointwise, and no composite
    body: Body | None = None  # what it calls, if `kind` says so; else impl::name
    composite: str = ""  # a C++ expression, or "hand-written"
    checks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    grad: dict[str, str] = field(default_factory=dict)
    joint: str = ""  # one expression for several gradients, which formulas name `joint`
    saved_values: tuple[SavedValue, ...] = ()
    not_differentiable: tuple[str, ...] = ()
    jvp: str | dict[str, str] = "none"
    devices: str = "one"  # any: operands of several devices, which the body brings together
    layouts: str = "strided"  # any: the body knows every layout
    sparse: str = ""  # what a call with an operand that is not strided means
    reads: str = "values"  # geometry: of its operands nothing but shape, dtype and device
    has_inplace: bool = False
    copies_inplace: bool = False  # its form that writes is made of the plain one
    has_out: bool = False
    copies_out: bool = False  # `out=` of front ends, into which the results are copied
    is_method: bool = False
    skip: str = ""
    namespace: str = ""  # linalg, fft or special: the module that has the function
    aliases: tuple[str, ...] = ()  # more names; linalg.name in a namespace
    spellings: dict[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # more keywords of a parameter
    ignored: tuple[Param, ...] = ()  # parameters of Python's function that change nothing
    averaging: str = ""  # the parameter that PyTorch's size_average stands before
    takes_numbers: bool = False  # Python's function takes numbers alone: the first is a tensor then
    defaults: dict[str, str] = field(default_factory=dict)  # to show where other overloads lack it
    python: str = "both"
    operators: tuple[OperatorUse, ...] = ()  # what languages write for a call
    cost: str = "elements"  # elements, view, copy, product or product_transposed
    amp: str = "none"  # none, lower, float32, widest or first
    poles: dict[str, tuple[float | str, ...]] = field(default_factory=dict)  # of infinities
    takes_generator: bool = False
    batch: str = ""  # the rule of vmap; empty: what follows from the row
    without_default: int = 0  # how many parameters have none in C++: overloads are told apart there
    has_generator_place: bool = False  # it may be given without its name, behind all others
    test: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The public name, without overload."""
        return self.signature.name

    @property
    def overload(self) -> str:
        """The overload's name, or an empty text."""
        return self.signature.overload

    @property
    def full_name(self) -> str:
        """Name and overload: unique in the table."""
        return self.signature.full_name

    @property
    def cpp_name(self) -> str:
        """The name of the C++ function; overloads share it."""
        return self.name

    @property
    def key(self) -> str:
        """A C++ identifier that is unique to the entry: mul_Scalar."""
        return self.full_name.replace(".", "_")

    @property
    def node_name(self) -> str:
        """The class of its node: MulScalarBackward."""
        words = self.full_name.replace(".", "_").strip("_").split("_")
        return "".join(word[:1].upper() + word[1:] for word in words) + "Backward"

    @property
    def node_type_name(self) -> str:
        """What Python calls the type of its node: MulBackward0, of all overloads."""
        words = self.name.strip("_").split("_")
        return "".join(word[:1].upper() + word[1:] for word in words) + "Backward0"

    @property
    def params(self) -> tuple[Param, ...]:
        """All parameters in order."""
        return self.signature.params

    @property
    def results(self) -> tuple[Result, ...]:
        """All results in order."""
        return self.signature.results

    @property
    def tensors(self) -> tuple[Param, ...]:
        """Parameters that are one tensor, perhaps optional."""
        return tuple(param for param in self.params if param.type.is_tensor)

    @property
    def tensor_lists(self) -> tuple[Param, ...]:
        """Parameters that are lists of tensors."""
        return tuple(param for param in self.params if param.type.is_tensor_list)

    @property
    def is_inplace(self) -> bool:
        """Whether the op itself writes its first parameter."""
        return self.name.endswith("_")

    @property
    def is_pointwise(self) -> bool:
        """Whether its body is generated."""
        return not self.is_impl and not self.composite

    def is_condition(self, name: str) -> bool:
        """Whether a tensor takes no part in promotion, since it can only be true or false."""
        return self.dtypes[name] in (("boolean",), ("boolean", "uint8"))

    @property
    def promoted(self) -> tuple[str, ...]:
        """The tensors whose dtypes are promoted together, if there are several."""
        names = tuple(one.name for one in self.tensors if not self.is_condition(one.name))
        return names if self.dtype_rule and len(names) > 1 else ()

    @property
    def is_creation(self) -> bool:
        """Whether it makes a tensor out of sizes and numbers."""
        return not self.tensors and not self.tensor_lists

    @property
    def makes_leaf(self) -> bool:
        """Whether its result may be asked to require a gradient: a tensor that nothing computed."""
        return self.is_creation or (self.reads == "geometry" and self.python != "private")

    @property
    def is_differentiable(self) -> bool:
        """Whether it records a node."""
        return any(formula != "none" for formula in self.grad.values()) or (
            self.is_inplace and bool(self.grad)
        )

    @property
    def shown_name(self) -> str:
        """What users call it: linalg.solve, where the row has a namespace."""
        if not self.namespace:
            return self.name
        return f"{self.namespace}.{self.name.removeprefix(self.namespace + '_')}"

    def refusal(self, name: str) -> str:
        """The formula of a tensor whose gradient raises."""
        return f'{REFUSAL}"{self.shown_name}", "{name}")'

    @property
    def refused(self) -> tuple[str, ...]:
        """The tensor parameters whose gradient raises."""
        return tuple(name for name, text in self.grad.items() if text.startswith(REFUSAL))

    @property
    def only_refuses(self) -> bool:
        """Whether it records a node that has nothing but errors to give."""
        return bool(self.refused) and set(self.grad.values()) <= {
            "none",
            *(self.refusal(name) for name in self.refused),
        }

    @property
    def differentiable_results(self) -> tuple[Result, ...]:
        """Results that have a gradient."""
        return tuple(one for one in self.results if one.name not in self.not_differentiable)

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms it comes in: plain, inplace, out."""
        first = "inplace" if self.is_inplace else "plain"
        return (
            first,
            *(["inplace"] if self.has_inplace else []),
            *(["out"] if self.has_out else []),
        )


@dataclass
class Family:
    """One file of the table."""

    name: str
    file: str
    ops: list[Op]


TABLE = Path(__file__).resolve().parent.parent / "ops"
OTHER_TABLES = ("modules", "optim")  # rows of other kinds, with readers of their own


@functools.cache
def table_files() -> dict[str, Path]:
    """The file of each family, ops/<topic>/<family>.yaml, by the family's name."""
    files = sorted(TABLE.glob("*/*.yaml"), key=lambda path: path.stem)
    return {path.stem: path for path in files if path.parent.name not in OTHER_TABLES}


@functools.cache
def op_names() -> frozenset[str]:
    """The names of all ops of the table, without reading it whole."""
    texts = (path.read_text(encoding="utf-8") for path in table_files().values())
    return frozenset(name for text in texts for name in re.findall(r"^- op: (\w+)", text, re.M))
