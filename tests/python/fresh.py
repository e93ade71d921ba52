# tests/python/fresh.py -- programs in an interpreter of their own: of another environment, or ones
# that end badly.
import os
import subprocess
import sys
import textwrap


def finished(code, *arguments, timeout=250, cwd=None, **variables):
    """Run a program, with these variables in its environment too; return how it ended."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        env=os.environ | variables,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def printed(code, *arguments, **options):
    """Run a program that ends well; return what it prints."""
    done = finished(code, *arguments, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout
