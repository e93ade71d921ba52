# codegen/python_function.py -- a Python function of the table: its overloads and their arguments.
#
# An op's overloads share one Python function. Where the first overload needs tensors only, they are
# tried before anything else: the straight path. Creation functions get what the front end adds:
# sizes in a row, requires_grad and generator.
"""Python functions of ops, as the templates of bindings and stub print them."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.model import Family, Op
from codegen.python_text import Argument, merged_signature, signature_text, stub_parameter

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
    def arguments(self) -> list[Argument]:
        """The parameters as Python sees them, those of the front end last."""
        positional = [param for param in self.op.params if not param.keyword_only]
        found = []
        for param in self.op.params:
            name = "self" if self.inplace and not found else param.name
            varargs = (
                param.type.name == "int[]"
                and param is positional[-1]
                and len(positional) <= 2
                and param.name != "sizes"
            )
            found.append(
                Argument(
                    name,
                    KINDS[param.type.name.rstrip("?")],
                    param.python_default,
                    param.keyword_only,
                    param.type.is_optional,
                    varargs,
                    param.type.python,
                    param.cpp_default,
                    self.op.defaults.get(param.name, "None"),
                )
            )
        if self.has_out:
            found.append(
                Argument("out", "tensor", "None", True, True, False, "Tensor | None", "{}")
            )
        if self.op.takes_generator:
            found.append(
                Argument(
                    "generator", "generator", "None", True, True, False, "Generator | None", ""
                )
            )
        if self.op.is_creation:
            found.append(
                Argument("requires_grad", "boolean", "False", True, False, False, "bool", "false")
            )
        return found

    @property
    def values(self) -> list[str]:
        """C++ declarations that convert the arguments."""
        own = len(self.op.params) + (1 if self.has_out else 0)
        return [argument.declaration(index) for index, argument in enumerate(self.arguments[:own])]

    def call(self, form: str = "plain") -> str:
        """The C++ call, with `out` last in the out form."""
        # What the front end adds stands behind the op's own parameters.
        passed = [argument.passed() for argument in self.arguments[: len(self.op.params)]]
        if form == "out":
            return f"{self.cpp_name}_out({', '.join([*passed, 'out'])})"
        return f"{self.cpp_name}({', '.join(passed)})"

    @property
    def heavy(self) -> str:
        """The C++ expression for "this takes more than about 10 us", which releases the GIL."""
        tensors = [
            "self" if self.inplace and param is self.op.params[0] else param.name
            for param in self.op.tensors
        ]
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

    def wrap(self, call: str) -> str:
        """The statement's expression that runs a call and makes its result a Python object."""
        body = f"run({self.heavy}, [&] {{ return {call}; }})"
        if self.inplace or self.op.is_inplace:
            body = f"run({self.heavy}, [&] {{ return Tensor({call}); }})"
        if self.op.is_creation:
            flag = [argument.name for argument in self.arguments].index("requires_grad")
            return f"created({body}, arguments.given({flag}) && arguments.boolean({flag}))"
        if len(self.op.results) > 1:
            return f"result({self.op.key}_result, {body})"
        return f"result({body})"

    @property
    def generator_index(self) -> int:
        """The slot of `generator`, or -1."""
        names = [argument.name for argument in self.arguments]
        return names.index("generator") if self.op.takes_generator else -1


@dataclass
class StraightPath:
    """A call with nothing but tensors: no argument is looked at twice."""

    overload: BoundOverload
    tensors: list[str]  # as named in C++
    missing: list[str]  # optional tensors that are not given

    @property
    def expression(self) -> str:
        """The call; further defaults are left to C++."""
        call = f"{self.overload.cpp_name}({', '.join([*self.tensors, *self.missing])})"
        return self.overload.wrap(call)


class PythonFunction:
    """A Python name and its overloads."""

    def __init__(self, name: str, ops: list[Op], inplace: bool):
        self.name = name
        self.ops = ops
        self.inplace = inplace
        self.overloads = [BoundOverload(op, inplace, number) for number, op in enumerate(ops)]

    @property
    def key(self) -> str:
        """A C++ identifier."""
        return f"{self.name}_inplace" if self.inplace else self.name

    @property
    def python_name(self) -> str:
        """The name with the underscore of in-place forms."""
        return self.name + ("_" if self.inplace else "")

    @property
    def kind(self) -> str:
        """Both, method, function or private; in-place forms are methods."""
        kinds = {op.python for op in self.ops}
        if self.inplace or self.ops[0].is_inplace:
            return "private" if kinds == {"private"} else "method"
        return next(kind for kind in ("both", "function", "method", "private") if kind in kinds)

    @property
    def is_function(self) -> bool:
        """Whether the module has it."""
        return self.kind in ("both", "function")

    @property
    def is_method(self) -> bool:
        """Whether Tensor has it."""
        return self.kind in ("both", "method") and self.ops[0].params[0].type.name == "Tensor"

    @property
    def names(self) -> list[str]:
        """The Python name and its aliases."""
        aliases = [alias for op in self.ops for alias in op.aliases]
        return [
            self.python_name,
            *(alias + ("_" if self.inplace else "") for alias in dict.fromkeys(aliases)),
        ]

    @property
    def forms(self) -> list[str]:
        """Which C functions stand in the tables under all names."""
        found = ["function"] if self.is_function else []
        return [*found, "method"] if self.is_method else found

    def entry(self, name: str, form: str) -> str:
        """The C function of one of the names."""
        return f"{self.key}_{form}" if name == self.python_name else f"{name}_as_{form}"

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
        return first if all(param.type.name == "Tensor" for param in required) else None

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
        merged = merged_signature([overload.arguments for overload in self.overloads])
        return merged[1:] if is_method else merged

    def signature_text(self, first: str) -> str:
        """The signature as a docstring shows it behind `first`, $module or $self."""
        return signature_text(self.signature(first == "$self"), first)

    @property
    def docs(self) -> list[str]:
        """The sentences of its overloads, each once."""
        return list(dict.fromkeys(op.doc for op in self.ops))

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
    for name, ops in names.items():
        found.append(PythonFunction(name, ops, inplace=False))
        inplace = [op for op in ops if op.has_inplace]
        if inplace:
            found.append(PythonFunction(name, inplace, inplace=True))
    return found
