"""What threads pay for the lock, in made-up crawls whose windows lie on a line."""

from __future__ import annotations

import numpy as np
import pytest

from bench.plan.participants import PINNED
from bench.questions import handovers
from bench.questions.question import numbers
from tests.bench.questions.campaigns import FIXED_US, SWITCH_US, SWITCHES, switching
from tests.bench.sure import sure
from tests.bench.synthetic import altered, analysed


@pytest.mark.parametrize("slope", [3.0, 9.0, 14.0])
def test_the_law_is_found_again(slope: float) -> None:
    found = handovers.trials(analysed(switching(slope=slope)), handovers.CRAWLED)
    windows = handovers.windows_of(found)
    line = sure(handovers.law([*windows["threads"], *windows[f"threads{handovers.ONE}"]]))
    assert line.fixed_us == pytest.approx(FIXED_US, abs=1.0)
    assert line.switch_us == pytest.approx(slope, rel=0.05)
    assert line.explained > 0.9


def test_windows_that_others_disturbed_do_not_bend_the_line() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(1, 7, 300)
    y = FIXED_US + SWITCH_US * x
    y[:45] += 200.0
    line = sure(handovers.law([*zip(x, y, strict=True)]))
    assert line.switch_us == pytest.approx(SWITCH_US, rel=0.05)
    assert line.explained < 0.5  # and says that it does not fit


def test_nothing_is_said_to_cost_less_than_nothing() -> None:
    """Where threads were five times slower a page needed "-45 µs and 65.0 µs for each switch"."""
    line = sure(handovers.law([(float(n), 65.0 * n - 45.0) for n in range(1, 20)]))
    assert line.words.startswith("65.0 µs for each switch;")


def test_equal_switches_make_no_line() -> None:
    assert handovers.law([(1.0, 20.0 + n) for n in range(50)]) is None
    assert handovers.law([(float(n), 20.0) for n in range(5)]) is None
    assert handovers.law([]) is None


def test_a_window_is_per_page_as_the_marks_in_it_are() -> None:
    """500 requests of a crawl have 472 pages, so the marks of the reference lay beside its dots."""
    found = handovers.trials(analysed(switching()), handovers.CRAWLED)
    pages = sure(found[0].pages)
    answered = {"200": pages, "301": pages // 10, "404": pages // 10}
    plain, more = (
        handovers.windows_of(trial.model_copy(update={"statuses": statuses}) for trial in found)
        for statuses in ({"200": pages}, answered)
    )
    for label, windows in plain.items():
        for one, other in zip(windows, more[label], strict=True):
            assert other == pytest.approx([value * 1.2 for value in one])


def test_spans_in_another_state_do_not_move_the_number_of_a_crawl() -> None:
    """README had 1.45 on one processor, from 0.93 to 2.10: a mixture of 1.06 and of 4 to 6."""
    found = handovers.trials(analysed(switching()), handovers.CRAWLED)
    mixed = []
    for trial in found:
        counts = sure(sure(trial.switches).windows).voluntary
        other = len(counts) if trial.block in (1, 3) else len(counts) // 3
        counts = [*counts[other:], *[3000] * other]  # six for each request
        both = {"switches__windows__voluntary": counts, "switches__voluntary": sum(counts)}
        mixed.append(altered(trial, **both))
    measured = handovers.measured(mixed, "crawled")
    least, most = (factor * SWITCHES[PINNED] for factor in (0.7, 1.3))
    assert least < measured.value(f"threads{handovers.ONE}", handovers.VOLUNTARY) < most
    assert measured.value(f"callbacks{handovers.ONE}", handovers.VOLUNTARY) == 0
    assert not any(number.stalls for number in numbers(measured, handovers.VOLUNTARY))
