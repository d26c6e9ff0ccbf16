"""Receive through asyncio's streams; print page faults and processor time for each receive.

python asyncio_receive.py fresh|freed|eof|patched [BYTES]
"""

import asyncio
import resource
import socket
import sys
from asyncio import selector_events

HOW, SIZE, TIMES = sys.argv[1], int((*sys.argv[2:], 2048)[0]), 5000


async def main() -> None:
    taken = [bytes(256 * 1024) for _ in range(8)]  # free places that imports have left
    if HOW == "freed":
        bytes(4 << 20)  # one larger block, freed at once
    elif HOW == "eof":
        await closed()  # the end of a connection
    elif HOW == "patched":
        selector_events._SelectorTransport.max_size = 64 * 1024  # in place of 256
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs)
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(TIMES):
        ours.send(b"x" * SIZE)
        await reader.readexactly(SIZE)
    after = resource.getrusage(resource.RUSAGE_SELF)
    faults = (after.ru_minflt - before.ru_minflt) / TIMES
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{faults:.2f} page faults, {1e6 * spent / TIMES:.1f} µs for each receive")
    writer.close()
    del taken


async def closed() -> None:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs)
    ours.close()
    await reader.read()
    writer.close()


asyncio.run(main())
