# tests/codegen/test_generate.py -- output is the same every time, and changes no more than it must.
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OLD_FORMULA = 'grad: {input: "mul0(grad_out, conj(out))"}'
NEW_FORMULA = 'grad: {input: "mul0(grad_out, conj(out)) * 1"}'


@pytest.fixture
def table(tmp_path):
    """Return a copy of the op table and its generator."""
    for folder in ("ops", "codegen"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    kernels = tmp_path / "ebb" / "kernels"
    kernels.mkdir(parents=True)
    for header in (ROOT / "ebb" / "kernels").glob("signatures*.h"):
        shutil.copy(header, kernels)
    devices = tmp_path / "ebb" / "devices" / "kernels"
    devices.mkdir(parents=True)
    for name in ("functions.k", "special.k"):
        shutil.copy(ROOT / "ebb" / "devices" / "kernels" / name, devices)
    return tmp_path


def generate(table, *arguments, seed="0"):
    command = [sys.executable, str(table / "codegen" / "generate.py"), *arguments]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def edit(table, old, new):
    path = table / "ops" / "pointwise" / "pointwise.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def generated(table, out, seed="0"):
    """What the generator makes of some families."""
    for what in (["--common"], ["--family", "pointwise"], ["--family", "shape"]):
        assert generate(table, *what, "--out", str(out), seed=seed).returncode == 0
    return contents(out)


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    return generated(ROOT, tmp_path_factory.mktemp("before"))


def test_output_does_not_depend_on_the_hash_seed(before, tmp_path):
    assert generated(ROOT, tmp_path, seed="1") == before


def test_a_second_run_writes_nothing(table):
    out = table / "out"
    generate(table, "--family", "pointwise", "--out", str(out))
    for path in out.rglob("*.*"):
        os.utime(path, (1, 1))
    generate(table, "--family", "pointwise", "--out", str(out))
    assert {path.stat().st_mtime for path in out.rglob("*.*")} == {1}


def test_a_mistake_ends_with_its_place_and_writes_nothing(table):
    edit(table, "kernel: UnaryKernel exp", "kernel: UnaryKernl exp")
    result = generate(table, "--family", "pointwise", "--out", str(table / "out"))
    assert result.returncode == 1
    assert result.stderr.startswith("ops/pointwise/pointwise.yaml:")
    assert ": exp: unknown kernel type `UnaryKernl`" in result.stderr
    assert not (table / "out").exists()


def changed_outputs(table, before, old, new):
    edit(table, old, new)
    after = generated(table, table / "after")
    return {name for name, text in after.items() if before.get(name) != text}


def test_a_word_of_documentation_changes_the_bindings_of_its_family_only(table, before):
    changed = changed_outputs(table, before, "  doc: ", "  doc: Another ")
    assert changed == {"python/ops_pointwise.cpp"}


def test_a_new_op_changes_no_header_of_another_op(table, before):
    row = "- op: exp(Tensor input)"
    text = (table / "ops" / "pointwise" / "pointwise.yaml").read_text()
    entry = row + text.split(row)[1].split("\n- op:")[0]
    changed = changed_outputs(
        table, before, entry, f"{entry}\n{entry.replace('op: exp', 'op: expo')}"
    )
    headers = {name for name in changed if name.startswith("ebb/autograd/ops")}
    own = {"ebb/autograd/ops/expo.h", "ebb/autograd/ops/pointwise.cpp"}
    assert headers == {"ebb/autograd/ops.h", *own}


PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(little LANGUAGES NONE)
set(Python_EXECUTABLE {python})
set(EBB_GENERATED_DIR ${{CMAKE_CURRENT_BINARY_DIR}}/generated)
add_subdirectory(codegen)
# Each generated source is "compiled" into a stamp that notes the time.
foreach(source IN LISTS ebb_generated_kernels ebb_generated_ops ebb_generated_autograd)
  string(REPLACE "/" "_" stamp "${{source}}")
  add_custom_command(OUTPUT ${{stamp}} COMMAND ${{CMAKE_COMMAND}} -E touch ${{stamp}}
                     DEPENDS ${{source}})
  list(APPEND stamps ${{stamp}})
endforeach()
add_custom_target(compile ALL DEPENDS ${{stamps}})
"""


def test_touching_one_formula_rebuilds_its_family_only(table):
    for path in (table / "ops").rglob("*.yaml"):  # all fifty families take half a minute
        if path.stem not in ("arithmetic", "compare", "pointwise", "shape", "fused", "schema"):
            path.unlink()
    (table / "CMakeLists.txt").write_text(PROJECT.format(python=sys.executable))
    build = table / "build"
    subprocess.run(["cmake", "-G", "Ninja", "-S", table, "-B", build], check=True)
    subprocess.run(["cmake", "--build", build], check=True)
    stamps = {path: path.stat().st_mtime_ns for path in build.glob("*.cpp")}
    assert len(stamps) > 10
    edit(table, OLD_FORMULA, NEW_FORMULA)
    subprocess.run(["cmake", "--build", build], check=True)
    rebuilt = [path.name for path, before in stamps.items() if path.stat().st_mtime_ns != before]
    # The formula appears in the node and in the forward-mode rule, and nowhere else.
    assert sorted(name.split("generated_")[1] for name in rebuilt) == [
        "ebb_autograd_jvp_pointwise.cpp",
        "ebb_autograd_ops_pointwise.cpp",
    ]
