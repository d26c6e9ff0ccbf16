"""Counts servers: what a request needs in the process of a server, by the instruments of crawls.

Each count is of one process from its start to its end, under a load that stops by itself. What
start, first pages, connections and end need is in the counts of N and of 2 N requests, so it
cancels, as it does for crawls.
"""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from bench.launch import OWN_PYTHON
from bench.machine.instruments import Counts, Instrument
from bench.plan.workloads import SERVED, SITE_SEED
from bench.run.serving import served_reason
from bench.sides.process import ProcessError, WorkerError, WorkerProcess
from bench.sides.progress import PLACES, Progress
from bench.sides.protocol import Command, Load
from bench.sides.servers import ModelServer, ServerError
from bench.sides.settled import SWITCH_INTERVAL
from bench.study.runner import Lost

SERVE: Final = "serve"
SITE: Final = f"list:{SERVED}:2048"

ANSWER_S: Final = 20.0
"""How long a load may take to begin, and then to end, for an instrument that slows nothing."""


def count(
    name: str, tool: Instrument, seed: int, slots: int, scratch: Path, requests: int
) -> tuple[int, Counts]:
    """How many requests there were, which is about ``requests``, and what all of them took.

    One server with one hash seed under one instrument. Raises :class:`Lost` when it failed, or did
    not serve what was asked for.
    """
    tool.clear(scratch)
    environment = {
        "PYTHONHASHSEED": str(seed),
        # A time, which a tool does not slow: see measure.switch_interval_s.
        SWITCH_INTERVAL: str(sys.getswitchinterval() * tool.slowness),
    }
    python = [*tool.wrap(scratch), *OWN_PYTHON]
    patience = ANSWER_S * tool.slowness
    try:
        with (
            ModelServer(name, SITE, SITE_SEED, python, environment=environment) as server,
            closing(Progress(PLACES)) as progress,
            WorkerProcess("the load", module="bench.sides.loader") as load,
        ):
            server.ready()
            load.command(
                Command(
                    backend=name,
                    prefix=server.prefix,
                    urls=server.urls,
                    slots=slots,
                    timeout_s=patience,
                    progress=progress.file,
                    load=Load(how="press", awake=False, answers=requests),
                )
            )
            load.ready(patience)
            load.go()
            result = load.result(time.monotonic() + patience)
            served = server.finish(by_signal=False)
        counts = tool.results(scratch)
    except (TimeoutError, ProcessError, WorkerError, ServerError, ValueError) as error:
        raise Lost(f"{SERVE}: {error}") from None
    if reason := served_reason(name, result, served, server.digest):
        raise Lost(f"{SERVE}: {reason}", void=True)
    return result.pages, counts
