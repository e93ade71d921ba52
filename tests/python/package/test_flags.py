# tests/python/package/test_flags.py -- settings: where they come from, setting them, and mistakes.
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ebb
from ebb import flags

ROOT = Path(__file__).parents[3]
SETTABLE = [flag for flag in flags.table() if flag.is_settable]


def other_value(flag):
    """A value that a flag does not have."""
    if flag.name == "log":
        return "op:6,engine:3"
    if flag.type is bool:
        return not flag.value
    return flag.value + 1 if flag.type is int else {"0": "nan"}.get(flag.value, "0")


def run(code, **environment):
    """What a program prints, and its warnings."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("EBB_")}
    done = subprocess.run([sys.executable, "-c", f"import ebb; {code}"], env=kept | environment,
                          capture_output=True, text=True, check=True)  # fmt: skip
    return done.stdout.strip(), done.stderr


@pytest.mark.parametrize("flag", SETTABLE, ids=lambda flag: flag.name)
def test_a_flag_is_set_and_goes_back(flag):
    value = other_value(flag)
    for name in (flag.name, flag.variable):
        with flags.guard({name: value}):
            assert flags.get(flag.name) == value
            source = "code" if value != flag.default else "default"
            assert {one.name: one.source for one in flags.table()}[flag.name] == source
        assert flags.get(flag.name) == flag.value
    flags.set(**{flag.name: value})
    flags.set({flag.name: flag.value})
    assert flags.get(flag.name) == flag.value


@pytest.mark.parametrize("flag", SETTABLE, ids=lambda flag: flag.name)
def test_the_environment_sets_it_from_the_start(flag):
    value = other_value(flag)
    text = str(int(value)) if flag.type is bool else str(value)
    code = f"print([(f.value, f.source) for f in ebb.flags.table() if f.name == {flag.name!r}])"
    assert run(code, **{flag.variable: text})[0] == f"[({value!r}, 'environment')]"


def test_flags_are_the_functions_that_set_them():
    threads = ebb.get_num_threads()
    with flags.guard(num_threads=threads + 1, log=2, kernel_fallback=False):
        assert ebb.get_num_threads() == threads + 1 and not ebb.is_kernel_fallback_enabled()
    assert ebb.get_num_threads() == threads and ebb.is_kernel_fallback_enabled()
    with flags.guard(check_nan_inf="1"), pytest.raises(ebb.errors.NonFiniteError):
        ebb.zeros(1).log()
    ebb.zeros(1).log()
    with flags.guard(detect_anomaly=True):
        assert ebb.is_anomaly_enabled()
    assert not ebb.is_anomaly_enabled()


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"num_thread": 1}, KeyError, "flag, got 'num_thread'\nhint: perhaps 'num_threads'"),
        ({3: 1}, KeyError, "set: needs the name of a flag, got 3"),
        ({"num_threads": "2"}, TypeError, "set: num_threads needs int, got str"),
        ({"num_threads": True}, TypeError, "set: num_threads needs int, got bool"),
        ({"kernel_fallback": 1}, TypeError, "set: kernel_fallback needs bool, got int"),
        ({"num_threads": 0}, ValueError, "num_threads"),
        ({"num_threads": -1}, ValueError, "set: num_threads needs a whole number, got -1"),
        ({"log": 10}, ValueError, "log: needs a level from 0 to 9, or those of parts, got 10"),
        ({"log": "op:6 engine:3"}, ValueError, "the parts are general, op, engine, amp"),
        ({"log": True}, TypeError, "set: log needs str, got bool"),
        ({"check_nan_inf": "yes"}, ValueError, "check_nan_inf: needs 0, 1 or nan, got yes"),
        ({"isa": "avx2"}, ValueError, "isa holds from the start, got avx2\nhint: set EBB_ISA"),
        ({"jobs": 3}, (ValueError, TypeError), "set: jobs"),
    ],
)  # fmt: skip
def test_mistakes_are_named_and_change_nothing(given, error, text):
    before = flags.table()
    with pytest.raises(error, match=re.escape(text)):
        flags.set({"log": 3, **given})
    with pytest.raises(error), flags.guard({"log": 3, **given}):
        pass
    assert flags.table() == before


def test_a_variable_that_is_none_is_warned_of_once():
    _, warnings = run("ebb.flags.table()", EBB_NUM_THREAD="2", EBB_JOBS="2")
    assert warnings.count("UserWarning") == 1
    assert "EBB_NUM_THREAD is no variable that ebb reads; perhaps EBB_NUM_THREADS?" in warnings
    assert run("pass", EBB_NUM_THREADS="2", EBBLOG="1")[1] == ""


@pytest.mark.parametrize(
    ("name", "text"),
    [("NUM_THREADS", "four"), ("NUM_THREADS", "0"), ("NUM_THREADS", "4x"), ("LOG", "10"),
     ("NUM_THREADS", "99999999999999999999"), ("PARALLEL_BACKWARD", "yes"),
     ("KERNEL_FALLBACK", "2")],
)  # fmt: skip
def test_a_value_that_is_none_is_warned_of(name, text):
    _, warnings = run("pass", **{f"EBB_{name}": text})
    assert warnings.count("UserWarning") == 1
    assert f"EBB_{name} cannot be {text}: it is " in warnings


@pytest.mark.parametrize("text", ["0", "false", "off"])
def test_switches_are_off_in_the_words_for_it(text):
    names = ("parallel_backward", "kernel_fallback", "detect_anomaly")
    variables = {f"EBB_{name.upper()}": text for name in names}
    code = f"print([ebb.flags.get(name) for name in {names}])"
    assert run(code, **variables) == ("[False, False, False]", "")


def test_the_manual_names_every_flag_with_its_default_and_meaning():
    text = (ROOT / "docs/flags.md").read_text()
    for flag in flags.table():
        assert f"| `{flag.name}` | {flag.type.__name__} |" in text
        assert flag.doc in text


def test_no_file_reads_the_environment_for_itself():
    # The second one asks for the system's HOME, the third for OpenBLAS's own variable.
    owners = {
        "ebb/core/base/flags.cpp",
        "ebb/devices/launch/disk_cache.cpp",
        "ebb/kernels/cpu/gemm/openblas.cpp",
    }
    found = {
        str(path.relative_to(ROOT))
        for folder in ("ebb", "python/src", "codegen/templates")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".cpp", ".h", ".j2") and "getenv" in path.read_text()
    }
    assert found == owners


def test_the_module_prints_them():
    done = subprocess.run([sys.executable, "-m", "ebb.flags"], capture_output=True, text=True,
                          check=True)  # fmt: skip
    assert "num_threads = " in done.stdout and "EBB_ISA" in done.stdout
    assert done.stderr == ""
