# tools/coverage/start/sitecustomize.py -- interpreters of a coverage run count from their start.
"""This folder is on PYTHONPATH during ``make coverage``, also for programs that tests start."""

import contextlib

with contextlib.suppress(ImportError):
    import coverage

    coverage.process_startup()  # where COVERAGE_PROCESS_START names the settings
