# tests/tools/test_sizes.py -- long files, functions and lines are found, and only they.
from tools.check import sizes
from tools.check.cpp_functions import find_functions


def body(lines: int) -> str:
    return "  step();\n" * lines


def names_and_lines(code: str) -> list[tuple[str, int]]:
    return [(function.name, function.lines) for function in find_functions(code)]


def test_a_file_of_601_lines_is_too_long():
    assert sizes.long_files("a.h", "\n" * 600) == []
    [problem] = sizes.long_files("a.h", "\n" * 601)
    assert "at most 600 lines, got 601" in problem.text


def test_a_line_of_101_columns_is_too_wide_unless_it_holds_an_address():
    [problem] = sizes.long_lines("a.h", "\n" + "x" * 101)
    assert (problem.line, problem.text) == (2, "line needs at most 100 columns, got 101")
    assert sizes.long_lines("a.h", "// https://" + "x" * 100) == []


def test_a_cpp_function_counts_from_its_signature_to_its_brace():
    assert names_and_lines("int f(int a,\n      int b) {\n  return a;\n}\n") == [("f", 4)]


def test_a_cpp_function_of_61_lines_is_too_long():
    code = "namespace a {\nvoid f() {\n" + body(59) + "}\nvoid g() {\n" + body(58) + "}\n}\n"
    [problem] = sizes.long_cpp_functions("a.cpp", code)
    assert (problem.line, problem.text) == (2, "function f needs at most 60 lines, got 61")


def test_methods_constructors_and_operators_are_functions():
    code = """
class A {
 public:
  A(int x) : x_{x}, y_(2) {
    run();
  }
  bool operator==(const A& o) const { return true; }
  int x_ = 0, y_{1};
};
"""
    assert [name for name, _ in names_and_lines(code)] == ["A", "operator=="]


def test_a_constructor_is_measured_from_its_first_member_initializer_on():
    code = "A::A()\n    : x_{1},\n      y_{2},\n      z_(3) {\n  run();\n}\n"
    assert names_and_lines(code) == [("A::A", 6)]


def test_braces_in_comments_strings_and_macros_do_not_count():
    code = """
// void fake() {
#define OPEN(x) void x() {
const char* text = "void g() {"; const char* raw = R"(void h() {)";
int digits = 1'000'000; char brace = '{';
int f() { return 1; }
"""
    assert names_and_lines(code) == [("f", 1)]


def test_tables_enums_and_namespaces_are_no_functions():
    code = """
extern "C" {
namespace a::b {
enum class E : int { x, y };
constexpr int kTable[] = {f(1), f(2)};
constexpr Row kRows[] = {f(1), {f(2), f(3)}, g(4), {f(5)}};
struct alignas(64) S { int x; };
template <typename T> struct Of { T x; };
}
}
"""
    assert names_and_lines(code) == []


def test_a_lambda_counts_with_the_function_around_it():
    code = "void f() {\n  run([&](int i) {\n    step(i);\n  });\n}\n"
    assert names_and_lines(code) == [("f", 5)]


def test_a_template_with_requires_and_defaults_is_found():
    code = "template <typename T, int N = 3>\nauto f(T x) -> decltype(x) {\n  return x;\n}\n"
    assert names_and_lines(code) == [("f", 4)]


def test_a_python_docstring_does_not_count():
    docstring = '    """Say.\n' + "    more\n" * 50 + '    """\n'
    code = "def f():\n" + docstring + "    step()\n" * 59
    assert sizes.long_python_functions("a.py", code) == []
    [problem] = sizes.long_python_functions("a.py", code + "    step()\n")
    assert problem.text == "function f needs at most 60 lines, got 61"


def test_check_reads_the_repository(make_repo):
    repo = make_repo({"a.cpp": "\n" * 601, "b.txt": "\n" * 601})
    assert [problem.path for problem in sizes.check(repo)] == ["a.cpp"]


def test_a_function_that_returns_a_struct_and_one_in_a_class_section_are_found():
    code = (
        "struct A f() {\n  return {};\n}\nclass B {\n public:\n  enum C { x };\n  int g() { }\n};\n"
    )
    assert names_and_lines(code) == [("f", 3), ("g", 1)]
