# tools/mutate/__main__.py -- the front of both kinds of mutants.
"""Usage: python -m tools.mutate [formulas|engine] [--list] [--jobs N] [...].

`formulas` breaks the gradient formulas of the op table, `engine` the C++ of the engine, of history,
views, the write log and casts; without a word both are tried. The exit status is 1 if a mutant
survives, or one that is argued to be equivalent does not.
"""

from __future__ import annotations

import sys

from tools.mutate import engine, formulas

KINDS = {"formulas": formulas.main, "engine": engine.main}


def main(arguments: list[str]) -> int:
    if arguments and arguments[0] in KINDS:
        return KINDS[arguments[0]](arguments[1:])
    return max(run(arguments) for run in KINDS.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
