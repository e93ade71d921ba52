# tests/tools/test_file_checks.py -- openings, banned code, hygiene and names fail on bad input.
import pytest

from tools.check import banned, hygiene, mentions, openings, rooms, test_names


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ebb/a.h", "// ebb/a.h -- an example.\n"),
        ("a.py", "#!/usr/bin/env python3\n# a.py -- an example.\n"),
        ("codegen/a.j2", "{# codegen/a.j2 -- an example. #}\n"),
        ("codegen/a.cpp.j2", "// ebb/ops/{{ name }}.cpp -- generated from {{ file }}.\n"),
    ],
)
def test_an_opening_comment_with_path_and_purpose_passes(name, text):
    assert openings.missing_opening(name, text) == []


@pytest.mark.parametrize("text", ["", "#pragma once\n", "// ebb/b.h -- another path.\n"])
def test_a_missing_or_foreign_opening_is_found(text):
    [problem] = openings.missing_opening("ebb/a.h", text)
    assert "needs the opening comment" in problem.text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.cpp", "#include <ranges>\n"),
        ("a.cpp", "auto v = x | std::views::take(2);\n"),
        ("a.h", "using namespace std;\n"),
        ("a.cpp", "#pragma omp parallel for\n"),
        ("ebb/kernels/a.cpp", "std::vector<int64_t> places;\n"),
        ("ebb/core/a.cpp", "std::call_once(flag, load);\n"),
        ("a.py", "# TODO write this\n"),
        ("CMakeLists.txt", "add_compile_options(-ffast-math)\n"),
        ("CMakeLists.txt", "file(GLOB sources *.cpp)\n"),
        ("python/ebb/nn/a.py", 'HOME = "torch._utils"\n'),
    ],
)
def test_a_banned_construct_is_found(name, text):
    assert len(banned.banned_in(name, text)) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.cpp", "// views: std::views::take is not used\nusing namespace hwy;\n"),
        ("ebb/nn/a.cpp", "std::vector<int64_t> sizes;\n"),
        ("a.py", "# TODO(#12): write this\n"),
        ("CMakeLists.txt", "# never -ffast-math, no GLOB\n"),
        ("python/ebb/io/torch_names.py", 'HOME = "torch._utils"\n'),
        ("satellites/torch/ebb/a.py", 'HOME = "torch._utils"\n'),
    ],
)
def test_what_only_looks_banned_passes(name, text):
    assert banned.banned_in(name, text) == []


def test_a_header_without_pragma_once_is_found(make_repo):
    repo = make_repo({"a.h": "int f();\n", "b.h": "#pragma once\n", "c-inl.h": "int g();\n"})
    assert [problem.path for problem in banned.check(repo)] == ["a.h"]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("build/a.txt", b"x", "build product"),
        ("a.so", b"x", "build product"),
        ("a.cpp", b"// made by gen.py, do not edit\n", "generated"),
        ("a.csv", b"1,2\n" * 60_000, "at most 200000 bytes"),
        ("a.bin", b"\0\1", "binary"),
        ("a.py", b"x = 1\r\n", "Windows"),
    ],
)
def test_an_unwanted_file_is_found(name, content, complaint):
    [problem] = hygiene.unwanted(name, content)
    assert complaint in problem.text


def test_an_ordinary_file_passes_hygiene():
    assert hygiene.unwanted("a.py", b"x = 1\n") == []


def test_two_cpp_tests_of_one_name_in_one_folder_are_found():
    twice = "TEST(Engine, Runs) {}\n"
    files = {"tests/a/x_test.cpp": twice, "tests/a/y_test.cpp": "\n" + twice}
    [problem] = test_names.duplicate_cpp_tests(files)
    assert (problem.path, problem.line) == ("tests/a/y_test.cpp", 2)
    assert problem.text == "test Engine.Runs is already in tests/a/x_test.cpp:1"
    assert test_names.duplicate_cpp_tests({"tests/a/x.cpp": twice, "tests/b/x.cpp": twice}) == []
    rooms_of_one = {"tests/a/b/x.cpp": twice, "tests/a/c/x.cpp": twice}
    assert len(test_names.duplicate_cpp_tests(rooms_of_one)) == 1


def test_a_folder_without_a_readme_is_found(make_repo):
    files = {
        "ebb/core/a.h": "",
        "ebb/nn/README.md": "`b.h`",
        "ebb/nn/b.h": "",
        "tools/check/c.py": "",
    }
    problems = rooms.check(make_repo(files))
    assert [problem.path for problem in problems] == ["ebb/core/README.md", "tools/README.md"]


def test_a_folder_of_the_package_with_five_modules_needs_a_readme():
    modules = tuple(f"python/ebb/part/m{number}.py" for number in range(5))
    assert "python/ebb/part" in rooms.rooms(modules)
    assert "python/ebb/part" not in rooms.rooms(modules[1:])


def test_a_file_that_the_readme_of_its_room_does_not_name_is_found():
    files = (
        "ebb/nn/README.md",
        "ebb/nn/a.h",
        "ebb/nn/a.cpp",
        "ebb/nn/b-inl.h",
        "ebb/nn/in_c.h",
        "ebb/nn/d.md",
        "ebb/nn/inner/e.h",
        "ebb/nn/inner/README.md",
        "ebb/nn/CMakeLists.txt",
        "ebb/nnx/f.h",
    )
    text = "`a.h`, `b`, `in_*.h`, [d](d.md), `ops/*.yaml`"
    assert rooms.unnamed_files("ebb/nn/README.md", text, files) == []
    [problem] = rooms.unnamed_files("ebb/nn/README.md", text.replace("`a.h`", "a.h"), files)
    assert problem.text == "names no `a`"


def test_a_readme_names_files_of_folders_without_one_unless_they_are_one_per_family():
    files = ("python/ebb/io/README.md", "python/ebb/io/a.py", "python/ebb/io/old/b.py",
             "python/ebb/io/new/README.md", "python/ebb/io/new/c.py")  # fmt: skip
    [problem] = rooms.unnamed_files("python/ebb/io/README.md", "`a.py`", files)
    assert problem.text == "names no `b`"
    files = ("ebb/autograd/README.md", "ebb/autograd/rules/a.h", "ebb/autograd/watch/b.h")
    [problem] = rooms.unnamed_files("ebb/autograd/README.md", "", files)
    assert problem.text == "names no `b`"


def test_a_folder_of_tests_that_mirrors_no_room_is_found():
    files = ("ebb/core/base/a.h", "tests/core/base/a_test.cpp", "tests/core/old/b_test.cpp")
    [problem] = rooms.strange_test_rooms(files)
    assert str(problem.path) == "tests/core/old"


def test_a_room_that_the_readme_does_not_name_is_found():
    files = ("ebb/core/a.h", "ebb/new/b.h", "ebb/ebb.h", "tests/core/c_test.cpp")
    [problem] = rooms.unnamed_rooms(files, "| `ebb/core` | tensors |")
    assert problem.text == "needs a row for `ebb/new`"


def test_a_folder_with_one_name_more_than_may_be_is_too_full():
    count = rooms.MAX_STEMS + 1
    files = tuple(f"ebb/core/x{number}{end}" for number in range(count) for end in (".h", ".cpp"))
    [problem] = rooms.full_folders(files)
    assert problem.text == f"needs at most {count - 1} names side by side, got {count}"
    assert rooms.full_folders(files[2:]) == []


def test_a_readme_of_41_lines_is_too_long(make_repo):
    [problem] = rooms.check(make_repo({"tools/README.md": "\n" * 41}))
    assert problem.text == "README needs at most 40 lines, got 41"


def test_a_row_of_a_table_that_goes_on_in_the_next_counts_once(make_repo):
    assert rooms.check(make_repo({"tools/README.md": "\n" * 30 + "| | more |\n" * 20})) == []


def test_a_start_that_is_gone_is_found():
    opening = "// ebb/a.h -- an example.\n// Start reading\n// at a::Run::first().\n"
    text = opening + "void Run::first() {}\n"
    assert openings.missing_start("ebb/a.h", text) == []
    assert openings.missing_start("ebb/a.h", "// Start reading at run() in b.cpp.\n") == []
    [problem] = openings.missing_start("ebb/a.h", text.replace("Run::first() {}", "last() {}"))
    assert (problem.line, problem.text) == (2, "a::Run::first() is gone")


def test_a_function_that_a_readme_names_and_that_is_gone_is_found():
    pages = {"ebb/README.md": "`run()`,\n`a::gone()`, `run_all(x)`", "docs/x.md": "`gone()`"}
    [problem] = mentions.unknown_functions(pages, ["void run();", "int other() {}"])
    assert (problem.path, problem.line, problem.text) == ("ebb/README.md", 2, "gone() is gone")


def test_a_class_that_a_tour_names_and_that_is_gone_is_found():
    pages = {"docs/tours/op.md": "`DeadNode`, then `LiveNode`\n", "docs/a.md": "`DeadNode`\n"}
    [problem] = mentions.unknown_functions(pages, ["class LiveNode;"])
    assert str(problem) == "docs/tours/op.md:1: DeadNode is gone"


def test_a_link_of_a_page_to_what_is_gone_is_found():
    text = "[a](../ebb/a.h)\n[b](b.md#part) [c](../ebb/) [d](https://example.org) [e](#part)\n"
    found = mentions.dead_links("docs/page.md", text, {"ebb/b.h", "docs/page.md"})
    assert [str(problem) for problem in found] == [
        "docs/page.md:1: ../ebb/a.h is gone",
        "docs/page.md:2: b.md is gone",
    ]


def test_a_target_that_a_page_names_and_that_is_gone_is_found():
    pages = {"docs/x.md": "`make test`, `make test-all`, make it"}
    [problem] = mentions.unknown_targets(pages, "test:  ## run the tests\n")
    assert problem.text == "make test-all is gone"


def test_a_file_that_a_comment_or_a_readme_names_and_that_is_gone_is_found(make_repo):
    files = {
        "ebb/core/a.h": "// See ebb/core/b.h, core/c.h, ebb/core/a.cpp (generated), tools/x.sh.\n",
        "ebb/core/README.md": "| `a.h`, `gone.h` | start in `core/a.h` |\n",
        "tools/x.sh": "",
    }
    repo = make_repo(files)
    assert mentions.check(repo) == []  # what is generated is not known yet
    made = repo.root / "build/release/generated/ebb/core"
    made.mkdir(parents=True)
    (made / "a.cpp").write_text("")
    found = {(problem.path, problem.text) for problem in mentions.check(repo)}
    assert found == {
        ("ebb/core/a.h", "ebb/core/b.h is gone"),
        ("ebb/core/README.md", "gone.h is gone"),
    }
