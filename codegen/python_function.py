# codegen/python_function.py -- a Python function of the table: its overloads and their arguments.
#
# An op's overloads share one Python function. Where the first overload needs tensors only, they are
# tried before anything else: the straight path. Creation functions get what the front end adds:
# sizes in a row, requires_grad and generator.
"""Python functions of ops, as the templates of bindings and stub print them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

from codegen.examples import examples_path, read_examples
from codegen.model import Family, Op
from codegen.python_text import Argument, merged_signature, signature_text, stub_parameter
from codegen.signature import Param

KINDS = {
    "Tensor": "tensor",
    "Tensor[]": "tensor_list",
    "Scalar": "scalar",
    "int": "integer",
    "int[]": "int_list",
    "bool": "boolean",
    "float": "floating",
    "str": "text",
    "dtype": "dtype",
    "device": "device",
    "Reduction": "reduction",
}

# What front ends add to functions that make tensors which nothing computed.
LEAF_OPTIONS = [
    Argument("requires_grad", "boolean", "False", True, False, False, "bool", "false"),
    Argument("layout", "layout", "None", True, True, False, "str", None, has_slot=False),
    Argument("pin_memory", "boolean", "False", True, True, False, "bool", None, has_slot=False),
]
# How losses were told what `reduction` tells them now.
AVERAGE_OPTIONS = [
    Argument(name, "boolean", "None", True, True, False, "bool | None", None, has_slot=False)
    for name in ("size_average", "reduce")
]
AVERAGE_NAMES = tuple(one.name for one in AVERAGE_OPTIONS)


@dataclass
class BoundOverload:
    """One overload of a Python function, with all that the template prints."""

    op: Op
    inplace: bool
    number: int

    @property
    def cpp_name(self) -> str:
        """The C++ function to call."""
        return "ebb::" + self.op.cpp_name + ("_" if self.inplace and not self.op.is_inplace else "")

    @property
    def has_out(self) -> bool:
        """Whether `out=` is a parameter."""
        return self.op.has_out and not self.inplace

    @property
    def copies_out(self) -> bool:
        """Whether `out=` is a parameter to which the results are copied."""
        return self.op.copies_out and not self.inplace

    @property
    def out_kind(self) -> str:
        """The kind of such an `out`: several results need several tensors."""
        return "tensor" if len(self.op.results) == 1 else "tensor_list"

    @property
    def arguments(self) -> list[Argument]:
        """The parameters as Python sees them, those of the front end last."""
        own = [self._of_param(param) for param in self.op.params]
        ignored = [
            replace(self._of_param(param), is_ignored=True, varargs=False)
            for param in self.op.ignored
        ]
        found = [one for one in [*own, *ignored] if not one.keyword_only]
        found += [one for one in [*own, *ignored] if one.keyword_only]
        return found + self._added

    def _of_param(self, param: Param) -> Argument:
        positional = [one for one in self.op.params if not one.keyword_only]
        varargs = (
            param.type.name == "int[]"
            and param is positional[-1]
            and len(positional) <= 2
            and param.name != "sizes"
        )
        return Argument(
            param.name,
            KINDS[param.type.name.rstrip("?")],
            param.python_default,
            param.keyword_only,
            param.type.is_optional,
            varargs,
            param.type.python,
            param.cpp_default,
            self.op.defaults.get(param.name, "None"),
            param.default is not None and self.op.defaults.get(param.name) == "None",
            self.op.spellings.get(param.name, ()),
        )

    @property
    def _added(self) -> list[Argument]:
        """What the front end adds."""
        found = []
        if self.has_out:
            found.append(
                Argument("out", "tensor", "None", True, True, False, "Tensor | None", "{}")
            )
        if self.copies_out:
            annotation = "Tensor" if self.out_kind == "tensor" else "Sequence[Tensor]"
            found.append(
                Argument(
                    "out", self.out_kind, "None", True, True, False, f"{annotation} | None", "{}"
                )
            )
        if self.op.takes_generator:
            by_name = not self.op.has_generator_place
            source = ("generator", "generator", "None", by_name, True, False, "Generator | None")
            found.append(Argument(*source, ""))
        found += AVERAGE_OPTIONS if self.averages else []
        return found + (LEAF_OPTIONS if self.op.makes_leaf else [])

    @property
    def shown(self) -> list[Argument]:
        """The parameters as signatures show them: losses' older options in PyTorch's places."""
        if not self.op.averaging:
            return self.arguments
        size_average, reduce = (replace(one, keyword_only=False) for one in AVERAGE_OPTIONS)
        found = []
        for one in (one for one in self.arguments if one.name not in AVERAGE_NAMES):
            found += [size_average] if one.name == self.op.averaging else []
            found += [reduce] if one.name == "reduction" else []
            found.append(one)
        return found

    @property
    def averaging_places(self) -> list[int]:
        """Where size_average and reduce stand in PyTorch's signature; empty if by name only."""
        names = [one.name for one in self.shown]
        return [names.index(one) for one in AVERAGE_NAMES] if self.op.averaging else []

    @property
    def averages(self) -> bool:
        """Whether it is a loss that PyTorch's older options tell how to reduce."""
        return bool(self.op.averaging)

    @property
    def bound(self) -> list[Argument]:
        """The arguments that calls have slots for."""
        return [argument for argument in self.arguments if argument.has_slot]

    @property
    def spellings(self) -> list[tuple[str, str]]:
        """Other keywords and the parameters that they mean."""
        return [(other, one.name) for one in self.bound for other in one.spellings]

    @property
    def own(self) -> list[Argument]:
        """The op's parameters."""
        names = [param.name for param in self.op.params]
        return [one for one in self.arguments if one.name in names]

    @property
    def taken(self) -> list[Argument]:
        """The arguments that C++ makes constants of."""
        out = [one for one in self.arguments if self.has_out and one.name == "out"]
        return self.own + out

    @property
    def tensors(self) -> list[str]:
        """The names of its tensors, which a call without the GIL holds."""
        return [one.name for one in self.own if one.cpp_type == "Tensor&"]

    @property
    def is_written(self) -> bool:
        """Whether a call returns a reference to the tensor that it writes."""
        return self.inplace or self.op.is_inplace

    def slot(self, name: str) -> int:
        """Where an argument stands."""
        return [argument.name for argument in self.arguments].index(name)

    @property
    def heavy(self) -> str:
        """The C++ expression for "this takes more than about 10 us", which releases the GIL."""
        tensors = [param.name for param in self.op.tensors]
        # The default generator is exchanged under the GIL.
        free = ""
        if self.op.takes_generator:
            free = f"arguments.given({self.generator_index}) ? false : "
        if self.op.is_creation:
            sizes = [param.name for param in self.op.params if param.type.name == "int[]"]
            return f"{free}is_heavy_size({sizes[0]})" if sizes else "false"
        if self.op.cost == "view":
            return "false"
        if self.op.cost == "copy":
            return f"is_heavy_copy({tensors[0]})"
        if self.op.cost != "elements":
            return f"is_heavy_{self.op.cost}({tensors[0]}, {tensors[1]})"
        if self.op.tensor_lists:
            return f"is_heavy_list({self.op.tensor_lists[0].name})"
        return f"{free}is_heavy({', '.join(tensors)})"

    @property
    def generator_index(self) -> int:
        """The slot of `generator`, or -1."""
        return self.slot("generator") if self.op.takes_generator else -1

    @property
    def late_index(self) -> int:
        """The slot of `non_blocking`, which lets pinned memory be read late, or -1."""
        is_taken = any(param.name == "non_blocking" for param in self.op.ignored)
        return self.slot("non_blocking") if is_taken else -1


@dataclass
class StraightPath:
    """A call with nothing but tensors: no argument is looked at twice."""

    overload: BoundOverload
    tensors: list[str]  # as named in C++
    missing: list[str]  # optional tensors that are not given

    @property
    def call(self) -> str:
        """The call; further defaults are left to C++."""
        return f"{self.overload.cpp_name}({', '.join([*self.tensors, *self.missing])})"


class PythonFunction:
    """A Python name and its overloads."""

    def __init__(
        self, name: str, ops: list[Op], inplace: bool, examples: dict[str, list[str]] | None = None
    ):
        self.name = name
        self.ops = ops
        self.inplace = inplace
        self.example = (examples or {}).get(self.key, [])  # lines of a session
        self.overloads = [BoundOverload(op, inplace, number) for number, op in enumerate(ops)]

    @property
    def key(self) -> str:
        """A C++ identifier."""
        return f"{self.name}_inplace" if self.inplace else self.name

    @property
    def python_name(self) -> str:
        """The name with the underscore of in-place forms, without that of its namespace."""
        if self.namespace:
            return self.name.removeprefix(f"{self.namespace}_")
        return self.name + ("_" if self.inplace else "")

    @property
    def namespace(self) -> str:
        """The module of the package that has it; empty for `ebb` itself."""
        return self.ops[0].namespace

    @property
    def shown_name(self) -> str:
        """What errors call it: linalg.solve."""
        return f"{self.namespace}.{self.python_name}" if self.namespace else self.python_name

    @property
    def protocol_name(self) -> str:
        """What it is called where overrides look it up, and where tests find private ones."""
        return self.name if self.namespace else self.python_name

    @property
    def kind(self) -> str:
        """Both, method, function or private."""
        kinds = {op.python for op in self.ops}
        return next(kind for kind in ("both", "function", "method", "private") if kind in kinds)

    @property
    def is_function(self) -> bool:
        """Whether `ebb` has it, perhaps by another name only."""
        return self.kind in ("both", "function") and bool(self.names)

    @property
    def is_method(self) -> bool:
        """Whether Tensor has it, perhaps by another name only."""
        if self.kind not in ("both", "method") or not self.names:
            return False
        return self.ops[0].params[0].type.name == "Tensor"

    @property
    def aliases(self) -> list[str]:
        """More names, each once."""
        given = [alias for op in self.ops for alias in op.aliases]
        return list(dict.fromkeys(given))

    @property
    def names(self) -> list[str]:
        """The names that `ebb` and Tensor have it by."""
        own = [] if self.namespace else [self.python_name]
        suffix = "_" if self.inplace else ""
        return own + [alias + suffix for alias in self.aliases if "." not in alias]

    @property
    def spaced_names(self) -> list[str]:
        """The names that namespaces have it by: linalg.solve."""
        if self.inplace or self.kind == "private":
            return []
        own = [self.shown_name] if self.namespace else []
        return own + [alias for alias in self.aliases if "." in alias]

    @property
    def wrappers(self) -> list[tuple[str, str]]:
        """The C functions that pass a call on under another name: (name, form)."""
        found = [(name, form) for name in self.names for form in self.forms]
        found += [(name, "function") for name in self.spaced_names]
        return [(name, form) for name, form in found if name != self.shown_name]

    @property
    def forms(self) -> list[str]:
        """Which C functions stand in the tables under all names."""
        found = ["function"] if self.is_function else []
        return [*found, "method"] if self.is_method else found

    def entry(self, name: str, form: str) -> str:
        """The C function of one of the names."""
        own = name == self.shown_name
        return f"{self.key}_{form}" if own else f"{name.replace('.', '_')}_as_{form}"

    @property
    def spellings(self) -> list[tuple[str, str]]:
        """Other keywords and the parameters that they mean, each pair once."""
        return list(dict.fromkeys(pair for one in self.overloads for pair in one.spellings))

    @property
    def averaging_places(self) -> list[int]:
        """Where size_average and reduce stand, if they may be given without their names."""
        places = [one.averaging_places for one in self.overloads]
        return places[0] if all(one == places[0] for one in places) else []

    @property
    def options(self) -> list[str]:
        """The flags in C++ of keywords that are taken though no parameter has their name."""
        formats = ["memory_format" in [arg.name for arg in one.bound] for one in self.overloads]
        found = ["kLayoutOption", "kPinOption"] if any(op.makes_leaf for op in self.ops) else []
        found += ["kAverageOption"] if all(one.averages for one in self.overloads) else []
        found += ["kNumbersOption"] if any(op.takes_numbers for op in self.ops) else []
        return found + (["kFormatOption"] if any(formats) and not all(formats) else [])

    @property
    def results(self) -> list[Op]:
        """The overloads with named results."""
        return [op for op in self.ops if len(op.results) > 1]

    @property
    def straight(self) -> BoundOverload | None:
        """The first overload, if it needs tensors only."""
        first = self.overloads[0]
        params = first.op.params
        required = [param for param in params if param.default is None]
        if first.op.takes_generator:
            return None  # whether a generator is given decides how the call runs
        if not required or first.op.is_creation or len(required) > 3 or len(first.op.results) > 1:
            return None
        # Optional tensors behind other options are not among those of straight_paths.
        lead = list(itertools.takewhile(lambda one: one.type.is_tensor, first.op.params))
        is_straight = all(param.type.name == "Tensor" for param in required)
        return first if is_straight and len(lead) == len(first.op.tensors) else None

    @property
    def straight_paths(self) -> list[StraightPath]:
        """With the required tensors alone, and with the optional ones that follow them."""
        if self.straight is None:
            return []
        params = self.straight.op.params
        names = [argument.name for argument in self.straight.arguments]
        required = sum(param.default is None for param in params)
        tensors = required
        while tensors < len(params) and params[tensors].type.name == "Tensor?":
            tensors += 1
        return [
            StraightPath(self.straight, names[:count], names[count:tensors])
            for count in dict.fromkeys((required, tensors))
        ]

    def signature(self, is_method: bool) -> list[Argument]:
        """One signature for all overloads; a method's leaves the tensor itself out."""
        merged = merged_signature([overload.shown for overload in self.overloads])
        return merged[1:] if is_method else merged

    def signature_text(self, first: str) -> str:
        """The signature as a docstring shows it behind `first`, $module or $self."""
        return signature_text(self.signature(first == "$self"), first)

    @property
    def docs(self) -> list[str]:
        """The sentences of its overloads, each once."""
        return list(dict.fromkeys(op.doc for op in self.ops))

    def labels_in(self, space: str) -> list[str]:
        """The names that a namespace has it by."""
        spaced = [name.split(".") for name in self.spaced_names]
        return [label for own, label in spaced if own == space]

    def stub_parameters(self, is_method: bool) -> list[str]:
        """The parameters as the stub annotates them."""
        parts = ["self"] if is_method else []
        is_keyword_only = False
        for argument in self.signature(is_method):
            if argument.keyword_only and not is_keyword_only:
                parts.append("*")
            is_keyword_only |= argument.keyword_only or argument.varargs
            parts.append(stub_parameter(argument))
        return parts

    @property
    def stub_result(self) -> str:
        """What the stub says that it returns."""
        if any(op.results[0].is_list for op in self.ops):
            return "tuple[Tensor, ...]"
        if not self.results:
            return "Tensor"
        return "Any" if len(self.ops) > len(self.results) else "tuple[Tensor, Tensor]"


def python_functions(family: Family) -> list[PythonFunction]:
    """All Python functions of a family, in-place forms included."""
    names: dict[str, list[Op]] = {}
    for op in family.ops:
        names.setdefault(op.name, []).append(op)
    found = []
    examples = read_examples(examples_path(family.name))
    for name, ops in names.items():
        found.append(PythonFunction(name, ops, inplace=False, examples=examples))
        inplace = [op for op in ops if op.has_inplace]
        if inplace:
            found.append(PythonFunction(name, inplace, inplace=True, examples=examples))
    return found
