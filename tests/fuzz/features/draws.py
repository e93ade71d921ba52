# tests/fuzz/features/draws.py -- draws a program of features, as source and as what it must show.
#
# A program is rows of bytes, and every list of rows is a program: the first byte names the step,
# the others are its choices, taken modulo what there is to choose from. So hypothesis may shorten
# and lower rows as it likes. A step (steps.py, modules.py) writes lines of source,
# of a function of `lib` (ebb or torch), `log` and helpers (helpers.py), and does to World
# (plain_tensors.py) what these lines promise to mean. Start reading at take_step().
"""Programs drawn from rows of bytes."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

from tests.fuzz.features import helpers, plain_tape as tape
from tests.fuzz.features.plain_tensors import Plain, RefusedError, Run, SkipError, World

STEPS = {}
HEAD = "def program(lib, log, do):"


def step(weight=1):
    """Make a function a step, drawn as often as `weight` says."""

    def register(function):
        for number in range(weight):
            STEPS[f"{function.__name__} {number}"] = function
        return function

    return register


@step()
def nothing(program, choices):
    """What hypothesis lowers the steps to that do not matter."""
    raise SkipError


class Choices:
    """The choices of a row, of which there are as many as asked for: 0 after its end."""

    def __init__(self, row):
        self.row, self.place = row, 0

    def below(self, count):
        if count <= 0:
            raise SkipError
        byte = self.row[self.place] if self.place < len(self.row) else 0
        self.place += 1
        return byte % count

    def pick(self, things):
        things = list(things)
        return things[self.below(len(things))]

    def chance(self, one_in):
        """Rarely true, and never at the end of a row."""
        return self.below(one_in) == one_in - 1


@dataclass
class Program:
    """What is drawn so far."""

    rows: list
    dtypes: list = field(default_factory=list)
    world: World = field(default_factory=World)
    lines: list = field(default_factory=list)
    pool: list = field(default_factory=list)
    leaves: list = field(default_factory=list)
    objects: dict = field(default_factory=dict)  # modules, optimizers, handles by kind
    used: list = field(default_factory=list)
    indent: int = 1
    depth: int = 0
    functions: int = 0  # around the line that is written, each with names of its own
    frozen: int = 0  # families born before this time may not be written
    captive: bool = False  # in a function that runs again: nothing is noted or remembered
    is_void: bool = False  # steps were dropped whose meaning had been done
    kept: tuple = (0, 0)
    over: bool = False  # an error may have come: nothing is known after it
    counter: int = 0

    def source(self):
        return "\n".join([HEAD, *self.lines]) + "\n"

    def name(self, letter="t"):
        self.counter += 1
        return f"{letter}{self.counter}"

    def keep(self):
        """What is written now stays, also if the step comes to nothing."""
        self.kept = len(self.lines), len(self.pool)

    def emit(self, line):
        self.lines.append("    " * self.indent + line)

    def add(self, tensor):
        self.pool.append(tensor)
        return tensor

    def objects_of(self, kind):
        return self.objects.setdefault(kind, [])

    def note(self, key, tensor):
        """What `log.see(key, ...)` of the source sees."""
        self.world.notes.append((key, picture(tensor)))

    def see(self, key, source, tensor):
        self.emit(f"log.see({key!r}, {source})")
        self.note(key, tensor)

    def state(self, code, action):
        """A line of source and its meaning; the result, or None if the line is refused."""
        try:
            result = action()
        except (RefusedError, tape.ReadError):
            self.refused(code)
            return None
        self.emit(code)
        return result

    def refused(self, code):
        """A line of source that must raise, each time that a function runs that has it."""
        self.emit(f"with log.must_fail({self.captive}):")
        self.emit(f"    {code}")
        if not self.captive:
            self.world.notes.append(("raised", None))

    def run(self, code, roots, **options):
        """A run of the engine; its gradients, or None if it is refused."""
        begun = len(self.world.notes)
        run = Run(self.world, roots, **options)
        try:
            collected = run.execute()
        except tape.ReadError:
            self.refused(code)
            self.objects.pop("kept", None)  # hooks of the run may have been called
            for one in self.leaves:
                if one.loses_grad:  # whether the hook was called is not known
                    self.emit(f"{one.name}.grad = None")
                    one.grad = None
            return None
        except SkipError:
            self.objects.pop("kept", None)
            self.over = True
            raise
        if run.unsure:
            self.emit("with log.may_fail():")
            self.emit(f"    {code}")
            self.world.notes.insert(begun, ("may", None))
            self.emit("log.went_well()")
            self.world.notes.append(("well", None))
        else:
            self.emit(code)
        return collected

    def runs(self, code, several):
        """Runs at one time, none of which is refused; what hooks see is in no order."""
        begun = len(self.world.notes)
        try:
            for roots in several:
                run = Run(self.world, roots, retain=True)
                run.execute()
                if run.unsure:
                    raise SkipError
        except (tape.ReadError, SkipError):
            self.is_void = True
            raise SkipError from None
        self.emit(code)
        self.world.notes[begun:] = sorted(self.world.notes[begun:], key=sorting)
        return True

    def tensor(self, choices, condition=lambda one: True):
        """A drawn tensor, a late one more often."""
        fitting = [one for one in self.pool if condition(one)]
        if choices.below(2):
            fitting = fitting[-3:]
        return choices.pick(reversed(fitting))

    @contextlib.contextmanager
    def block(self, line):
        self.emit(line)
        self.indent += 1
        before = len(self.lines)
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            if len(self.lines) == before:
                self.emit("pass")
            self.indent -= 1

    def body(self, count):
        """The next steps, inside of a block."""
        for _ in range(count):
            take_step(self)


def sorting(entry):
    """The order that `do.in_threads` gives to what hooks saw."""
    return helpers.sorting((entry[0], entry[1] and (None, None, entry[1][2].tolist())))


def picture(tensor):
    """What is compared: dtype, whether it requires a gradient, numbers."""
    if isinstance(tensor, Plain):
        return tensor.dtype, tensor.needs, tensor.value.copy()
    return None if tensor is None else (None, tensor.needs, tensor.value.copy())


def take_step(program):
    """One step of the next row that says something here."""
    while program.rows and not program.over and not program.is_void:
        row = program.rows.pop(0)
        name = list(STEPS)[row[0] % len(STEPS)]
        program.keep()
        indent, used = program.indent, len(program.used)
        try:
            STEPS[name](program, Choices(row[1:]))
        except SkipError:
            del program.lines[program.kept[0] :], program.pool[program.kept[1] :]
            program.indent = indent
            program.is_void = program.is_void or len(program.used) > used
            continue
        program.used.append(name.split()[0])
        return
