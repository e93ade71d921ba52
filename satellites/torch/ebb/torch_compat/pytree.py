# satellites/torch/ebb/torch_compat/pytree.py -- torch.utils._pytree: nested containers as lists of
# leaves.
#
# A container is a list, tuple, named tuple, dict, OrderedDict, defaultdict or deque, or of a class
# that register_pytree_node() was told of; all else is a leaf. Start reading at tree_flatten().
"""Functions of nested containers: flatten, rebuild, map."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

from ebb import _C
from ebb._base.arguments import check_depth
from ebb._C import Size

PyTree = Any
Context = Any
IsLeaf = Callable[[Any], bool] | None
Flatten = Callable[[Any], tuple[list[Any], Any]]
Unflatten = Callable[[list[Any], Any], Any]


@dataclasses.dataclass(frozen=True)
class TreeSpec:
    """How a container was built: its class (None for a leaf), what else it has, its parts."""

    type: Any
    context: Any
    children: tuple[TreeSpec, ...] = ()

    @property
    def num_leaves(self) -> int:
        """How many leaves there are."""
        return 1 if self.type is None else sum(one.num_leaves for one in self.children)

    def is_leaf(self) -> bool:
        """Return whether it is no container."""
        return self.type is None


class LeafSpec(TreeSpec):
    """That of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None)


_LEAF = LeafSpec()


class NodeDef(NamedTuple):
    """How containers of a class come apart, and how they are made anew."""

    flatten_fn: Flatten
    unflatten_fn: Unflatten


def _of_list(value: Any) -> tuple[list[Any], Any]:
    return list(value), None


def _to_list(parts: Any, context: Any) -> list[Any]:
    return list(parts)


def _to_tuple(parts: Any, context: Any) -> tuple[Any, ...]:
    return tuple(parts)


def _of_named(value: Any) -> tuple[list[Any], Any]:
    return list(value), type(value)


def _to_named(parts: Any, made: Any) -> Any:
    return made(*parts)


def _to_result(parts: Any, made: Any) -> Any:
    return made(parts)


class Results:
    """Key of what ops with several results return, such as ``max`` along a dim."""


def _of_dict(value: Any) -> tuple[list[Any], Any]:
    return list(value.values()), list(value.keys())


def _to_dict(parts: list[Any], keys: Any) -> dict[Any, Any]:
    return dict(zip(keys, parts, strict=True))


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """Where in a dict a part is."""

    key: Any


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """Where in a list or tuple a part is."""

    idx: int


def list_flatten_with_keys(value: Any) -> tuple[list[tuple[SequenceKey, Any]], Any]:
    """Return the parts of a list, each with its place, and None."""
    return [(SequenceKey(index), part) for index, part in enumerate(value)], None


def dict_flatten_with_keys(value: Any) -> tuple[list[tuple[MappingKey, Any]], Any]:
    """Return the parts of a dict, each with its place, and the keys."""
    return [(MappingKey(key), part) for key, part in value.items()], list(value.keys())


# Of named tuples all classes have one, under the function that makes them.
SUPPORTED_NODES: dict[Any, NodeDef] = {
    list: NodeDef(_of_list, _to_list),
    tuple: NodeDef(_of_list, _to_tuple),
    Size: NodeDef(_of_list, _to_tuple),
    namedtuple: NodeDef(_of_named, _to_named),
    Results: NodeDef(_of_named, _to_result),
    dict: NodeDef(_of_dict, _to_dict),
    OrderedDict: NodeDef(_of_dict, lambda parts, keys: OrderedDict(zip(keys, parts, strict=True))),
    defaultdict: NodeDef(
        lambda value: (list(value.values()), (value.default_factory, list(value.keys()))),
        lambda parts, had: defaultdict(had[0], zip(had[1], parts, strict=True)),
    ),
    deque: NodeDef(
        lambda value: (list(value), value.maxlen),
        lambda parts, longest: deque(parts, maxlen=longest),
    ),
}


def register_pytree_node(
    cls: type, flatten_fn: Flatten, unflatten_fn: Unflatten, **more: Any
) -> None:
    """Let a class be a container: how it comes apart, and how it is made anew."""
    del more
    SUPPORTED_NODES[cls] = NodeDef(flatten_fn, unflatten_fn)


def node_type(tree: Any) -> Any:
    """Return the key of ``SUPPORTED_NODES`` for a container, and the class of anything else.

    >>> from ebb.torch_compat import pytree
    >>> pytree.node_type([1]), pytree.node_type(1) in pytree.SUPPORTED_NODES
    (<class 'list'>, False)
    """
    kind = type(tree)
    if kind not in SUPPORTED_NODES and isinstance(tree, tuple):
        named = {"_fields": namedtuple, "n_sequence_fields": Results}
        return next((key for name, key in named.items() if hasattr(kind, name)), kind)
    return kind


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Return whether it is no container, or a function says that it is none.

    >>> from ebb.torch_compat import pytree
    >>> pytree.tree_is_leaf(1), pytree.tree_is_leaf([])
    (True, False)
    """
    return (is_leaf is not None and is_leaf(tree)) or node_type(tree) not in SUPPORTED_NODES


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of nested containers, from left to right, and how they were nested.

    >>> from ebb.torch_compat import pytree
    >>> leaves, spec = pytree.tree_flatten({"a": 1, "b": [2, (3,)]})
    >>> leaves, pytree.tree_unflatten([4, 5, 6], spec)
    ([1, 2, 3], {'a': 4, 'b': [5, (6,)]})
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, is_leaf, leaves, 0)


def _flatten(tree: Any, is_leaf: IsLeaf, leaves: list[Any], depth: int) -> TreeSpec:
    check_depth("tree_flatten", depth)
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF
    kind = node_type(tree)
    parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(
        kind, context, tuple(_flatten(part, is_leaf, leaves, depth + 1) for part in parts)
    )


def tree_unflatten(leaves: Any, treespec: TreeSpec) -> Any:
    """Return containers nested as before, with other leaves.

    Raises:
        ValueError: If there are more or fewer leaves.
    """
    values = list(leaves)
    if len(values) != treespec.num_leaves:
        raise _C.ValueError(
            f"tree_unflatten: needs {treespec.num_leaves} leaves, got {len(values)}"
        )
    rest = iter(values)

    def build(spec: TreeSpec) -> Any:
        if spec.type is None:
            return next(rest)
        parts = [build(one) for one in spec.children]
        return SUPPORTED_NODES[spec.type].unflatten_fn(parts, spec.context)

    return build(treespec)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of nested containers."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """Return how containers are nested."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Return containers nested alike, with a function of each leaf, or of those at its place.

    Args:
        func: Takes a leaf of each tree.
        tree: Nested containers.
        *rests: Others, nested alike.
        is_leaf: Says of what it holds that it is a leaf.
    Raises:
        ValueError: If others are nested otherwise.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves]
    for rest in rests:
        found, other = tree_flatten(rest, is_leaf)
        if other != spec:
            raise _C.ValueError("tree_map: needs trees that are nested alike, got others")
        columns.append(found)
    return tree_unflatten([func(*row) for row in zip(*columns, strict=True)], spec)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Call a function of each leaf and return the tree."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(
    wanted: Any, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None
) -> Any:
    """Do as ``tree_map`` with leaves of a class (or some, or that a function accepts) only."""
    accepts = wanted if not isinstance(wanted, (type, tuple)) and callable(wanted) else None

    def change(leaf: Any) -> Any:
        fits = accepts(leaf) if accepts is not None else isinstance(leaf, wanted)
        return func(leaf) if fits else leaf

    return tree_map(change, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Return whether a function is true of all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Return whether a function is true of a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


# PyTorch's names of what has another here.
NAMES: dict[str, str] = {
    "_get_node_type": "node_type",
    "_list_flatten": "_of_list",
    "_list_unflatten": "_to_list",
    "_list_flatten_with_keys": "list_flatten_with_keys",
    "_tuple_flatten": "_of_list",
    "_tuple_unflatten": "_to_tuple",
    "_namedtuple_flatten": "_of_named",
    "_namedtuple_unflatten": "_to_named",
    "_dict_flatten": "_of_dict",
    "_dict_flatten_with_keys": "dict_flatten_with_keys",
    "_dict_unflatten": "_to_dict",
}
