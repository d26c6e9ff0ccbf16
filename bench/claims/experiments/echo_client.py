"""The clients of the echo experiment: one in C, so that the server is the bottleneck.

A server that waits for its client is woken for each message and never finds two at once, which
flatters the slower one. The client in C is built with the machine's compiler, ``cc``. Without
one, a client in Python takes its place, and the result says so.
"""

from __future__ import annotations

import ctypes
import selectors
import shutil
import socket
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

SOURCE = Path(__file__).with_name("echo_client.c")
COMPILE_S = 60.0
ERRORS = {
    1: "the echo server does not answer",
    2: "the echo server hung up",
    3: "this is no echo",
    4: "too many connections, or too large a message",
}

Turn = Callable[[Sequence[socket.socket], int, bytes, float], None]
"""Send so many messages on each connection; raises :class:`ConnectionError`, or on a timeout
:class:`TimeoutError`."""


def build(folder: Path) -> Turn | None:
    """The client in C, built into this folder; None without a compiler that can build it."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    library = folder / "echo_client.so"
    arguments = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
    try:
        subprocess.run(arguments, check=True, capture_output=True, timeout=COMPILE_S)
        turn = ctypes.CDLL(str(library)).echo_turn
    except (OSError, subprocess.SubprocessError):
        return None
    turn.argtypes = [ctypes.POINTER(ctypes.c_int), *[ctypes.c_int] * 2]
    turn.argtypes += [ctypes.c_char_p, *[ctypes.c_int] * 2]
    turn.restype = ctypes.c_int

    def in_c(sockets: Sequence[socket.socket], rounds: int, message: bytes, wait_s: float) -> None:
        numbers = (ctypes.c_int * len(sockets))(*(sock.fileno() for sock in sockets))
        found = turn(numbers, len(sockets), rounds, message, len(message), round(1000 * wait_s))
        raise_for(found)

    return in_c


def raise_for(code: int) -> None:
    """Raise what a code of the client in C stands for."""
    if code == 1:
        raise TimeoutError(ERRORS[code])
    if code:
        raise ConnectionError(ERRORS[code])


def in_python(sockets: Sequence[socket.socket], rounds: int, message: bytes, wait_s: float) -> None:
    """The same in Python, for machines without a compiler."""
    left = dict.fromkeys(sockets, rounds)
    with selectors.DefaultSelector() as poll:
        for sock in sockets:
            poll.register(sock, selectors.EVENT_READ, sock)
            sock.sendall(message)
        while any(left.values()):
            ready = poll.select(wait_s)
            if not ready:
                raise_for(1)
            for key, _ in ready:
                answered: socket.socket = key.data
                receive(answered, message)
                left[answered] -= 1
                if left[answered]:
                    answered.sendall(message)


def receive(sock: socket.socket, message: bytes) -> None:
    """One whole answer, checked."""
    answer = b""
    while len(answer) < len(message):
        part = sock.recv(len(message) - len(answer))
        if not part:
            raise_for(2)
        answer += part
    if answer != message:
        raise_for(3)
