# tools/check/cpp_functions.py -- finds the functions of a C++ file and their lengths, by braces.
"""Not a parser: comments, literals and preprocessor lines are blanked, then braces are matched.

What stands before a brace, back to the last `;`, `{` or `}`, tells what the brace opens: a
namespace, a class, an initializer or a function. Inside a function nothing is looked at, so lambdas
and local classes count with the function around them. Start reading at find_functions().
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

# In this order: a quote inside a comment and a slash inside a string are no starts of their own.
_BLANKED = re.compile(
    r"""//(?:\\\n|[^\n])*            # line comment, continued lines included
      | /\*.*?\*/                    # block comment
      | R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"   # raw string
      | "(?:\\.|[^"\\\n])*"          # string
      | (?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'         # character, not the ' of 1'000
      | ^[ \t]*\#(?:\\\n|[^\n])*     # preprocessor line
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_TEMPLATE_HEAD = re.compile(r"^\s*template\s*<[^{};]*?>\s*(?=\w|\[)")
_TYPE_HEAD = re.compile(
    r"^\s*(?:(?:public|private|protected):|typedef\s|static\s|\s)*"
    r"(?:class|struct|union|enum)\b[^=]*$"
)
_ATTRIBUTE = re.compile(r"\balignas\s*\([^()]*\)|__attribute__\s*\(\(.*?\)\)", re.DOTALL)
_NAMESPACE_HEAD = re.compile(r"^\s*(?:inline\s+)?namespace\b|^\s*extern\s*$")
_INITIALIZER = re.compile(r"(?<![=!<>+\-*/%&|^~])=(?!=)[^=]*$")


@dataclass(frozen=True)
class Function:
    """Where a function starts and how many lines it takes, signature and braces included."""

    name: str
    start: int
    lines: int


def blank(text: str) -> str:
    """Replace comments, literals and preprocessor lines by spaces, keeping all line breaks."""
    return _BLANKED.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def opens_scope(head: str) -> bool:
    """Tell whether a brace after ``head``, outside any function, opens a namespace or a type."""
    head = _ATTRIBUTE.sub(" ", _TEMPLATE_HEAD.sub("", head))
    if _NAMESPACE_HEAD.match(head):
        return True
    return _TYPE_HEAD.match(head) is not None and "(" not in head


def opens_function(head: str) -> bool:
    """Tell whether a brace after ``head``, outside any function, opens a function body."""
    head = _TEMPLATE_HEAD.sub("", head)
    if opens_scope(head) or "(" not in head:
        return False
    if "operator" in head:
        return True
    is_initializer = _INITIALIZER.search(_without_parentheses(head)) is not None
    return not is_initializer or re.search(r"\]\s*(?:\(.*\))?[^()]*$", head, re.DOTALL) is not None


def find_functions(text: str) -> list[Function]:
    """Return the outermost functions of a C++ file in order."""
    code = blank(text)
    functions: list[Function] = []
    head_start = 0
    depth = 0  # braces open inside the current function or initializer, 0 outside one
    current: Function | None = None  # the function around, none in an initializer
    line = 1
    for match in re.finditer(r"[{};\n]", code):
        mark, position = match.group(), match.start()
        if mark == "\n":
            line += 1
            continue
        head, head_start = code[head_start:position], position + 1
        if depth > 0:
            depth += {"{": 1, "}": -1}.get(mark, 0)
            if depth == 0 and current is not None:
                functions.append(replace(current, lines=line - current.start + 1))
        elif mark == "{" and not opens_scope(head):
            depth = 1
            current = None
            if opens_function(head):
                is_continued = functions and head.lstrip().startswith(",")
                # What looked like a body was the brace of a member initializer.
                current = functions.pop() if is_continued else _start(head, line)
    return functions


def _start(head: str, line: int) -> Function:
    return Function(_name_of(head), line - head.lstrip().count("\n"), 0)


def _without_parentheses(head: str) -> str:
    previous = None
    while previous != head:
        previous, head = head, re.sub(r"\([^()]*\)", " ", head)
    return head


def _name_of(head: str) -> str:
    match = re.search(r"(operator\s*[^\s(]+|[\w:~]+)\s*\(", _TEMPLATE_HEAD.sub("", head))
    return match.group(1) if match else "(unnamed)"
