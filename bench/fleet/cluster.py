"""The hosts of a fleet: this machine alone, or each worker of a dask cluster.

Every wait for a host of a cluster has a time limit. One that does not answer in time is lost,
whatever the network reports: an unplugged cable reports nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, Protocol, TypeVar

from bench.fleet.host import FleetFault, Host
from bench.fleet.plan import FleetPlan
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

Given = TypeVar("Given")
Said = TypeVar("Said")


class Fleet(Protocol):
    names: list[str]

    def ask(
        self, function: Callable[[Given], Said], given: Mapping[str, Given], /
    ) -> dict[str, Said]:
        """What a function returns on each of these hosts."""

    def at_work(self, plan: FleetPlan, /) -> Any:  # noqa: ANN401
        """A context in which :meth:`each` calls the hosts of a plan; they stop at its end."""

    def each(self, method: str, /) -> dict[str, Any]:
        """Call a method of all hosts at once. Raises :class:`FleetFault`."""


class Here:
    """This machine alone; the harness itself is its host."""

    def __init__(self) -> None:
        self.names = ["this machine"]
        self._host: Host | None = None

    def ask(self, function: Callable[[Given], Said], given: Mapping[str, Given]) -> dict[str, Said]:
        return {name: function(what) for name, what in given.items()}

    @contextmanager
    def at_work(self, plan: FleetPlan) -> Iterator[None]:
        self._host = Host(self.names[0], plan)
        try:
            yield
        finally:
            self._host.stop()

    def each(self, method: str) -> dict[str, Any]:
        return {self.names[0]: getattr(self._host, method)()}


@contextmanager
def connected(scheduler: str | None, answer_s: float = ANSWER_S) -> Iterator[Fleet]:
    """The hosts of the cluster at ``scheduler``; without it, this machine.

    Raises :class:`StudyError` if dask.distributed is missing, or there is no scheduler at that
    address.
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


class Cluster:
    """Each dask worker is a host: ``10.0.0.2:4321`` is the name of ``tcp://10.0.0.2:4321``."""

    def __init__(self, client: Any, answer_s: float) -> None:  # noqa: ANN401
        self._client, self._answer_s = client, answer_s
        every = sorted(client.scheduler_info(n_workers=-1)["workers"])
        self._addresses = {address.partition("://")[2]: address for address in every}
        self.names = list(self._addresses)
        self._actors: dict[str, Any] = {}
        self._lost: set[str] = set()

    def _submit(self, name: str, *call: Any, actor: bool = False) -> Any:  # noqa: ANN401
        there = [self._addresses[name]]
        return self._client.submit(*call, workers=there, actor=actor, pure=False)

    def ask(self, function: Callable[[Given], Said], given: Mapping[str, Given]) -> dict[str, Said]:
        asked = {name: self._submit(name, function, what) for name, what in given.items()}
        return {n: f.result(timeout=DEADLINES_S["start"]) for n, f in asked.items()}

    @contextmanager
    def at_work(self, plan: FleetPlan) -> Iterator[None]:
        self._actors.clear()
        self._lost.clear()
        names = [fact.host for fact in plan.hosts]
        there = self._client.scheduler_info(n_workers=-1)["workers"]
        if gone := [name for name in names if self._addresses[name] not in there]:
            raise FleetFault(f"host {gone[0]} has left the cluster")
        # An actor lives as long as its future exists.
        futures = {name: self._submit(name, Host, name, plan, actor=True) for name in names}
        for name, future in futures.items():
            self._actors[name] = self._answer(name, future, DEADLINES_S["start"])
        try:
            yield
        finally:
            asked = {}
            for name in self._actors.keys() - self._lost:
                with suppress(FleetFault):
                    asked[name] = self._begin(name, "stop")
            for name, future in asked.items():
                with suppress(FleetFault):
                    self._answer(name, future, DEADLINES_S["stop"])

    def each(self, method: str) -> dict[str, Any]:
        """The deadline applies to each answer, counted from the one before it."""
        deadline_s = DEADLINES_S.get(method, self._answer_s)
        asked = {name: self._begin(name, method) for name in self._actors}
        return {name: self._answer(name, future, deadline_s) for name, future in asked.items()}

    def _begin(self, host: str, method: str) -> Any:  # noqa: ANN401
        try:
            return getattr(self._actors[host], method)()
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
