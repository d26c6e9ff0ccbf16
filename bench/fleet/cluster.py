"""The hosts of a fleet: this machine alone, or each worker of a dask cluster.

Every wait for a host of a cluster has a time limit. One that does not answer in time is lost,
whatever the network reports: an unplugged cable reports nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from bench.fleet.host import FleetFault, Host
from bench.launch import install
from bench.sides.process import interruptible
from bench.study.record import StudyError

CONNECT_S: Final = 5.0
ANSWER_S: Final = 30.0
"""After this time without an answer, a host is lost.

With a hundred busy servers on two processors, an answer takes seconds.
"""
PATIENCE: Final = {"start": 10, "report": 10, "release": 2, "stop": 2}
"""How many times as long these methods of :class:`Host` may take."""


class Here:
    """This machine alone; the harness itself is its host."""

    def __init__(self) -> None:
        self._host = Host("this machine")

    def call(self, method: str, *arguments: Any) -> dict[str, Any]:  # noqa: ANN401
        return {self._host.name: self._host.do(method, *arguments)}

    def stop(self) -> None:
        self._host.stop()


class Cluster:
    """Each dask worker is a host: ``10.0.0.2:4321`` is the name of ``tcp://10.0.0.2:4321``."""

    def __init__(self, client: Any, answer_s: float) -> None:  # noqa: ANN401
        self._answer_s = answer_s
        # An actor lives as long as its future exists.
        self._futures = {
            worker.partition("://")[2]: client.submit(
                Host, worker.partition("://")[2], workers=[worker], actor=True, pure=False
            )
            for worker in sorted(client.scheduler_info(n_workers=-1)["workers"])
        }
        self._actors = {
            host: self._answer(host, future, "start") for host, future in self._futures.items()
        }

    def call(self, method: str, *arguments: Any) -> dict[str, Any]:  # noqa: ANN401
        """Call a method of all hosts at once.

        Raises :class:`FleetFault`, which names the host, if one fails or is lost. The time limit
        applies to each answer, counted from the one before it.
        """
        calls = {}
        for host, actor in self._actors.items():
            with naming(host):
                calls[host] = actor.do(method, *arguments)
        return {host: self._answer(host, call, method) for host, call in calls.items()}

    def stop(self) -> None:
        """End all processes of the hosts that still answer."""
        for host, actor in self._actors.items():
            with suppress(FleetFault), naming(host):
                self._answer(host, actor.do("stop"), "stop")

    def _answer(self, host: str, call: Any, method: str) -> Any:  # noqa: ANN401
        with naming(host), interruptible():
            return call.result(timeout=self._answer_s * PATIENCE.get(method, 1))


@contextmanager
def naming(host: str) -> Iterator[None]:
    """Whatever goes wrong with a host becomes a :class:`FleetFault` that names it."""
    try:
        yield
    except FleetFault as fault:
        raise FleetFault(f"host {host}: {fault}") from None
    except Exception as error:
        # Dask raises many kinds of errors: broken connections, forgotten workers, and so on.
        why = "no answer in time" if isinstance(error, TimeoutError) else repr(error)
        raise FleetFault(f"host {host} is lost: {why}") from None


Fleet = Here | Cluster


@contextmanager
def connected(scheduler: str | None, answer_s: float = ANSWER_S) -> Iterator[Fleet]:
    """The hosts of the cluster at ``scheduler``; without it, this machine.

    Raises :class:`StudyError` if dask.distributed is missing, there is no scheduler at that
    address, or it has no worker, or two on one machine.
    """
    if scheduler is None:
        yield Here()
        return
    try:
        import dask
        import distributed
    except ImportError:
        raise StudyError(f"a cluster needs dask.distributed: {install('fleet')}") from None
    # The fleet reports lost hosts itself.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    timeout = f"{CONNECT_S:g}s"
    with dask.config.set({"distributed.comm.timeouts.connect": timeout}):
        try:
            client = distributed.Client(scheduler, timeout=timeout)
        except (OSError, ValueError) as error:
            raise StudyError(
                f"no dask scheduler at {scheduler}: {error}; start one with: dask scheduler"
            ) from None
        with client:
            fleet = Cluster(client, answer_s)
            boots = fleet.call("boot")
            # Each host counts the kernel's memory of its machine as its own.
            if not boots or len(set(boots.values())) < len(boots):
                raise StudyError(
                    f"start one dask worker on each machine; there are {', '.join(boots) or 'none'}"
                )
            yield fleet
