# satellites/torch/compare/record.py -- writes PyTorch's public signatures down, in signatures.tsv.
#
# Functions written in C++ show no signature, but PyTorch's wheel has stubs with every overload
# of them, and schemas for those of torch.linalg, fft and special. Start reading at main().
"""Usage: build/peers/bin/python -m satellites.torch.compare.record, by a Python that has PyTorch.

One line per overload: namespace, name, and `input:T, other:TN, *, alpha:N=1`, where T takes a
tensor and N a number.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

TABLE = Path(__file__).with_name("signatures.tsv")
NAMESPACES = (
    "torch",
    "torch.Tensor",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.utils",
    "torch.nn.utils.rnn",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.autograd",
    "torch.autograd.functional",
    "torch.distributions",
    "torch.func",
    "torch.random",
    "torch.masked",
    "torch.signal.windows",
    "torch.utils.data",
)
# What the wheel has beside the public interface: parts of other back ends, helpers of compilers.
PRIVATE = re.compile(
    r"_|cudnn|miopen|mkldnn|fbgemm|quantize|q_|fake_quant|fused_moving|int_repr|sym_|native_|"
    r"batch_norm_|slow_conv|nnpack|xpu|mtia|autocast_|is_autocast|get_autocast|set_autocast|"
    r"export|compile|compiler|from_ipc|register_|dequantize|choose_qparams|empty_quantized|"
    r"classproperty|typename|unify_type|parse_|import_ir|wait$|fork$|merge_type|read_vitals|"
    r"set_vital|vitals|per_|profiler_allow|to_mkldnn|as_subclass|module_load|names$|align_|"
    r"refine_names|rename|has_names|boxed|ipu|hpu|is_vulkan|is_xla|is_mps|is_maia|vulkan"
)
# Orders of arguments that PyTorch warns of: add(self, alpha, other).
DEPRECATED = re.compile(r"self:T|beta:N, self|self, (beta|alpha|value)(:N)?(=1)?, ")


def kind(annotation: str) -> str:
    """Return T, N, TN or nothing for an annotation."""
    has_tensor = re.search(r"\bTensor\b", annotation) and "tuple" not in annotation
    has_number = re.search(r"\b([Nn]umber|_float|float|_complex|Scalar)\b", annotation)
    return ("T" if has_tensor else "") + ("N" if has_number else "")


def written(name: str, annotation: str, default: str | None) -> str:
    """Return one parameter as the table has it."""
    of_kind = kind(annotation)
    text = f"{name}:{of_kind}" if of_kind else name
    return text if default is None else f"{text}={' '.join(default.split())}"


def of_stub(function: ast.FunctionDef) -> str:
    """Return the signature of a function of a stub."""
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    parts = [of_node(one, value) for one, value in zip(positional, defaults, strict=True)]
    if given.vararg:
        parts.append(f"*{given.vararg.arg}")
    elif given.kwonlyargs:
        parts.append("*")
    parts += [
        of_node(one, value) for one, value in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    return ", ".join(parts)


def of_node(argument: ast.arg, default: ast.expr | None) -> str:
    """Return one parameter of a stub."""
    annotation = ast.unparse(argument.annotation) if argument.annotation else ""
    return written(argument.arg, annotation, ast.unparse(default) if default else None)


def stubbed(tree: ast.AST) -> dict[str, list[str]]:
    """Return the overloads of the functions that stand directly in a module or class."""
    found: dict[str, list[str]] = {}
    for one in getattr(tree, "body", []):
        if isinstance(one, ast.FunctionDef):
            found.setdefault(one.name, []).append(of_stub(one))
    return found


def of_python(function: Any) -> str:
    """Return the signature of a Python function."""
    parts, is_keyword_only = [], False
    for one in inspect.signature(function).parameters.values():
        if one.kind is one.KEYWORD_ONLY and not is_keyword_only:
            parts.append("*")
        is_keyword_only |= one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        annotation = "" if one.annotation is one.empty else str(one.annotation)
        default = None if one.default is one.empty else default_text(one.default)
        parts.append(stars + written(one.name, annotation, default))
    return ", ".join(parts)


def default_text(value: Any) -> str:
    """Return a default without addresses."""
    if "Generator object" in repr(value):
        return "None"
    return re.sub(r"<(class|function) '?([\w.]+).*>", r"\2", repr(value))


def schemas(torch: ModuleType, prefix: str) -> dict[str, list[str]]:
    """Return the overloads of the ops `prefix_name`, with `out` where there is such a form."""
    found: dict[str, list[str]] = {}
    known = torch._C._jit_get_all_schemas()
    with_out = {one.name for one in known if _writes_out(one)}
    for schema in known:
        name = schema.name.removeprefix(f"aten::{prefix}_")
        if name == schema.name or _writes_out(schema):
            continue
        parts, is_keyword_only = [], False
        for one in schema.arguments:
            if one.kwarg_only and not is_keyword_only:
                parts.append("*")
            is_keyword_only |= one.kwarg_only
            default = repr(one.default_value) if one.has_default_value() else None
            name_shown = "input" if one.name == "self" else one.name
            parts.append(written(name_shown, str(one.real_type), default))
        if schema.name in with_out:
            parts += [*["*"] * (not is_keyword_only), "out:T=None"]
        found.setdefault(name, []).append(", ".join(parts))
    return found


def _writes_out(schema: Any) -> bool:
    """Whether an overload is the form with `out=`, whose parts have names of their own."""
    return any(one.is_out for one in schema.arguments)


def stubs(torch: ModuleType) -> dict[str, dict[str, list[str]]]:
    """Return the overloads of native functions, by namespace."""
    folder = Path(torch.__file__).parent

    def parsed(name: str) -> ast.Module:
        return ast.parse((folder / name).read_text())

    bases = [one for one in parsed("_C/__init__.pyi").body if isinstance(one, ast.ClassDef)]
    base = next(one for one in bases if one.name == "TensorBase")
    functions = stubbed(parsed("_C/_VariableFunctions.pyi"))
    own = stubbed(parsed("_C/__init__.pyi"))
    in_nn = {**functions, **stubbed(parsed("_C/_nn.pyi")), **stubbed(parsed("nn/functional.pyi"))}
    return {
        "torch": {**own, **functions},
        "torch.Tensor": stubbed(base),
        "torch.nn.functional": in_nn,
        **{f"torch.{one}": schemas(torch, one) for one in ("linalg", "fft", "special")},
    }


def lines_of(namespace: str, owner: Any, native: dict[str, list[str]]) -> list[str]:
    """Return the table's lines of a namespace."""
    lines = []
    for name in sorted(dir(owner)):
        value = getattr(owner, name)
        is_foreign = not str(getattr(value, "__module__", None) or "torch").startswith("torch")
        if PRIVATE.match(name) or is_foreign or isinstance(value, ModuleType):
            continue
        if not callable(value) or not (value.__doc__ or name in native):
            continue
        if namespace == "torch" and inspect.isbuiltin(value) and not value.__doc__:
            continue  # undocumented parts of documented functions
        for text in overloads(name, value, native):
            lines.append(f"{namespace}\t{name}\t{text}")
    return lines


def overloads(name: str, value: Any, native: dict[str, list[str]]) -> list[str]:
    """Return the signatures of one function or class."""
    if inspect.isfunction(value) and name not in native:
        return [of_python(value)]
    if inspect.isclass(value):
        try:
            return [of_python(value)]
        except (TypeError, ValueError):
            return ["?"]
    named = [
        re.sub(r"^self:N", "input:N", one)
        for one in native.get(name, [])
        if not re.search(r"\b(names|dimension)\b", one) and not DEPRECATED.match(one)
    ]
    if not named and inspect.isfunction(value):
        return [of_python(value)]
    return list(dict.fromkeys(named)) or ["?"]


def main() -> None:
    import torch

    native = stubs(torch)
    lines = [f"# PyTorch {torch.__version__.partition('+')[0]}"]
    for namespace in NAMESPACES:
        is_tensor = namespace == "torch.Tensor"
        owner = torch.Tensor if is_tensor else importlib.import_module(namespace)
        lines += lines_of(namespace, owner, native.get(namespace, {}))
    TABLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
