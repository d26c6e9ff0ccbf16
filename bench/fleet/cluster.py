"""The dask cluster: its hosts, calls with a deadline, and lost hosts.

Every wait has a time limit. A host that does not answer in time is lost, whatever
the network reports: an unplugged cable reports nothing.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

from bench.launch import install
from bench.sides.process import interruptible
from bench.study.record import StudyError

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

CONNECT_S = 5.0
START_S = 300.0
"""The deadline for calls that start the interpreters of a host."""
ANSWER_S = 30.0
"""After this time without an answer, a host is lost.

With a hundred busy servers on two processors, an answer takes seconds.
"""
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class FleetFault(Exception):
    """A host or a process of the fleet failed or was lost; the message names it."""


@contextmanager
def connect(scheduler: str | None) -> Iterator[Client]:
    """A client of the cluster at ``scheduler``, or of a local one.

    Raises :class:`StudyError` if dask.distributed is missing or there is no
    scheduler at that address.
    """
    try:
        import dask
        import distributed
    except ImportError:
        raise StudyError(f"the fleet needs dask.distributed: {install('fleet')}") from None
    # The fleet reports lost hosts itself.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    settings = {
        "distributed.comm.timeouts.connect": f"{CONNECT_S:g}s",
        # It looks at the frames of running threads a hundred times a second. Nobody reads what
        # it finds, it takes processor time from what is measured, and CPython 3.11 is known to
        # crash there (dask/distributed#8616, #8916): a host died at 950,000 of a million
        # connections.
        "distributed.worker.profile.enabled": False,
    }
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(settings))
        if scheduler is not None:
            try:
                yield stack.enter_context(distributed.Client(scheduler, timeout=f"{CONNECT_S:g}s"))
            except (OSError, ValueError) as error:
                raise StudyError(
                    f"no dask scheduler at {scheduler}: {error}; start one with: dask scheduler"
                ) from None
            return
        close = stack.enter_context(uninterrupted())
        folder = stack.enter_context(TemporaryDirectory(prefix="c10k-"))
        stack.enter_context(dask.config.set({"temporary-directory": folder}))
        client = stack.enter_context(distributed.Client(stack.enter_context(own_cluster())))
        stack.enter_context(close)
        yield client


def own_cluster() -> LocalCluster:
    """A cluster of one worker on this machine, which nobody else can use.

    dask runs whatever it is sent, and every user of this machine can reach a port of loopback.
    So both sides of each connection must have the certificate made here, in memory.
    """
    import distributed

    # The processes inherit this: only the harness handles Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit=0,
            security=distributed.Security.temporary(),
            dashboard_address="127.0.0.1:0",  # none would mean port 8787 on any address
            silence_logs=logging.CRITICAL,
        )
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def uninterrupted() -> Iterator[ExitStack]:
    """Yields a context; from its end on, Ctrl-C and its like are ignored until this one ends.

    A local cluster closes in a second. If Ctrl-C breaks that off, dask closes the cluster
    once more when Python exits, and waits for ten seconds in vain.
    """
    before = {number: signal.getsignal(number) for number in STOPS}
    ignore = ExitStack()
    for number in STOPS:
        ignore.callback(signal.signal, number, signal.SIG_IGN)
    try:
        yield ignore
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def addresses(client: Client) -> dict[str, str]:
    """Host -> its address; ``10.0.0.2:4321`` is the name of ``tcp://10.0.0.2:4321``."""
    every = sorted(client.scheduler_info(n_workers=-1)["workers"])
    return {address.partition("://")[2]: address for address in every}


def ask(client: Client, host: str, function: Callable[[Asked], Answer], what: Asked) -> Answer:
    """What a function returns on this host."""
    future = client.submit(function, what, workers=[addresses(client)[host]], pure=False)
    answer: Answer = future.result(timeout=START_S)
    return answer


class Hosts:
    """One dask actor on every host; ``maker`` is its class, which takes the host's name."""

    def __init__(self, client: Client, maker: type, names: list[str], answer_s: float) -> None:
        self.answer_s, self.lost = answer_s, set[str]()
        there = addresses(client)
        if gone := [name for name in names if name not in there]:
            raise FleetFault(f"host {gone[0]} has left the cluster")
        self._futures = {  # an actor lives as long as its future exists
            name: client.submit(maker, name, actor=True, workers=[there[name]], pure=False)
            for name in names
        }
        self._actors = {n: self._answer(n, f, START_S) for n, f in self._futures.items()}

    def each(
        self, method: str, given: Mapping[str, object] | None = None, deadline_s: float = 0.0
    ) -> dict[str, Any]:
        """Call a method of all hosts at once, with what each is ``given``; their answers.

        The deadline applies to each answer, counted from the one before it. Raises
        :class:`FleetFault` for the first answer that fails or does not come.
        """
        asked = {name: self._begin(name, method, given) for name in self._actors}
        return {n: self._answer(n, f, deadline_s or self.answer_s) for n, f in asked.items()}

    def stop(self, deadline_s: float) -> None:
        """Stop every host that is not lost, all at once."""
        asked = {}
        for name in self._actors.keys() - self.lost:
            with suppress(FleetFault):
                asked[name] = self._begin(name, "stop", None)
        for name, future in asked.items():
            with suppress(FleetFault):
                self._answer(name, future, deadline_s)

    def _begin(self, host: str, method: str, given: Mapping[str, object] | None) -> Any:  # noqa: ANN401
        arguments = [] if given is None else [given[host]]
        try:
            return getattr(self._actors[host], method)(*arguments)
        except RuntimeError as error:
            self.lost.add(host)
            raise FleetFault(f"host {host} is gone: {error}") from None

    def _answer(self, host: str, future: Any, deadline_s: float) -> Any:  # noqa: ANN401
        try:
            with interruptible():
                return future.result(timeout=deadline_s)
        except FleetFault as error:
            raise FleetFault(f"host {host}: {error}") from None
        except TimeoutError:
            self.lost.add(host)
            raise FleetFault(f"host {host} is gone: no answer for {deadline_s:g} s") from None
        except Exception as error:
            # Dask raises many kinds of errors: broken connections, forgotten workers, and so on.
            raise FleetFault(f"host {host} failed: {type(error).__name__}: {error}") from None
