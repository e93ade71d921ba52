# python/ebb/autograd/_decorate.py -- no_grad and its kin as decorators.
"""Loaded when a function is first decorated."""

import functools
import inspect

from ebb._C import set_grad_enabled


def run_in_mode(mode, function):
    """Return ``function`` so that it records (``mode``) or does not.

    A generator function runs each of its steps in the mode, and its caller in the caller's own.
    """
    if inspect.isclass(function):
        function.__init__ = run_in_mode(mode, function.__init__)
        return function
    if inspect.isgeneratorfunction(function):
        return _wrapped_generator(mode, function)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with set_grad_enabled(mode):
            return function(*args, **kwargs)

    return wrapper


def _wrapped_generator(mode, function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with set_grad_enabled(mode):
            steps = function(*args, **kwargs)
        resume, value = steps.send, None
        try:
            while True:
                with set_grad_enabled(mode):
                    result = resume(value)
                try:
                    resume, value = steps.send, (yield result)
                except GeneratorExit:
                    raise
                except BaseException as error:
                    resume, value = steps.throw, error
        except StopIteration as stop:
            return stop.value
        finally:
            with set_grad_enabled(mode):
                steps.close()

    return wrapper
