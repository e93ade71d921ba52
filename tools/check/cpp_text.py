# tools/check/cpp_text.py -- C++ without what only looks like code.
"""Comments, literals and preprocessor lines, blanked."""

from __future__ import annotations

import re

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


def blank(text: str) -> str:
    """Replace comments, literals and preprocessor lines by spaces, keeping all line breaks."""
    return _BLANKED.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
