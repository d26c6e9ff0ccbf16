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


class CountedServer:
    """One server with one hash seed under one instrument."""

    def __init__(
        self, name: str, instrument: Instrument, seed: int, slots: int, scratch: Path
    ) -> None:
        self._name, self._instrument, self._seed = name, instrument, seed
        self._slots, self._scratch = slots, scratch

    def count(self, requests: int) -> tuple[int, Counts]:
        """How many requests there were, which is about ``requests``, and what all of them took.

        Raises :class:`Lost` when the server failed, or did not serve what was asked for.
        """
        for left in self._instrument.files(self._scratch):
            left.unlink()
        try:
            answered = self._serve(requests)
            return answered, self._instrument.results(self._scratch)
        except (TimeoutError, ProcessError, WorkerError, ServerError, ValueError) as error:
            raise Lost(f"{SERVE}: {error}") from None

    def _serve(self, requests: int) -> int:
        tool = self._instrument
        extra = {
            "PYTHONHASHSEED": str(self._seed),
            # A time, which a tool does not slow: see measure.switch_interval_s.
            SWITCH_INTERVAL: str(sys.getswitchinterval() * tool.slowness),
        }
        python = [*tool.wrap(self._scratch), *OWN_PYTHON]
        with (
            ModelServer(self._name, SITE, SITE_SEED, python, environment=extra) as server,
            closing(Progress(PLACES)) as progress,
            WorkerProcess("the load", module="bench.sides.loader") as load,
        ):
            server.ready()
            patience = ANSWER_S * tool.slowness
            load.command(
                Command(
                    backend=self._name,
                    prefix=server.prefix,
                    urls=server.urls,
                    slots=self._slots,
                    timeout_s=patience,
                    progress=progress.file,
                    load=Load(how="press", awake=False, answers=requests),
                )
            )
            load.ready(patience)
            load.go()
            result = load.result(time.monotonic() + patience)
            served = server.finish(by_signal=False)
        if reason := served_reason(self._name, result, served, server.digest):
            raise Lost(f"{SERVE}: {reason}", void=True)
        return result.pages
