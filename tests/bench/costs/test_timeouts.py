"""What a timeout adds in instructions, in a sentence for docs/findings.md."""

from __future__ import annotations

from bench.costs import timeouts
from bench.costs.account import Account, Cost
from bench.machine.instruments import INSTRUCTIONS, SYSCALL


def account(backend: str, low: float, high: float, **calls: float) -> Account:
    """An account of a made-up backend on the list."""
    costs = {INSTRUCTIONS: Cost((low + high) / 2, low, high)}
    costs |= {f"{SYSCALL}{name}": Cost(value, value, value) for name, value in calls.items()}
    return Account(backend, "fetch", costs, ())


def test_the_most_comes_first_and_blurred_ones_have_no_number() -> None:
    made = [
        account("threads", 900, 910, poll=0, futex=20),
        account("threads_timeouts", 950, 960, poll=2, futex=30),
        account("trio", 2000, 2010),
        account("trio_timeouts", 2400, 2410),
        account("gevent", 1000, 1200),
        account("gevent_timeouts", 1100, 1300),
    ]
    assert timeouts.words(made) == (
        "In instructions per fetched page: `trio.move_on_after` 400 (of 2,405); "
        "`socket.settimeout` 50 (of 955) and 2 `poll`. The ranges over hash seeds overlap for "
        "`gevent.Timeout`."
    )


def test_without_counts_it_names_the_command() -> None:
    assert timeouts.COMMAND in timeouts.words([account("threads", 1, 2)])
