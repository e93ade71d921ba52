# python/ebb/graphs/__init__.py -- ebb.graph(): a snapshot of the backward graph.
#
# The rest of the package comes when a snapshot is first taken, or asked for by name, so that
# `import ebb` stays short.
"""``ebb.graph(loss, model)`` copies what is recorded behind ``loss`` into tables.

The snapshot can be searched, compared, printed, drawn and written as JSON (docs/graph.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebb import _C

if TYPE_CHECKING:
    from ebb.graphs.difference import Difference, compare
    from ebb.graphs.explanation import Explanation, Explanations, Step, Summary
    from ebb.graphs.node import GraphEdge, GraphNode, Hooks, Location, Output, Saved
    from ebb.graphs.snapshot import Snapshot

_HOMES = {
    "difference": ("Difference", "compare"),
    "explanation": ("Explanation", "Explanations", "Step", "Summary"),
    "node": ("GraphEdge", "GraphNode", "Hooks", "Location", "Output", "Saved"),
    "snapshot": ("Snapshot",),
}

__all__ = [
    "Difference",
    "Explanation",
    "Explanations",
    "GraphEdge",
    "GraphNode",
    "Hooks",
    "Location",
    "Output",
    "Saved",
    "Snapshot",
    "Step",
    "Summary",
    "compare",
    "explain",
    "graph",
]


def graph(roots: Any, names: Any = None) -> Snapshot:
    """Return a snapshot of everything recorded behind ``roots``.

    It holds neither tensors nor nodes, so it neither keeps memory nor changes later.

    Args:
        roots: A tensor, a GradientEdge or a Node, or lists, tuples and dicts of them, such as
            what a module returns. In those, whatever requires no gradient is left out.
        names: Where leaves get their names: a module, a dict of tensors or modules, or pairs of
            a name and a tensor. A tensor's own ``name`` is used where this has none.
    Raises:
        AutogradError: If no root requires a gradient.
    Example:
        >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> len(ebb.graph((x * x).sum(), {"x": x}))
        3
    """
    from ebb.graphs.roots import named_tensors, root_list
    from ebb.graphs.snapshot import Snapshot

    return Snapshot(_C._take_snapshot(root_list(roots), named_tensors(names)))


def explain(
    outputs: Any, inputs: Any, *, names: Any = None, paths: int = 3
) -> Explanation | Explanations:
    """Say why ``inputs`` get a gradient from ``outputs``, or why none comes, and at which line.

    Of one tensor, ``print`` shows the ways of its gradient, or the place where they are cut; of a
    module or a dict, a table with a row for each parameter. What was computed under
    :func:`ebb.trace_cuts` is followed through cuts. Nothing is computed or changed.

    Args:
        outputs: A tensor, or lists, tuples and dicts of them.
        inputs: A tensor, the name of one in ``names``, or a module, a dict or pairs for a table.
        names: What tensors are called: as for :func:`ebb.graph`.
        paths: How many ways to list, shortest first.
    Raises:
        ValueError: If there is no output, or no tensor of that name.
    Example:
        >>> w = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> ebb.explain((w.detach() * w).sum(), w).ways
        1
    """
    from ebb._C import Tensor
    from ebb.graphs import explanation

    if isinstance(inputs, str):
        found = explanation.tensor_named(inputs, names)
        return explanation.explain_one(outputs, found, inputs, paths)
    if isinstance(inputs, Tensor):
        name = explanation.name_of(inputs, names)
        return explanation.explain_one(outputs, inputs, name, paths)
    return explanation.explain_all(outputs, inputs)


def __getattr__(name: str) -> Any:
    import importlib

    for home, names in _HOMES.items():
        if name in names:
            found = getattr(importlib.import_module(f"{__name__}.{home}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
