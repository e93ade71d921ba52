# tools/check/__init__.py -- the checks of `make check`, one module each.
"""Each module holds ``HINT`` (how to mend a failure) and ``check(repo)``, a list of problems.

Start reading at ``__main__.py``; ``repo.py`` has the types that all checks share. A new check is
one module here, one line in ``__main__.py`` and one test in tests/tools/ that makes it fail.
"""
