# tests/tools/test_layers.py -- wrong includes and forgotten sources are found.
from pathlib import Path

from tools.check import circles, layers, sources
from tools.check.repo import Repo

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


ROOMS = {
    "ebb/core/base/a.h": "",
    "ebb/core/base/a.cpp": '#include "ebb/core/base/a.h"\n#include "ebb/core/tensor/t.h"\n',
    "ebb/core/tensor/t.h": '#include "ebb/core/base/a.h"\n',
    "ebb/core/tensor/t-inl.h": '#include "ebb/core/tensor/t.h"\n',
}


def test_including_up_the_rooms_of_a_folder_is_found():
    assert refusals("ebb/core/tensor/t.h", "ebb/core/base/a.h") == []
    [text] = refusals("ebb/core/base/a.cpp", "ebb/core/tensor/t.h")
    assert text == "tensor stands above base in ebb/core"
    assert refusals("ebb/autograd/history/a.cpp", "ebb/autograd/ops/copy.h") == []


def test_files_that_include_each_other_are_found_where_header_and_source_are_one():
    [problem] = layers.bad_circles(circles.include_graph(ROOMS, {}))
    assert problem.path == "ebb/core/base/a"
    assert problem.text == (
        "2 need each other: ebb/core/base/a needs ebb/core/tensor/t, "
        "ebb/core/tensor/t needs ebb/core/base/a"
    )
    without = {name: text for name, text in ROOMS.items() if not name.endswith("a.cpp")}
    assert layers.bad_circles(circles.include_graph(without, {})) == []


def test_a_generated_module_is_not_taken_for_its_package(make_repo):
    repo = make_repo(
        {
            "python/ebb/nn/__init__.py": "from ebb.nn import stack\n",
            "python/ebb/nn/stack.py": "from ebb.nn.dropout import Dropout\n",
            "build/release/generated/python/ebb/nn/dropout.py": "",
        }
    )
    assert layers.check(repo) == []


def test_a_generated_source_is_no_part_of_its_header():
    texts = {"ebb/ops/check.cpp": '#include "ebb/ops/sum.h"\n', "ebb/ops/check.h": ""}
    generated = {"ebb/ops/sum.h": "", "ebb/ops/sum.cpp": '#include "ebb/ops/check.h"\n'}
    assert layers.bad_circles(circles.include_graph(texts, generated)) == []
    assert len(layers.bad_circles(circles.include_graph({**texts, **generated}, {}))) == 1


def imports(**texts: str) -> list[list[str]]:
    return circles.circles(
        circles.import_graph({name.replace("__", "."): text for name, text in texts.items()})
    )


def test_modules_that_import_each_other_are_found_also_in_functions():
    a = "def run():\n    from ebb.io.b import f\n"
    assert imports(ebb__io__a=a, ebb__io__b="from ebb.io import a\n") == [["ebb.io.a", "ebb.io.b"]]
    assert imports(ebb__io__a=a, ebb__io__b="import ebb.io.a as a\n") == [["ebb.io.a", "ebb.io.b"]]


def test_what_is_imported_for_type_checkers_alone_makes_a_circle_too():
    for_types = "if TYPE_CHECKING:\n    from ebb.io import a\n"
    a = "from ebb.io.b import f\n"
    assert imports(ebb__io__a=a, ebb__io__b=for_types) == [["ebb.io.a", "ebb.io.b"]]


def test_the_package_that_gathers_all_makes_no_circle():
    assert imports(ebb="from ebb import io\n", ebb__io="import ebb\n") == []


def refused_imports(**texts: str) -> list[str]:
    graph = circles.import_graph({name.replace("__", "."): text for name, text in texts.items()})
    return [problem.text for problem in layers.bad_imports(graph)]


def test_importing_up_the_modules_is_found_also_in_functions_and_by_name():
    text = "ebb.io.b may not import ebb.nn.c: ebb.nn stands above ebb.io"
    use = "import ebb\n\ndef run():\n    return ebb.nn.c.f()\n"
    assert refused_imports(ebb__io__b="from ebb.nn import c\n", ebb__nn__c="") == [text]
    assert refused_imports(ebb__io__b=use, ebb__nn__c="") == [text]
    assert refused_imports(ebb__io__b="", ebb__nn__c="from ebb.io import b\n") == []


def test_importing_up_the_modules_by_text_is_found():
    told = "ebb.io.b may not import ebb.nn.c: ebb.nn stands above ebb.io"
    whole = "import importlib\n\ndef run():\n    return importlib.import_module('ebb.nn.c').f()\n"
    lazy = "from ebb._base.lazy import LazyPackage\nc = LazyPackage('ebb.nn.c')\n"
    for text in (whole, lazy):
        assert refused_imports(ebb__io__b=text, ebb__nn__c="") == [told]
    begun = "import importlib\nc = importlib.import_module(f'ebb.nn.{name}')\n"
    assert refused_imports(ebb__io__b=begun, ebb__nn="", ebb__nn__c="") == [
        "ebb.io.b may not import ebb.nn: ebb.nn stands above ebb.io"
    ]


def test_modules_of_one_package_may_name_each_other_by_text():
    shown = "c = LazyPackage('ebb.nn.c')\n"
    assert imports(ebb__nn=shown, ebb__nn__c="import ebb.nn as nn\n") == []


def test_a_package_without_a_place_of_its_own_is_for_the_top_one_alone():
    [text] = refused_imports(ebb__new="from ebb.optim import a\n", ebb__optim__a="import ebb.new\n")
    assert text == "ebb.optim.a may not import ebb.new: ebb stands above ebb.optim"


def test_every_ordered_module_exists():
    names = map(circles.module_name, Repo.at(Path(__file__).parents[2]).select(".py"))
    rooms = {
        layers._room(name)
        for name in names
        if name.startswith(("ebb", "codegen", "satellites", "tools"))
    }
    assert rooms == {*layers.MODULES}


def test_a_circle_is_told_from_the_ways_into_it_and_out_of_it():
    graph = {"in": {"a"}, "a": {"b"}, "b": {"a", "out"}, "out": set(), "c": {"d"}, "d": {"c"}}
    assert circles.circles(graph) == [["a", "b"], ["c", "d"]]
