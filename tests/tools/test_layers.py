# tests/tools/test_layers.py -- wrong includes and forgotten sources are found.
from tools.check import layers, sources

CMAKE = {
    "ebb/autograd/CMakeLists.txt": """
# ebb_library(autograd DEPS ebb::nn) is only a comment
ebb_library(autograd SOURCES a.cpp DEPS ebb::core ebb::ops PRIVATE_DEPS ebb::json)
"""
}
ALLOWED = {"autograd": {"core", "ops"}}


def refusals(name: str, included: str) -> list[str]:
    return [
        problem.text.split(": ")[1]
        for problem in layers.bad_includes(name, f'#include "{included}"\n', ALLOWED)
    ]


def test_dependencies_are_read_from_the_cmake_file():
    assert layers.listed_dependencies(CMAKE) == ALLOWED


def test_including_down_the_layers_passes():
    assert refusals("ebb/autograd/a.cpp", "ebb/core/tensor/tensor.h") == []
    assert refusals("ebb/autograd/a.cpp", "ebb/autograd/history/node.h") == []


def test_including_a_higher_layer_is_found():
    assert refusals("ebb/core/a.h", "ebb/ops/add.h") == ["ops is the higher layer"]
    assert refusals("ebb/autograd/a.h", "ebb/nn/linear.h") == ["nn is the higher layer"]


def test_including_an_unlisted_folder_is_found():
    [text] = refusals("ebb/autograd/a.cpp", "ebb/kernels/add.h")
    assert text == "ebb::kernels is not among the DEPS of ebb/autograd/CMakeLists.txt"


def test_including_the_bindings_or_the_header_of_headers_from_the_library_is_found():
    assert len(refusals("ebb/core/a.cpp", "python/src/tensor.h")) == 1
    assert len(refusals("ebb/core/a.cpp", "ebb/ebb.h")) == 1


def test_tests_and_the_header_of_headers_may_include_anything():
    assert refusals("tests/core/a_test.cpp", "ebb/nn/linear.h") == []
    assert refusals("ebb/ebb.h", "ebb/nn/linear.h") == []


def test_an_include_in_angle_brackets_is_found():
    [problem] = layers.bad_includes("ebb/core/a.h", "\n#include <ebb/core/b.h>\n", {})
    assert (problem.line, problem.text) == (2, 'needs quotes: #include "ebb/core/b.h"')


def test_check_covers_generated_files_too(make_repo):
    repo = make_repo(
        {
            "ebb/core/a.h": '#include "ebb/ops/b.h"\n',
            "build/release/generated/ebb/ops/c.cpp": '#include "ebb/autograd/d.h"\n',
        }
    )
    assert {problem.path for problem in layers.check(repo)} == {"ebb/core/a.h", "ebb/ops/c.cpp"}


def test_a_source_that_no_cmake_file_names_is_found():
    cmake = {
        "ebb/core/CMakeLists.txt": "ebb_library(core SOURCES a.cpp cpu/b.cpp)  # not c.cpp\n",
        "tests/CMakeLists.txt": "ebb_test(d_test LABELS fast)\n",
    }
    listed = ["ebb/core/a.cpp", "ebb/core/cpu/b.cpp", "tests/d_test.cpp"]
    assert sources.unlisted(listed, cmake) == []
    forgotten = ["ebb/core/c.cpp", "ebb/core/ba.cpp", "tests/e_test.cpp", "ebb/nn/a.cpp"]
    assert [problem.path for problem in sources.unlisted(forgotten, cmake)] == forgotten
