# codegen/emit/user.py -- what programs see besides functions: methods of Tensor, and options.
#
# Rows with `method: true` become methods: declared in a base class of Tensor, and defined inline
# where programs include them, so that the line that is recorded is that of the call. An op with
# three or more optional arguments gets a struct with their names: sum(x, {.dim = 1}).
"""Emitter of the C++ that is for programs only."""

from __future__ import annotations

from codegen.cpp import Form, environment, forms
from codegen.model import Family, Op
from codegen.signature import Param

LEAST_OPTIONS = 3
# How a method, or a struct of options, takes and keeps what a function takes otherwise.
TYPES = {
    "int[]": "Dims",
    "int[]?": "MaybeDims",
    "Tensor": "const Tensor&",
    "Tensor?": "Tensor",
    "Scalar": "const Scalar&",
    "Reduction": "kernels::Reduction",
}


def taken(param: Param) -> str:
    """A parameter's type."""
    return TYPES.get(param.type.name, param.type.argument)


def default(param: Param) -> str:
    """Its default."""
    if param.type.name.startswith("int[]") and param.default not in (None, "None"):
        return f"{{{', '.join(map(str, param.default_ints))}}}"
    return param.cpp_default or ""


class Options:
    """The optional arguments of an op, by name."""

    def __init__(self, op: Op):
        self.op = op
        self.required = [param for param in op.params if param.default is None]
        self.optional = [param for param in op.params if param.default is not None]

    @property
    def name(self) -> str:
        """The struct; overloads may each have one."""
        words = [*self.op.name.split("_"), *self.op.overload.split("_")]
        return "".join(word.capitalize() for word in words) + "Options"

    @property
    def result_type(self) -> str:
        """What the op returns."""
        return Form(self.op, "plain").result_type


class Method:
    """One form of an op as a member of Tensor."""

    def __init__(self, form: Form, options: Options | None = None, yields: bool = False):
        self.form = form
        self.options = options
        # A template, so that {.dim = 1} prefers the overload with options: GCC 12 does not see that
        # names fit nothing else.
        self.yields = yields

    @property
    def params(self) -> list[Param]:
        """What it takes besides the tensor itself; of options, those that must be given."""
        return (self.options.required if self.options else self.form.op.params)[1:]


def options_of(op: Op) -> Options | None:
    """The options of an op that has enough of them for Python's public names."""
    options = Options(op)
    is_public = op.python in ("both", "method", "function")
    required = [param.default is None for param in op.params]
    is_known = is_public and op.without_default == 0 and required == sorted(required, reverse=True)
    return options if is_known and len(options.optional) >= LEAST_OPTIONS else None


def methods_of(op: Op) -> list[Method]:
    """The members that an op gives."""
    if not op.is_method:
        return []
    options = options_of(op)
    found = [Method(form, yields=bool(options)) for form in forms(op) if form.kind != "out"]
    return [*found, Method(Form(op, "plain"), options)] if options else found


def emit(families: list[Family]) -> dict[str, str]:
    """Files by path below the generated folder."""
    ops = [op for family in families for op in family.ops]
    options = [one for one in map(options_of, ops) if one]
    methods = [method for op in ops for method in methods_of(op)]
    context = {
        "methods": methods,
        "options": options,
        "taken": taken,
        "default": default,
        "method_options": [method.options for method in methods if method.options],
        "headers": sorted({f"ebb/autograd/ops/{m.form.op.name}.h" for m in methods}),
        "option_headers": sorted({f"ebb/autograd/ops/{one.op.name}.h" for one in options}),
    }
    paths = {
        "tensor_methods.h": "ebb/core/tensor/tensor_methods.h",
        "methods.h": "ebb/autograd/methods.h",
        "op_options.h": "ebb/autograd/op_options.h",
    }
    env = environment()
    return {path: env.get_template(f"{name}.j2").render(context) for name, path in paths.items()}
