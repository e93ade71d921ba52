# python/ebb/graphs/explanation.py -- why a parameter gets a gradient or none, for people.
#
# The search is C++ (ebb/graph/explain.h); here its answers get names and words.
"""``Explanation`` of one tensor, ``Explanations`` of many: what ``ebb.explain`` returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ebb import _C
from ebb._base import naming as _naming
from ebb.graphs import table
from ebb.graphs.node import Location
from ebb.graphs.roots import flat_list, named_tensors
from ebb.nn.parameter import Parameter
from ebb.utils.gradient_state import FINITE, MISSING, TEXTS, norm_of, state_of

ENDLESS = 2**64 - 1  # ways are counted up to here
MANY = 1_000_000  # ways that are told exactly below this
MOST_STEPS = 12  # shown of a way
MOST_LISTED = 5  # shown of cuts, hooks and the like
MOST_ROWS = 60
LOST_HINT = "hint: modules in a plain list or dict are no part of it: use ModuleList, ModuleDict"
MOST_ALIKE = 4  # rows that say the same are folded if there are more

HOW = {
    "no_grad": "under no_grad",
    "detached": "detached",
    "not_differentiable": "no derivative",
    "": "",
}


class Step(NamedTuple):
    """An op on the way from the input to the output.

    ``kind`` is "recorded" for a node of the graph, "unrecorded" for an op whose result has no
    history, "left" for a value that became a number or an array, "entered" for a tensor made from
    such. ``cut`` says what an unrecorded one did: "no_grad", "detached" or "not_differentiable".

    Example:
        >>> w = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> [step.op for step in ebb.explain((w * 3).sum(), w).paths[0]]
        ['MulScalarBackward', 'SumBackward']
    """

    op: str
    module: str
    location: Location | None
    kind: str
    cut: str
    is_freed: bool
    hooks: int
    times: int

    def __str__(self) -> str:
        name = self.op or {"no_grad": "no_grad", "detached": "detach()"}.get(self.cut, "an op")
        if self.op and self.kind != "recorded":
            name += "()"
        where = f" at {self.location}" if self.location else " at an unknown place"
        inside = f" in {self.module}" if self.module else ""
        return name + where + inside


class Steps(Sequence[Step]):
    """A list of steps, each made when it is looked at: there may be a million."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [_step(row) for row in self._rows[index]]
        return _step(self._rows[index])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"<{len(self):,} steps>" if len(self) > MOST_STEPS else repr(list(self))


@dataclass
class Explanation:
    """Why one tensor gets a gradient from an output, or none. ``print`` shows it in words.

    Example:
        >>> w = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> why = ebb.explain(w.detach().sum(), w)
        >>> why.gets_gradient, why.reason
        (False, 'output_without_history')
    """

    name: str
    reason: str  #: a key: see docs/explain.md
    ways: int  #: told by the nodes on them; 2**64 - 1 stands for that or more
    paths: list[Steps]  #: the shortest ways, each from the tensor to the output
    freed: list[Step]  #: nodes on any way whose saved values a run has freed
    hooked: list[Step]  #: nodes on any way that have hooks
    cuts: list[Step]  #: where the history of the tensor's values ends
    cuts_are_candidates: bool  #: they may have cut off something else
    trail: Steps  #: the way of the values through a cut, if cuts were traced
    left: list[Step]  #: where its values became numbers, lists or arrays
    entered: list[Step]  #: tensors made from such, on the way to the output
    gradient: str = MISSING  #: of the tensor's ``grad``: "missing", "zero", "not_finite", "finite"
    is_traced: bool = field(default=False, repr=False)  # whether there are any notes

    @property
    def gets_gradient(self) -> bool:
        """Whether a gradient comes."""
        return self.reason == "gets_gradient"

    @property
    def locations(self) -> list[Location]:
        """The lines to blame: of the cuts, or of where values left."""
        blamed = self.cuts or self.left
        return [step.location for step in blamed if step.location is not None]

    @property
    def location(self) -> Location | None:
        """The first of the lines to blame."""
        return next(iter(self.locations), None)

    def __str__(self) -> str:
        lines = WORDS[self.reason](self)
        if self.gets_gradient and self.gradient not in (MISSING, FINITE):
            lines.append(f"  but the gradient that is there now is {TEXTS[self.gradient]}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        what = f"{self.reason}, {_count(self.ways)}" if self.gets_gradient else self.reason
        return f"<explanation of {self.name}: {what}>"


class Summary(NamedTuple):
    """One row of ``Explanations``. ``step`` is the first op on a shortest way, or the cut.

    Example:
        >>> layer = ebb.nn.Linear(2, 1)
        >>> ebb.explain(layer(ebb.ones(1, 2)), layer)["bias"].ways
        1
    """

    name: str
    reason: str
    ways: int
    step: Step | None
    gradient: str

    @property
    def gets_gradient(self) -> bool:
        """Whether a gradient comes."""
        return self.reason == "gets_gradient"


class Explanations(Mapping[str, Summary]):
    """What becomes of every parameter: a mapping from names to rows. ``print`` shows a table.

    Example:
        >>> layer = ebb.nn.Linear(2, 1)
        >>> table = ebb.explain(ebb.ones(1, 2) @ layer.weight.T, layer)
        >>> table.without_gradient, table["weight"].gets_gradient
        (['bias'], True)
    """

    def __init__(
        self, rows: list[Summary], other_leaves: Sequence[_C.Tensor] = (), is_traced: bool = True
    ) -> None:
        self._rows = {row.name: row for row in rows}
        #: of a module: what leaves are called that get a gradient and are none of its parameters
        self.other_leaves: list[str] = [_leaf_text(leaf) for leaf in other_leaves]
        self._has_lost_layers = any(isinstance(leaf, Parameter) for leaf in other_leaves)
        self._is_traced = is_traced

    def __getitem__(self, name: str) -> Summary:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def without_gradient(self) -> list[str]:
        """Names of those that require a gradient and get none."""
        rows = self._rows.values()
        wanted = [row for row in rows if row.reason != "requires_no_grad"]
        return [row.name for row in wanted if not row.gets_gradient]

    @property
    def frozen(self) -> list[str]:
        """Names of those that require no gradient."""
        return [row.name for row in self._rows.values() if row.reason == "requires_no_grad"]

    def table(self, limit: int | None = MOST_ROWS) -> str:
        """Return the table, those without a gradient first. Rows that say the same are folded.

        Args:
            limit: The most rows, or None for all, each with a row of its own.
        """
        rows = sorted(self._rows.values(), key=lambda row: row.gets_gradient)  # keeps the order
        all_cells = [_cells(row, self._is_traced) for row in rows]
        folded = [(cells, 1) for cells in all_cells] if limit is None else _folded(all_cells)
        shown = folded if limit is None else folded[:limit]
        without, frozen = len(self.without_gradient), len(self.frozen)
        reached = len(rows) - without - frozen
        head = f"{len(rows):,} parameters: {reached:,} get a gradient, {without:,} get none"
        lines = [head + (f", {frozen:,} require none" if frozen else "")]
        lines += _others(self.other_leaves)
        if self._has_lost_layers:
            lines.append(LOST_HINT)
        cells = [("parameter", "gradient", "ways", "first op, or cut")]
        lines.append(table.aligned([*cells, *(one for one, _ in shown)], "<<><"))
        left = len(rows) - sum(count for _, count in shown)
        if left:
            lines.append(f"... and {left:,} more parameters")
        if not self._is_traced and any(row.reason == "not_used" for row in rows):
            lines.append(
                "hint: compute the output under ebb.trace_cuts() to tell a cut from no use"
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        missing = len(self.without_gradient)
        others = f", {len(self.other_leaves):,} other leaves" if self.other_leaves else ""
        return f"<explanations of {len(self):,} parameters, {missing:,} get no gradient{others}>"


def explain_one(outputs: Any, tensor: _C.Tensor, name: str, paths: int) -> Explanation:
    """Return the explanation of ``tensor``."""
    found = _C._explain(flat_list(outputs, "explain"), tensor, paths)
    lists = {key: _steps(found.pop(key)) for key in ("freed", "hooked", "cuts", "left", "entered")}
    return Explanation(
        name=name,
        paths=[Steps(path) for path in found.pop("paths")],
        trail=Steps(found.pop("trail")),
        **lists,
        **found,
        gradient=_gradient_state(tensor),
        is_traced=_C._cut_notes()[0] > 0,
    )


def explain_all(outputs: Any, inputs: Any) -> Explanations:
    """Return the row of each tensor of a module, a dict or pairs."""
    pairs = named_tensors(inputs, "explain")
    found, tensors = flat_list(outputs, "explain"), [tensor for _, tensor in pairs]
    answers = _C._explain_all(found, tensors)
    # Of a module only: who gives a dict has chosen.
    others = _C._other_leaves(found, tensors) if hasattr(inputs, "named_parameters") else []
    rows = []
    for (name, tensor), (reason, ways, step) in zip(pairs, answers, strict=True):
        has_step = bool(step[0]) or step[2] is not None
        rows.append(
            Summary(name, reason, ways, _step(step) if has_step else None, _gradient_state(tensor))
        )
    return Explanations(rows, others, _C._cut_notes()[0] > 0)


def tensor_named(name: str, names: Any) -> _C.Tensor:
    """Return the tensor that ``names`` calls so."""
    known = dict(named_tensors(names, "explain"))
    if name in known:
        return known[name]
    if not known:
        raise _C.ValueError(
            f"explain: needs names to find {name!r}, got none\n"
            "hint: pass names=model, or the tensor itself"
        )
    from difflib import get_close_matches

    near = get_close_matches(name, known, 3) or list(known)[:3]
    raise _C.ValueError(
        f"explain: needs a name that names has, got {name!r}; there is {', '.join(near)}"
    )


def name_of(tensor: _C.Tensor, names: Any) -> str:
    """Return what a tensor is called, or its look."""
    for name, one in named_tensors(names, "explain"):
        if one is tensor:
            return name
    return _C._title(tensor) or f"the {_kind_text(tensor)} tensor"


def _kind_text(tensor: _C.Tensor) -> str:
    return table.tensor_text(str(tensor.dtype).removeprefix("ebb."), tuple(tensor.shape))


def _leaf_text(leaf: _C.Tensor) -> str:
    return _C._title(leaf) or f"{type(leaf).__name__} {_kind_text(leaf)}"


def _gradient_state(tensor: _C.Tensor) -> str:
    return state_of(norm_of(tensor.grad)) if tensor.is_leaf else MISSING


def _steps(rows: list[tuple[Any, ...]]) -> list[Step]:
    return [_step(row) for row in rows]


def _step(row: tuple[Any, ...]) -> Step:
    op, module, place, *rest = row
    return Step(op, module, None if place is None else Location(*place), *rest)


# Words.


def _count(ways: int) -> str:
    return f"{_number(ways)} way{'s' if ways != 1 else ''}"


def _number(ways: int) -> str:
    if ways >= ENDLESS:
        return "more than 10^19"
    if ways < MANY:
        return f"{ways:,}"
    digits, _, exponent = f"{ways:.0e}".partition("e")
    return f"about {digits} x 10^{int(exponent)}"


def _way(name: str, steps: Steps) -> list[str]:
    """One way, an op on each line, of long ones both ends."""
    shown: list[Step | None] = list(steps[:MOST_STEPS])
    if len(steps) > MOST_STEPS:
        half = MOST_STEPS // 2
        shown = [*steps[:half], None, *steps[-half:]]
    lines = [f"  {name}"]
    is_cut_shown = False
    for step in shown:
        if step is None:
            lines.append(f"  -> ... {len(steps) - MOST_STEPS:,} more ...")
            continue
        line = f"  -> {step}"
        if step.kind == "unrecorded" and not is_cut_shown:
            line += f"  <- cut here: {HOW[step.cut]}"
            is_cut_shown = True
        lines.append(line)
    lines.append("  -> the output")
    return lines


def _listed(title: str, steps: list[Step]) -> list[str]:
    if not steps:
        return []
    lines = [f"  {title}"]
    for step in steps[:MOST_LISTED]:
        times = f", {step.times:,} times" if step.times > 1 else ""
        lines.append(f"    {step}{times}")
    if len(steps) > MOST_LISTED:
        lines.append(f"    ... and {len(steps) - MOST_LISTED:,} more")
    return lines


def _cut_words(step: Step) -> str:
    """ "under no_grad at model.py:7"."""
    how = {
        "": "it was told not to by requires_grad_()",
        "no_grad": "its history was cut under no_grad",
        "detached": "its history was cut by detach()",
        "not_differentiable": "its history was cut by an op without derivative",
    }[step.cut]
    return f"{how} at {step.location or 'an unknown place'}"


def _gets(one: Explanation) -> list[str]:
    lines = [f"{one.name} gets a gradient by {_count(one.ways)}"]
    if one.paths:
        lines[0] += "; the shortest:" if one.ways > 1 else ":"
        lines += _way(one.name, one.paths[0])
    lines += _listed("hooks on the way:", one.hooked)
    freed = "values saved on the way were freed; another backward() needs retain_graph=True:"
    return lines + _listed(freed, one.freed)


def _requires_none(one: Explanation) -> list[str]:
    lines = [f"{one.name} gets no gradient: it does not require one"]
    if one.cuts:
        lines[0] += f"; {_cut_words(one.cuts[0])}"
    return [*lines, "hint: requires_grad_() before the output is computed"]


def _no_history(one: Explanation) -> list[str]:
    if not one.cuts:
        why = "nothing it was computed from requires a gradient"
    else:
        why = _cut_words(one.cuts[0])
    return [f"{one.name} gets no gradient: the output requires none: {why}", *_hint(one)]


def _cut(one: Explanation) -> list[str]:
    lines = [f"{one.name} gets no gradient: its values reach the output, but were cut off:"]
    lines += _way(one.name, one.trail)
    if len(one.cuts) > 1:
        lines += _listed("all places where they were cut off:", one.cuts)
    return lines


def _left(one: Explanation) -> list[str]:
    lines = [f"{one.name} gets no gradient: its values became numbers, which have no history"]
    lines += _listed("they left at:", one.left)
    if one.entered:
        return lines + _listed("tensors made from numbers went into the output at:", one.entered)
    return [*lines, "  no tensor made from numbers is known to go into the output"]


def _unused(one: Explanation) -> list[str]:
    lines = [f"{one.name} gets no gradient: nothing recorded leads from it to the output"]
    if not one.is_traced:
        lines[0] += ": it was not used, or its history was cut where nobody noted it"
    title = "values without history that went in (they may come from elsewhere):"
    return lines + _listed(title, one.cuts) + _hint(one)


def _hint(one: Explanation) -> list[str]:
    if one.is_traced:
        return []
    return ["hint: compute the output under ebb.trace_cuts() to see where its values go"]


WORDS = {
    "gets_gradient": _gets,
    "requires_no_grad": _requires_none,
    "output_without_history": _no_history,
    "cut": _cut,
    "left": _left,
    "not_used": _unused,
}

TABLE_WORDS = {
    "gets_gradient": "yes",
    "requires_no_grad": "not required",
    "output_without_history": "none: the output requires none",
    "cut": "none: cut off",
    "left": "none: left as numbers",
    "not_used": "none: not used",
}


def _others(names: list[str]) -> list[str]:
    """What leaves get a gradient that are in no module: often modules in a plain list."""
    if not names:
        return []
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    texts = [f"{name} ({count:,} times)" if count > 1 else name for name, count in counts.items()]
    text = ", ".join(texts[:MOST_LISTED]) + (", ..." if len(texts) > MOST_LISTED else "")
    noun = "leaf gets" if len(names) == 1 else "leaves get"
    return [f"{len(names):,} more {noun} a gradient, but no parameter of the module is one: {text}"]


Cells = tuple[str, ...]


def _folded(rows: list[Cells]) -> list[tuple[Cells, int]]:
    """Return rows, each with how many it stands for: of a long run of equal ones three are left."""
    from itertools import groupby

    folded = []
    for _, run in groupby(rows, key=lambda cells: cells[1:]):
        group = list(run)
        if len(group) > MOST_ALIKE:
            first, *between, last = group
            gap = (f"... {len(between):,} more alike ...", "", "", "")
            folded += [(first, 1), (gap, len(between)), (last, 1)]
        else:
            folded += [(cells, 1) for cells in group]
    return folded


def _cells(row: Summary, is_traced: bool) -> Cells:
    gradient = TABLE_WORDS[row.reason]
    if row.reason == "not_used" and not is_traced:
        gradient += ", or cut: untraced"
    if row.gets_gradient and row.gradient not in (MISSING, FINITE):
        gradient += f", {TEXTS[row.gradient]}"
    return row.name, gradient, _number(row.ways) if row.ways else "", str(row.step or "")


_naming.name_module(__name__)
