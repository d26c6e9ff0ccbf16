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
DEADLINES_S: Final = {"start": 300.0, "report": 300.0, "arm": 60.0, "read": 60.0, "stop": 60.0}
"""By the methods of :class:`Host` that take longer than an answer."""
ANSWER_S: Final = 30.0
"""After this time without an answer, a host is lost.

With a hundred busy servers on two processors, an answer takes seconds.
"""


class Here:
    """This machine alone; the harness itself is its host."""

    def __init__(self) -> None:
        self._host = Host("this machine")

    def each(self, method: str, *given: Any) -> dict[str, Any]:  # noqa: ANN401
        return {self._host.name: self._host.do(method, *given)}

    def stop(self) -> None:
        self._host.stop()


class Cluster:
    """Each dask worker is a host: ``10.0.0.2:4321`` is the name of ``tcp://10.0.0.2:4321``."""

    def __init__(self, client: Any, answer_s: float) -> None:  # noqa: ANN401
        self._answer_s, self._lost = answer_s, set[str]()
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        if not workers:
            raise StudyError("the cluster has no worker; start one with: dask worker SCHEDULER")
        # An actor lives as long as its future exists.
        self._futures: dict[str, Any] = {}
        for address in workers:
            name = address.partition("://")[2]
            there = {"workers": [address], "actor": True, "pure": False}
            self._futures[name] = client.submit(Host, name, **there)
        self._actors = {
            name: self._answer(name, future, DEADLINES_S["start"])
            for name, future in self._futures.items()
        }

    def each(self, method: str, *given: Any) -> dict[str, Any]:  # noqa: ANN401
        """Call a method of all hosts at once. Raises :class:`FleetFault`.

        The deadline applies to each answer, counted from the one before it.
        """
        deadline_s = DEADLINES_S.get(method, self._answer_s)
        asked = {name: self._begin(name, method, *given) for name in self._actors}
        return {name: self._answer(name, future, deadline_s) for name, future in asked.items()}

    def stop(self) -> None:
        """End all processes of the hosts that still answer."""
        asked = {}
        for name in self._actors.keys() - self._lost:
            with suppress(FleetFault):
                asked[name] = self._begin(name, "stop")
        for name, future in asked.items():
            with suppress(FleetFault):
                self._answer(name, future, DEADLINES_S["stop"])
        self._lost.clear()

    def _begin(self, host: str, method: str, *given: Any) -> Any:  # noqa: ANN401
        try:
            return self._actors[host].do(method, *given)
        except RuntimeError as error:
            self._lost.add(host)
            raise FleetFault(f"host {host} is gone: {error}") from None

    def _answer(self, host: str, future: Any, deadline_s: float) -> Any:  # noqa: ANN401
        try:
            with interruptible():
                return future.result(timeout=deadline_s)
        except FleetFault as error:
            raise FleetFault(f"host {host}: {error}") from None
        except TimeoutError:
            self._lost.add(host)
            raise FleetFault(f"host {host} is gone: no answer for {deadline_s:g} s") from None
        except Exception as error:
            # Dask raises many kinds of errors: broken connections, forgotten workers, and so on.
            raise FleetFault(f"host {host} failed: {type(error).__name__}: {error}") from None


Fleet = Here | Cluster


@contextmanager
def connected(scheduler: str | None, answer_s: float = ANSWER_S) -> Iterator[Fleet]:
    """The hosts of the cluster at ``scheduler``; without it, this machine.

    Raises :class:`StudyError` if dask.distributed is missing, or there is no scheduler at that
    address, or it has no worker.
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
            yield Cluster(client, answer_s)
