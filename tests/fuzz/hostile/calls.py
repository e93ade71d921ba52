# tests/fuzz/hostile/calls.py -- makes the calls, in child processes, which may die.
#
# Run as a program, it forks a child for each group of GROUP callables, gives it 4 GB, and prints
# a JSON line per callable: how many calls it made and what was wrong. The child writes the call
# that it is about to make into shared memory, so that a crash can be told; a call that takes longer
# than LIMIT seconds ends it.
"""Worker of test_calls.py: python -m tests.fuzz.hostile.calls SEED COUNT GROUP [KEY...]."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import mmap
import os
import re
import resource
import sys
import tempfile
import traceback
import warnings

import ebb
from tests.fuzz import seeds
from tests.fuzz.hostile import values
from tests.fuzz.hostile.callables import Callable, all_callables

MEMORY = 4 << 30
LIMIT = 10
# Take anything for a parameter that is annotated as a callable, and why.
ANSWERS_ABOUT_ANYTHING = {"overrides.is_tensor_method_or_property"}


def main() -> None:
    """Fork a child for each group of callables; the rest of one that died gets another."""
    seed, count, group, keys = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    os.chdir(tempfile.mkdtemp())
    shared = mmap.mmap(-1, 1 << 16)
    waiting = [one for one in all_callables() if not keys or one.key in keys]
    _constructors()  # before the children need them
    while waiting:
        reports, status = _run_group(waiting[:group], seed, count, shared)
        if status != 0 and len(reports) < len(waiting[:group]):
            reports.append(_report_of_death(waiting[len(reports)], status, count, shared))
        for report in reports:
            print(json.dumps(report), flush=True)
        del waiting[: max(1, len(reports))]


def _run_group(group: list[Callable], seed: int, count: int, shared: mmap.mmap):
    reader, writer = os.pipe()
    shared[:8] = b"\0" * 8
    child = os.fork()
    if child == 0:
        os.close(reader)
        _run_child(group, seed, count, shared, writer)
    os.close(writer)
    with open(reader, encoding="utf-8") as pipe:
        reports = [json.loads(line) for line in pipe if line.endswith("}\n")]
    _, status = os.waitpid(child, 0)
    return reports, status


def _report_of_death(one: Callable, status: int, count: int, shared: mmap.mmap) -> dict:
    call = shared[8 : 8 + int.from_bytes(shared[:8], "little")].decode(errors="replace")
    ended = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "hangs"
    return {"key": one.key, "calls": count, "wrong": [[ended, call]]}


def _run_child(
    group: list[Callable], seed: int, count: int, shared: mmap.mmap, writer: int
) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nothing, stream)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    for one in group:
        rng = seeds.generator(seed, one.key)
        wrong = []
        for number in range(count):
            wrong += _try_call(one, rng, number, shared)
        report = {"key": one.key, "calls": count, "wrong": wrong}
        os.write(writer, (json.dumps(report) + "\n").encode())
    os._exit(0)


def _try_call(one: Callable, rng, number: int, shared: mmap.mmap) -> list:
    """Return what is wrong with the end of one call."""
    ebb.manual_seed(number)
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    text = f"call {number}: (drawing its arguments)"
    _note(shared, text)
    try:
        args, kwargs, refused = _draw_arguments(one, rng, number)
        function = _draw_function(one, rng)
        if function is None:
            return []
        text = f"call {number}: {_shown(args)} {_shown(kwargs)}"
        _note(shared, text)
        problem = _problem(one, function, args, kwargs, refused)
    finally:
        faulthandler.cancel_dump_traceback_later()
    return [[*problem, text]] if problem else []


def _note(shared: mmap.mmap, text: str) -> None:
    data = text.encode(errors="replace")[:65000]
    shared[8 : 8 + len(data)] = data
    shared[:8] = len(data).to_bytes(8, "little")


def _draw_arguments(one: Callable, rng, number: int):
    """Return arguments, and the name of one for which the call must be refused, if any."""
    if one.kind == "setter":
        return values.draw_arguments(rng, one.parameters)[0][:1] or [None], {}, None
    if number % 3 == 2:
        args, kwargs, refused = values.refused_arguments(rng, one.parameters)
        return args, kwargs, None if one.key in ANSWERS_ABOUT_ANYTHING else refused
    args, kwargs = values.draw_arguments(rng, one.parameters)
    values.misuse(rng, args, kwargs)
    return args, kwargs, None


def _draw_function(one: Callable, rng):
    if one.kind in ("function", "constructor"):
        return one.target
    own = values.instance_of(rng, one.target, _constructors()[one.target])
    if own is None:
        return None
    if one.kind == "setter":
        return lambda value: setattr(own, one.name, value)
    if one.name == "forward" and rng.random() < 0.5:
        return own
    return getattr(own, one.name)


_built: dict = {}


def _constructors() -> dict:
    if not _built:
        _built.update((o.target, o.parameters) for o in all_callables() if o.kind == "constructor")
    return _built


def _problem(one: Callable, function, args, kwargs, refused) -> list | None:
    # To draw the 130 million weights of a model takes longer than a call may.
    is_model = one.key.startswith("vision.models.")
    try:
        with ebb.nn.init.filling_nothing() if is_model else contextlib.nullcontext():
            result = function(*args, **kwargs)
    except Exception as error:
        return _wrong_with(one, error)
    if refused is not None:
        return ["accepts", refused]
    try:
        _use(result)
    except ebb.InternalError as error:
        return ["InternalError", str(error)]
    except Exception:
        pass  # what is done with a result has its own tests
    return None


def _use(result) -> None:
    if isinstance(result, ebb.Tensor) and result.requires_grad and result.numel() < 10**6:
        result.backward(ebb.ones_like(result.detach()))
    elif hasattr(result, "__next__"):
        for _, _ in zip(range(3), result, strict=False):
            pass
    else:
        repr(result)


def _wrong_with(one: Callable, error: Exception) -> list | None:
    text = str(error)
    if isinstance(error, ebb.InternalError):
        return ["InternalError", text]
    if "angry" in text or text in values.WORDS or _is_from_user(error):
        return None  # the caller's own, as assert_close(msg="a") raises
    head = text.split("\n")[0]
    if not isinstance(error, OSError) or isinstance(error, ebb.Error):
        head = re.split(r"\): |: ", head)[0]
    if any(_names(head, name) for name in one.names):
        return None
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(last.filename)}:{last.lineno}"
    return ["unnamed", f"{type(error).__name__}: {text[:300]} ({place})"]


def _is_from_user(error: Exception) -> bool:
    """Whether a function that was an argument raised, or a statement that a Timer ran."""
    frames = traceback.extract_tb(error.__traceback__)
    own = (values.__file__, "<timeit-src>")
    return any(frame.filename in own for frame in frames)


def _names(head: str, name: str) -> bool:
    """Whether the part of a text before its first colon speaks of a name."""
    if re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", head):
        return True
    # Layers are known by their functions: Conv2d by conv2d, CrossEntropyLoss by cross_entropy.
    plain = re.sub(r"[^a-z0-9]", "", head.removesuffix("(").lower())
    return bool(plain) and name[:1].isupper() and name.lower().startswith(plain)


def _shown(value) -> str:
    if isinstance(value, ebb.Tensor):
        return f"{value.dtype.name}{list(value.shape)}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}={_shown(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list | tuple) and value and len(value) < 12:
        inner = (repr(type(one)) if isinstance(one, list) else _shown(one) for one in value)
        return f"{type(value).__name__}(" + ", ".join(inner) + ")"
    return repr(value)[:60]


if __name__ == "__main__":
    main()
