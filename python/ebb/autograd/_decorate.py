# python/ebb/autograd/_decorate.py -- no_grad, inference_mode and other modes as decorators.
"""Loaded when a function is first decorated."""

import functools
import inspect
import warnings

from ebb._C import DTypeError, inference_mode, set_grad_enabled

__all__ = ["inference_mode", "run_in_mode", "set_grad_enabled"]


def run_in_mode(kind, value, function, called=None):
    """Return ``function`` so that it runs in ``kind(value)``, a mode's context manager.

    Errors name the class that was ``called``: ``no_grad`` is run by ``set_grad_enabled``.

    Generators, coroutines and asynchronous generators run each of their steps in the mode, and
    their caller in the caller's own.
    """
    if inspect.isclass(function):
        name = (called or kind).__name__
        warnings.warn(
            f"{name}: needs a function, got the class {function.__name__}; only its "
            "__init__ runs in the mode",
            FutureWarning,
            stacklevel=2,
        )
        try:
            function.__init__ = run_in_mode(kind, value, function.__init__, called)
        except TypeError:
            raise DTypeError(
                f"{name}: needs a class written in Python, got {function.__name__}"
            ) from None
        return function
    mode = functools.partial(kind, value)
    if inspect.isgeneratorfunction(function):
        return _generator(mode, function)
    if inspect.isasyncgenfunction(function):
        return _async_generator(mode, function)
    if inspect.iscoroutinefunction(function):
        return _coroutine(mode, function)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with mode():
            return function(*args, **kwargs)

    return wrapper


def _drive(mode, steps):
    """Run a generator, or what an ``await`` would drive, with each step in the mode."""
    resume, value = steps.send, None
    try:
        while True:
            with mode():
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
        with mode():
            steps.close()


class _Driven:
    """Awaits a coroutine with each of its steps in the mode."""

    def __init__(self, mode, steps):
        self.mode, self.steps = mode, steps

    def __await__(self):
        return _drive(self.mode, self.steps)


def _generator(mode, function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with mode():
            steps = function(*args, **kwargs)
        return (yield from _drive(mode, steps))

    return wrapper


def _coroutine(mode, function):
    @functools.wraps(function)
    async def wrapper(*args, **kwargs):
        with mode():
            steps = function(*args, **kwargs)
        return await _Driven(mode, steps)

    return wrapper


def _async_generator(mode, function):
    @functools.wraps(function)
    async def wrapper(*args, **kwargs):
        with mode():
            steps = function(*args, **kwargs)
        resume, value = steps.asend, None
        try:
            while True:
                try:
                    result = await _Driven(mode, resume(value))
                except StopAsyncIteration:
                    return
                try:
                    resume, value = steps.asend, (yield result)
                except GeneratorExit:
                    raise
                except BaseException as error:
                    resume, value = steps.athrow, error
        finally:
            await _Driven(mode, steps.aclose())

    return wrapper
