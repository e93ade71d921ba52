# tests/conftest.py -- what all Python tests need of the process they run in.
"""Ctrl-C must mean an interrupt, also where the tests were started in the background.

A shell without job control lets such processes ignore the signal, and theirs inherit that.
"""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
