"""Exceptions that a library may raise. This imports the standard library alone."""

from __future__ import annotations

import socket
from importlib import import_module

ANY = [
    OSError,
    ConnectionResetError,
    TimeoutError,
    socket.gaierror,
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    AssertionError,
    RuntimeError,
    UnicodeError,
    NotImplementedError,
    ArithmeticError,
    ImportError,
    LookupError,
]
"""What any library may raise, besides exceptions of its own."""

SOCKET: list[type[Exception]] = [
    OSError,
    ConnectionError,
    ConnectionResetError,
    BrokenPipeError,
    ConnectionAbortedError,
    TimeoutError,
    PermissionError,
    InterruptedError,
    socket.gaierror,
    socket.herror,
]
"""What a socket's methods raise. Models that use nothing else catch nothing else."""


def exceptions_in(*modules: str) -> list[type[Exception]]:
    """The exception classes of some modules."""
    values = [value for name in modules for value in vars(import_module(name)).values()]
    found = {
        value
        for value in values
        if isinstance(value, type) and issubclass(value, Exception) and value is not Exception
    }
    return sorted(found, key=lambda each: (each.__module__, each.__qualname__))


def made(kind: type[Exception]) -> Exception:
    """An exception of a class; where its arguments are unknown, without them."""
    for arguments in ((), ("made for a test",)):
        try:
            return kind(*arguments)
        except TypeError:
            continue
    error = kind.__new__(kind)
    error.args = ("made for a test",)
    return error
