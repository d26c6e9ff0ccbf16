"""The dask cluster: its hosts, calls with a deadline on each, and hosts that are gone.

Nothing here waits without an end. A host that does not answer in time is
lost, whatever the network says: a cable that was pulled says nothing at all.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from bench.errors import BenchError

if TYPE_CHECKING:
    from distributed import Client

CONNECT_S = 5.0
START_S = 60.0
"""For what has to start interpreters first."""
ANSWER_S = 30.0
"""A host that has not answered a look for so long is lost.

With a hundred servers busy on two processors a look takes seconds.
"""


Call = tuple[str, str, tuple[object, ...]]
"""Host, method, arguments."""


class ClusterError(BenchError):
    """No cluster, or none that can be used."""


class FleetFault(Exception):
    """A host or a process of the fleet failed or was lost; the message says which."""


@contextmanager
def connect(scheduler: str | None, workers: int = 1) -> Iterator[Client]:
    """A client of the cluster at ``scheduler``, or of one of our own with ``workers`` on this host.

    Raises :class:`ClusterError` when dask.distributed is missing, nobody answers
    at that address, or the cluster has no worker.
    """
    try:
        import dask
        import distributed
    except ImportError:
        raise ClusterError(
            "the fleet needs dask.distributed: python -m pip install 'c10k-crawlers[fleet]'"
        ) from None
    # What it has to say of a lost host, we say.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    settings = {
        "distributed.comm.timeouts.connect": f"{CONNECT_S:g}s",
    }
    with dask.config.set(settings):
        if scheduler is None:
            # Its processes inherit this: Ctrl-C is the harness's to handle.
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)
            try:
                own = distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    memory_limit=0,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                )
            finally:
                signal.signal(signal.SIGINT, before)
            with own, distributed.Client(own) as client:
                yield client
            return
        try:
            client = distributed.Client(scheduler, timeout=f"{CONNECT_S:g}s")
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"no dask scheduler at {scheduler}: {error}; start one with: dask scheduler"
            ) from None
        with client:
            yield client


def addresses(client: Client) -> list[str]:
    """The dask workers that are there now, in the order of their addresses."""
    return sorted(client.scheduler_info(n_workers=-1)["workers"])


def name_of(address: str) -> str:
    """``10.0.0.2:4321`` of ``tcp://10.0.0.2:4321``: what a host is called."""
    return address.partition("://")[2]


class Hosts:
    """An object of ours on every host, living there as a dask actor.

    ``maker`` is its class; it is given the host's name.
    """

    def __init__(
        self, client: Client, maker: type, where: Sequence[str], answer_s: float = ANSWER_S
    ) -> None:
        self.answer_s = answer_s
        self._actors: dict[str, Any] = {}
        self.lost: set[str] = set()
        futures = {
            name_of(address): client.submit(
                maker, name_of(address), actor=True, workers=[address], pure=False
            )
            for address in where
        }
        for name, future in futures.items():
            self._actors[name] = self._answer(name, future, START_S)
        self._futures = futures  # an actor lives as long as its future

    @property
    def names(self) -> list[str]:
        """The hosts, in their order."""
        return list(self._actors)

    def each(self, calls: Sequence[Call], deadline_s: float | None = None) -> Iterator[Any]:
        """Make all calls (host, method, arguments) at once; yields their answers in that order.

        The deadline is for each answer after the one before it. Raises
        :class:`FleetFault` for the first that fails or does not come.
        """
        asked = [(host, self._begin(host, method, args)) for host, method, args in calls]
        for host, future in asked:
            yield self._answer(host, future, deadline_s or self.answer_s)

    def all(self, method: str, *arguments: object, deadline_s: float | None = None) -> list[Any]:
        """One call on every host; their answers."""
        calls: list[Call] = [(name, method, arguments) for name in self._actors]
        return list(self.each(calls, deadline_s))

    def farewell(self, method: str, deadline_s: float) -> list[Any]:
        """One call on every host that is still there; the answers of those that give one."""
        asked, answers = [], []
        for name in self._actors:
            if name not in self.lost:
                with suppress(FleetFault):
                    asked.append((name, self._begin(name, method, ())))
        for name, future in asked:
            with suppress(FleetFault):
                answers.append(self._answer(name, future, deadline_s))
        return answers

    def _begin(self, host: str, method: str, arguments: tuple[object, ...]) -> Any:  # noqa: ANN401
        try:
            return getattr(self._actors[host], method)(*arguments)
        except RuntimeError as error:
            self.lost.add(host)
            raise FleetFault(f"host {host} is gone: {error}") from None

    def _answer(self, host: str, future: Any, deadline_s: float) -> Any:  # noqa: ANN401
        try:
            return future.result(timeout=deadline_s)
        except FleetFault as error:
            raise FleetFault(f"host {host}: {error}") from None
        except TimeoutError:
            self.lost.add(host)
            raise FleetFault(f"host {host} is gone: no answer for {deadline_s:g} s") from None
        except Exception as error:
            # A connection that broke, a scheduler that does not know it any more: dask has many.
            raise FleetFault(f"host {host} failed: {type(error).__name__}: {error}") from None
