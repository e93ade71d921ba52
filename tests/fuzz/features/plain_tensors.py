# tests/fuzz/features/plain_tensors.py -- what tensors, views, writes and runs promise, over
# plain_tape.py.
#
# A Storage is flat memory with a list of its writes. A Family is memory with one history: a base
# and its views; detach() makes another family of the same storage. A Plain is one tensor: places in
# its family. A write makes a new node for the whole family, so that views need no rule of their
# own. A node keeps the places that its op saves, and a run that needs one written since is refused.
# World has the modes of the thread, ops, writes and runs.
"""Tensors of the plain program."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from tests.fuzz.features import plain_tape as tape

COMPLEX = ("complex64", "complex128")
WIDTH = {"float16": 1, "bfloat16": 1, "float32": 2, "float64": 3, "complex64": 2, "complex128": 3}
_clock = itertools.count(1)


class RefusedError(Exception):
    """The program must get an error here."""


class SkipError(Exception):
    """What was drawn says nothing here: another step is drawn."""


def rounded(value, dtype):
    """The numbers that `dtype` has for float64 ones."""
    value = np.asarray(value)
    if dtype == "any":
        return value
    if dtype in COMPLEX:
        wide = value.astype(complex)
        return wide.astype(np.complex64).astype(complex) if dtype == "complex64" else wide
    if dtype == "bfloat16":
        bits = value.astype(np.float32).view(np.uint32).astype(np.uint64)
        kept = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
        return kept.astype(np.uint32).view(np.float32).astype(float)
    return value.astype(dtype).astype(float)


def promoted(tensors):
    """The dtype of an op of `tensors`: those without dims count only for their kind of number."""
    large = {one.dtype for one in tensors if one.places.ndim}
    small = {one.dtype for one in tensors if not one.places.ndim}
    if "any" in large | small:
        return "any"
    counts = large or small
    is_complex = any(dtype in COMPLEX for dtype in large | small)
    if is_complex and large and not any(dtype in COMPLEX for dtype in large):
        counts = large | {dtype for dtype in small if dtype in COMPLEX}
        width = max(WIDTH[dtype] for dtype in large)
    else:
        width = max(WIDTH[dtype] for dtype in counts)
    if is_complex:
        if width == 1 or any(WIDTH[dtype] == 1 for dtype in large | small):
            raise SkipError  # there is no complex number of two halves
        return "complex128" if width == 3 else "complex64"
    if width == 1:
        return "float32" if len(counts) == 2 else counts.pop()
    return "float64" if width == 3 else "float32"


class Storage:
    def __init__(self, value, is_inference):
        self.value = value.reshape(-1).copy()
        self.writes = []  # (time, places)
        self.is_inference = is_inference

    def written_since(self, time, places):
        return any(at > time and not places.isdisjoint(where) for at, where in self.writes)

    @property
    def stamp(self):
        return self.writes[-1][0] if self.writes else 0


class Family:
    def __init__(self, storage, shape, history=None):
        self.storage, self.shape, self.history = storage, shape, history
        self.generation = 0
        self.is_used = False  # by an op, whose node may hold the tensor itself
        self.retaining = []  # its tensors that keep their gradient
        self.born = next(_clock)

    @property
    def needs(self):
        return self.history is not None and self.history.needs

    @property
    def is_leaf(self):
        return self.needs and self.history.leaf is not None


class Plain:
    """One tensor."""

    def __init__(self, name, family, places, dtype, node=None, is_cut=False, is_view=False):
        self.name, self.family, self.places, self.dtype = name, family, places, dtype
        self.is_cut = is_cut  # a view that was made without history
        self.is_view = is_view
        self.has_siblings = False  # one of several results of its node
        self.grad = None
        self.is_untold = False  # nobody knows what its grad is
        self.loses_grad = False  # a hook takes its grad away
        self.adding_hooks, self.post_hooks = [], []
        self._node, self._generation = node, family.generation
        self._fresh = None

    @property
    def is_base(self):
        return not self.is_view and self.places.size == self.family.storage.value.size

    @property
    def is_base_alone(self):
        return self.is_base and not self.is_cut

    @property
    def shape(self):
        return self.places.shape

    @property
    def needs(self):
        return self.family.needs and not self.is_cut and not self.family.storage.is_inference

    @property
    def is_leaf(self):
        return self.family.is_leaf and self.is_base and not self.is_cut

    @property
    def value(self):
        return self.family.storage.value[self.places]

    @property
    def overlaps_itself(self):
        return np.unique(self.places).size != self.places.size

    def node(self):
        """The node that hooks of this tensor belong to."""
        if self._node is None or self._generation != self.family.generation:
            history = self.family.history
            self._node = history if self.is_base else tape.take(history, self.places)
            self._generation = self.family.generation
            self._fresh = None
        return self._node

    def retain(self):
        if self not in self.family.retaining:
            self.family.retaining.append(self)
        self.node().keeper = self

    def read(self):
        """A node with the value as it is now."""
        if not self.needs:
            return tape.constant(self.value.copy())
        node, stamp = self.node(), self.family.storage.stamp
        if self._fresh is None or self._fresh[0] != stamp:
            same = np.array_equal(node.value, self.value)
            self._fresh = (stamp, node if same else tape.identity(node, self.value.copy()))
        return self._fresh[1]

    def saved(self):
        return self.family.storage, frozenset(self.places.reshape(-1).tolist()), next(_clock)


class World:
    """Modes of the thread, and what ops, writes and runs do in them."""

    def __init__(self):
        self.grad, self.inference = True, False
        self.packs = False  # saved-tensor hooks that keep copies
        self.mutates = False  # in a block that lets saved tensors be written
        self.autocast = False
        self.loose = False  # what is saved is not told: in checkpoints, under autocast
        self.checkpointed = None  # the tensors that the checkpoint around is given
        self.results = None  # what the selective checkpoint around keeps of its function
        self.captured = ()  # of each checkpoint around: its begin, what it reads from before
        self.tainted = set()
        self.largest = 1.0
        self.last_write = 0
        self.watchers = []  # hooks of several tensors
        self.notes = []  # what the program says it saw

    @staticmethod
    def time():
        return next(_clock)

    @property
    def records(self):
        return self.grad and not self.inference

    def see_size(self, value):
        """Skip numbers beside which roundings are large."""
        size = float(np.abs(value).max()) if value.size else 0.0
        if not size <= 50.0:
            raise SkipError
        self.largest = max(self.largest, size)

    def use(self, one):
        """The operand of an op."""
        one.family.is_used = True
        for begun, reads in self.captured:
            if one.family.born < begun:
                reads.append(one.saved())
        if not self.records:
            return tape.constant(one.value.copy())
        if one.is_cut and one.family.needs:
            raise SkipError  # docs: must not be used in grad mode
        return one.read()

    def fresh(self, name, node, dtype, is_leaf=False):
        """A tensor with memory of its own."""
        node.value = rounded(node.value, dtype)
        self.see_size(node.value)
        storage = Storage(node.value, self.inference)
        made = Plain(name, Family(storage, node.value.shape), None, dtype)
        made.places = np.arange(node.value.size).reshape(node.value.shape)
        if is_leaf:
            node = tape.Node(node.value, leaf=made)
        made.family.history = node if node.needs and (self.records or is_leaf) else None
        made._node = made.family.history
        return made

    def remember(self, node, kept, edges=()):
        """The op of `node` saves `kept`, each for the gradient of its edge if that is given."""
        if not (node.needs and self.records) or node.leaf is not None:
            return
        if any(one.family.storage.is_inference for one in kept):
            raise RefusedError
        node.retained = bool(kept)
        node.loose = self.loose and bool(kept)
        node.captured, node.results = self.captured, self.results
        if self.checkpointed is not None and kept:
            node.loose = True
            kept, edges = [*kept, *self.checkpointed], ()
        if not self.packs:
            edges = edges or [None] * len(kept)
            node.saved = [(*one.saved(), of) for one, of in zip(kept, edges, strict=True)]

    def remember_something(self, node):
        """The op of `node` may save what is not told here."""
        if node.needs and self.records:
            node.loose = node.retained = True
            node.saved = [(*one.saved(), None) for one in self.checkpointed or ()]
            node.captured, node.results = self.captured, self.results

    def view(self, name, one, places):
        """A view at `places` of the tensor's own elements."""
        where = one.places.reshape(-1)[places]
        node = None
        if self.records and one.needs:
            node = tape.take(one.node(), places)
        cut = one.is_cut or (not self.records and not self.family_is_fresh(one))
        return Plain(name, one.family, where, one.dtype, node, is_cut=cut, is_view=True)

    @staticmethod
    def family_is_fresh(one):
        return one.family.storage.is_inference

    def detached(self, name, one):
        family = Family(one.family.storage, one.family.shape)
        family.born = min(family.born, one.family.born)
        return Plain(name, family, one.places, one.dtype)

    def check_write(self, one, needs):
        """Raise if a write to `one` is refused; `needs`: whether a gradient is involved."""
        involved = self.records and (needs or one.needs)
        if one.overlaps_itself:
            raise SkipError
        if not involved:
            return
        if one.family.is_leaf or one.is_cut or one.family.storage.is_inference:
            raise RefusedError

    def write(self, one, node):
        """Write the value of `node`; history where it is recorded."""
        storage = one.family.storage
        value = rounded(node.value, one.dtype)
        self.see_size(value)
        had = one.family.history
        before = one.family.storage.value.reshape(one.family.shape)
        storage.value[one.places] = value
        self.last_write = next(_clock)
        storage.writes.append((self.last_write, frozenset(one.places.reshape(-1).tolist())))
        if not (self.records and (node.needs or one.needs)):
            return
        node.value = value
        keepers = self.keepers(one)
        for tensor in keepers:
            tensor.node().keeper = None
        if one.is_base:
            one.family.history = node
        else:
            whole = tape.constant(before) if had is None else had
            one.family.history = tape.put(whole, one.places, node)
        one.family.history.value = storage.value.reshape(one.family.shape).copy()
        one.family.generation += 1
        one.node()
        for tensor in keepers:
            tensor.node().keeper = tensor

    @staticmethod
    def keepers(written):
        """The tensors that keep their gradient after the write: views do from their next use on."""
        family = written.family
        for one in family.retaining:
            one.is_untold = one is not written and one.is_view
        family.retaining = [one for one in family.retaining if not one.is_untold]
        return family.retaining


class Watcher:
    """A hook of several nodes, which is called once a run."""

    def __init__(self, nodes, call):
        self.nodes, self.call, self.seen = nodes, call, {}
        for node in nodes:
            node.hooks.append(functools.partial(self.hear, id(node)))

    def hear(self, key, gradient):
        self.seen[key] = gradient

    def tell(self):
        for node in self.nodes if self.seen else ():
            self.call(self.seen.get(id(node)))


class Run(tape.Sweep):
    """One backward() or grad(): hooks, gradients that are kept, nodes that are freed."""

    def __init__(self, world, roots, targets=None, collects=False, retain=False, records=False):
        super().__init__([node for node, _ in roots], targets)
        if any(id(node) in world.tainted for node in self.nodes):
            raise SkipError
        self.world, self.seeds = world, roots
        self.records, self.retain = records, retain
        self.collects, self.targets = collects, {id(node) for node in targets or ()}
        self.collected, self.used, self.undo = {}, [], []
        self.unsure = False  # whether the run may be refused as well

    def execute(self):
        """Gradients of the targets, by the nodes' ids. A run that fails changes nothing."""
        before = len(self.world.notes)
        for watcher in self.world.watchers:
            watcher.seen.clear()
        mode, started = (self.world.grad, self.world.inference), next(tape._numbers)
        self.world.grad, self.world.inference = self.records, False
        try:
            for node, seed in self.seeds:
                self.feed(node, seed)
            self.run(self.visit, self.passes)
            for watcher in self.world.watchers:
                watcher.tell()
        except (tape.ReadError, SkipError):
            self.world.tainted.update(id(node) for node in self.nodes)
            del self.world.notes[before:]
            for tensor, grad in reversed(self.undo):
                tensor.grad = grad
            raise
        finally:
            self.world.grad, self.world.inference = mode
        if self.records:
            self.loosen(started)
        for node in self.used:
            node.freed = node.freed or (node.retained and not self.retain)
        return self.collected

    def visit(self, node, gradient):
        for hook in list(node.hooks):
            answer = hook(self.settled(gradient))
            gradient = gradient if answer is None else tape.fitted(answer, node)
        gradient = self.settled(gradient)
        self.world.see_size(gradient.value)
        if node.keeper is not None:
            self.deliver(node.keeper, gradient)
        if id(node) in self.targets and self.collects:
            self.collected[id(node)] = gradient
        return gradient

    def passes(self, node, gradient):
        if node.leaf is not None:
            if not self.collects:
                self.deliver(node.leaf, gradient)
                for hook in list(node.leaf.post_hooks):
                    hook(node.leaf)
                for hook in list(node.leaf.adding_hooks):
                    hook(node.leaf, gradient)
            return False
        if self.collects and not any(id(parent) in self.allowed for parent, _ in node.edges):
            return False
        self.check(node)
        self.used.append(node)
        return True

    def deliver(self, tensor, gradient):
        """Add to what the tensor keeps."""
        old = tensor.grad
        if old is not None and old.needs and not self.records:
            raise SkipError
        self.undo.append((tensor, old))
        value = gradient if old is None else tape.add(old, gradient)
        self.world.see_size(value.value)
        tensor.grad = value if self.records else tape.constant(rounded(value.value, tensor.dtype))

    def loosen(self, started):
        """What the nodes of the run itself save is not known."""
        results = [*self.collected.values(), *(one.grad for one, _ in self.undo if one.grad)]
        for node in tape.reached(results):
            if node.seq > started:
                node.loose = node.retained = True
                node.made = next(_clock)

    def settled(self, gradient):
        return gradient if self.records else tape.constant(gradient.value)

    def check(self, node):
        written = any(
            storage.written_since(at, where)
            for storage, where, at, edge in node.saved
            if edge is None or id(edge) in self.allowed
        )
        written = written or (node.made is not None and self.world.last_write > node.made)
        reads = [read for _, reads in node.captured for read in reads]
        if any(storage.written_since(at, where) for storage, where, at in reads):
            raise SkipError  # a function that runs again reads what was written since
        if (node.freed or written) and not node.loose:
            raise tape.ReadError
        kept = any(storage.written_since(at, where) for storage, where, at in node.results or ())
        self.unsure = self.unsure or node.freed or written or kept
