"""Awaitable: control leaves a coroutine only at a ``yield`` in some ``__await__``. What is yielded
there comes out of ``send``, and what is sent comes out of ``await``.

Waits: the coroutine, in __await__. Switches: whoever calls send.
Costs: a frame. Became: crawlers/variants/native_coroutines.py:__await__
"""

from collections.abc import Generator


class Question:
    def __init__(self, text: str) -> None:
        self.text = text

    def __await__(self) -> Generator[str, str, str]:
        return (yield self.text)


async def interview() -> str:
    name = await Question("Who waits?")
    return f"{name} waits {await Question('Where?')}"


def main() -> None:
    coroutine = interview()
    print(coroutine.send(None))
    print(coroutine.send("a coroutine"))
    try:
        coroutine.send("in __await__")
    except StopIteration as stop:
        print(stop.value)
