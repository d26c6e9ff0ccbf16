"""Sleeper: while somebody asks for another turn, the loop never sleeps; a timer asks for nothing.
The loop has a thread of its own. Nobody would hear of an error without ``future.result()``.

Waits: a coroutine, on a Future. Switches: asyncio's loop.
Costs: a Future, a timer. Became: crawlers/generators.py:sleep_until
"""

import asyncio
import time
from collections.abc import Generator
from threading import Thread


class NextTurn:
    def __await__(self) -> Generator[None, None, None]:
        yield


async def polling(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        await NextTurn()


async def timer(seconds: float) -> None:
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(seconds, future.set_result, None)
    await future


def main() -> None:
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, daemon=True).start()
    for sleep in (timer, polling):
        used = time.process_time()
        future = asyncio.run_coroutine_threadsafe(sleep(0.3), loop)
        future.result()
        print(f"{sleep.__name__}: {100 * (time.process_time() - used) / 0.3:.1f} % of a processor")
