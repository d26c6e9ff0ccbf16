"""Numbers of studies that stand in prose, which no program fills in: each is that of its record."""

from __future__ import annotations

import gzip
import json
from statistics import median

from bench.analysis import stats
from bench.analysis.stats import CPU_PER_1000
from bench.analysis.stats.campaigns import FEWEST
from bench.claims.ledger import USUAL
from bench.claims.verdict import SENTENCES, ClaimNumber, judge, load
from bench.costs import report as costs
from bench.fleet import study as fleet
from bench.launch import RESULTS, ROOT
from bench.machine.instruments import INSTRUCTIONS
from bench.report import campaigns
from bench.text import KIB
from crawlers.registry import MODELS
from tests.bench import committed
from tests.bench.sure import sure

LOOPS = (*MODELS[1:], "uvloop", "gevent", "trio", "aiohttp")


def words(page: str) -> str:
    return " ".join((ROOT / "docs" / page).read_text().split())


def claimed(campaign: str, claim: str, meant: str) -> float:
    """The number of a claim's reading."""
    found = judge([committed.evidence(RESULTS / campaign)], [load(SENTENCES / f"{claim}.toml")])
    (one,) = (judged.now for judged in found[0].judged if judged.reading.meant.startswith(meant))
    assert isinstance(one, ClaimNumber)
    return one.value


def test_how_far_counts_repeat() -> None:
    """The page said "up to 5 %" of threads, which differ by 6."""
    counted = costs.accounts(costs.STUDY.last(RESULTS / "costs"))
    widths = {
        (a.backend, a.workload): 100 * (cost.high - cost.low) / cost.value
        for a in counted
        if a.backend in MODELS
        for cost in [a.costs[INSTRUCTIONS]]
    }
    threads = max(width for (who, _), width in widths.items() if who == "threads")
    others = max(width for (who, _), width in widths.items() if who != "threads")
    text = words("costs.md")
    assert f"`threads` range up to {threads:.0f} %" in text
    assert others <= 0.5
    assert "A count repeats, for the single-threaded models to 0.5 %" in text


def test_how_far_the_two_methods_of_the_fleet_differ() -> None:
    """The notebook said 1.9 to 2.6 KiB, of older runs."""
    runs = (fleet.STUDY.last(RESULTS / name) for name in ("fleet", "fleet-tls"))
    trials = [trial for run in runs for trial in fleet.largest(run)]
    gaps = [
        sure(trial.per_connection(["machine_drop_bytes"])) - sure(trial.per_connection(fleet.WHOLE))
        for trial in trials
    ]
    between = f"{min(gaps) / KIB:.1f} to {max(gaps) / KIB:.1f} KiB"
    assert f"In the large trials the two methods differ by {between}" in words("notebook/fleet.md")


def test_what_the_pages_take_from_the_ledger() -> None:
    first, second = USUAL
    unlocked = claimed(first, "threads-race", "the lock is missing")
    assert f"there are {unlocked:.0f} in a million" in words("chapter.md")
    pinned = claimed(second, "without-the-lock", "they all run on one processor")
    assert f"[{100 * (1 - pinned):.0f} % fewer pages]" in words("interpreters.md")


def test_what_a_page_needs_more_by_the_published_campaigns() -> None:
    """Five campaigns of a processor were in the table, and "5 to 8 µs" were of two processors."""
    text, streams = words("notebook/method-studies.md"), list[float]()
    for group in campaigns.published().groups:
        if group.count < FEWEST:
            continue
        cells, rows = [], {}
        for label in LOOPS:
            keys = [
                f"page/cpu_ms_per_1000/{point}-100/{label}" for point in ("throughput", "fetch")
            ]
            both = zip(*(group.numbers[key].alike for key in keys), strict=True)
            rows[label] = [(sure(crawled).value, sure(fetched).value) for crawled, fetched in both]
            more = median(crawled - 1.06 * fetched for crawled, fetched in rows[label])
            cells.append(f"{more:.1f}")
        assert f"| {group.processor}, µs | {' | '.join(cells)} |" in text
        pairs = zip(rows["async_await"], rows["generators"], strict=True)
        streams += [ours[1] - theirs[1] for ours, theirs in pairs]
    added = f"asyncio's streams add {min(streams):.0f} to {max(streams):.0f} µs to a fetched page"
    assert added in words("findings.md")


def test_the_memory_of_trio_follows_from_whether_it_held_the_pace() -> None:
    """README had 10.9 to 13.5 KiB for it, and no page said what the difference depends on."""
    kept, behind = list[float](), list[float]()
    for file in sorted((RESULTS / "headlines").glob("*/trials.jsonl.gz")):
        for line in gzip.decompress(file.read_bytes()).splitlines():
            if b'"point":"c10k-3000"' not in line or b'"label":"trio"' not in line:
                continue
            trial = json.loads(line)
            if trial["params"]["ramp_per_s"] == 4000:
                ends = [trial["memory"][end]["user_bytes"] for end in ("before", "held")]
                used = (ends[1] - ends[0]) / 3000 / KIB
                (kept if trial["elapsed_s"] < 1 else behind).append(used)
                assert not 1 <= trial["elapsed_s"] < 1.1
    text = words("notebook/method-studies.md")
    every = len(kept) + len(behind)
    assert f"In {len(kept)} of their {every} trials with 3,000 connections" in text
    assert f"has {min(kept):.1f} to {max(kept):.1f} KiB of user memory" in text
    assert f"have {min(behind):.1f} to {max(behind):.1f}." in text


def test_how_often_the_reference_compares_a_backend_with_itself() -> None:
    tested = committed.analysis().aa.tested
    assert f"In {tested} comparisons of a backend with itself" in words(
        "notebook/method-studies.md"
    )


def test_what_a_page_costs_with_one_exchange_in_flight() -> None:
    """The page still had the numbers of another processor when the reference was a new one."""
    analysis, more = committed.analysis(), dict[str, float]()
    for label in MODELS:
        one, ten = (
            stats.middle(map(CPU_PER_1000.value, analysis.at_point(point)[label]))
            for point in ("few-1", "few-10")
        )
        more[label] = sure(one) / sure(ten)
    assert {round(3 * more[label]) for label in MODELS[1:]} == {4}
    less = f"of threads {100 * (1 - more['threads']):.0f} % less"
    assert f"a page of a loop costs a third more, and {less}" in words("advice.md")


def test_how_long_requests_wait_near_the_limit_and_far_below_it() -> None:
    """ "A millisecond above theirs" was said of all processors, and holds on one."""

    def p99s(name: str, rate: int, label: str) -> list[float]:
        trials = committed.analysis(name).at_point(f"openloop-{rate}")[label]
        return sorted(sure(trial.response_time).p99_ms for trial in trials)

    def later(name: str) -> float:
        loop, threads = (median(p99s(name, 4000, label)) for label in ("callbacks", "threads"))
        return loop - threads

    low, *_, high = p99s("reference", 16_000, "threads")
    text = words("findings.md")
    assert f"the p99 of the reference is {low:.1f} to {high:.0f} ms with threads" in text
    here, xeon = later("reference"), later("headlines/20261128-145600-9c4af0")
    assert f"at 4,000 is {here:.1f} ms above theirs, on the Intel Xeon {xeon:.1f}" in text
