# codegen/emit_python.py -- Python's functions and methods of each op: python/ops_<family>.cpp.
#
# An op's overloads share one Python function. It is described by an OpSpec, whose parameters the
# runtime (python/src/calls/args.h) binds; the generated code converts them and calls ebb::name.
# Where the first overload needs tensors only, they are tried before anything else: the straight
# path. Creation functions get what the front end adds: sizes in a row, requires_grad and generator.
"""Emitter of the Python bindings and the stub."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.cpp import environment
from codegen.model import Family, Op
from codegen.python_stub import render_stub
from codegen.python_text import Argument, doc_text, merged_signature

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


def is_creation(op: Op) -> bool:
    """Whether the op makes a tensor out of sizes and numbers."""
    return op.family in ("creation", "random") and not op.tensors


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
        if is_creation(self.op):
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
        if is_creation(self.op):
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
        if is_creation(self.op):
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
        if self.family == "creation":
            return "function"
        if self.inplace or self.ops[0].is_inplace:
            return "private" if kinds == {"private"} else "method"
        return next(kind for kind in ("both", "function", "method", "private") if kind in kinds)

    @property
    def family(self) -> str:
        """The table's file."""
        return self.ops[0].family

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
        found = ["function"] if self.kind in ("both", "function") else []
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
        if not required or is_creation(first.op) or len(required) > 3 or len(first.op.results) > 1:
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

    def doc(self, name: str, first: str) -> str:
        """The docstring of one of the names as a C++ literal; `first` is $module or $self."""
        return doc_text(self, name, first)

    def signature(self) -> list[Argument]:
        """One signature for all overloads."""
        return merged_signature([overload.arguments for overload in self.overloads])


def python_functions(family: Family) -> list[PythonFunction]:
    """All Python functions of a family, in-place forms included."""
    names: dict[str, list[Op]] = {}
    for op in family.ops:
        if op.python != "none" or is_creation(op):
            names.setdefault(op.name, []).append(op)
    found = []
    for name, ops in names.items():
        found.append(PythonFunction(name, ops, inplace=False))
        inplace = [op for op in ops if op.has_inplace]
        if inplace:
            found.append(PythonFunction(name, inplace, inplace=True))
    return found


def emit(family: Family) -> dict[str, str]:
    """The bindings of one family."""
    template = environment().get_template("python_ops.cpp.j2")
    text = template.render(family=family.name, functions=python_functions(family))
    return {f"python/ops_{family.name}.cpp": text}


def emit_common(families: list[Family]) -> dict[str, str]:
    """The list of all families, and the stub of the extension module."""
    template = environment().get_template("python_tables.cpp.j2")
    functions = [function for family in families for function in python_functions(family)]
    return {
        "python/op_tables.cpp": template.render(families=[family.name for family in families]),
        "python/_C.pyi": render_stub(functions),
    }
