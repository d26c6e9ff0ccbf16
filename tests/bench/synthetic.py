"""Made-up campaigns for tests: realistic records without running a single trial.

:func:`campaign` gives the record list of a whole campaign: every workload, as
many blocks as asked for, an A/A twin, ceilings, voids. The numbers are scaled
after what a two-core machine showed, with noise per trial and drift per block,
all from one seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.conditions.recorders import fairness
from bench.plan.durations import WARM_S
from bench.plan.participants import Label, on_each, twin_of
from bench.questions import analysis_of
from bench.schema import (
    AnyRecord,
    CampaignRecord,
    CeilingRecord,
    Cpu,
    EndRecord,
    Environment,
    HostNoise,
    Interpreter,
    Ledger,
    Limiter,
    Memory,
    MemoryParts,
    Rung,
    Shares,
    TrialRecord,
    Turns,
)
from bench.store import Records, sort_out
from bench.text import KIB

CHARTED = ("throughput", "waiting", "c10k", "real", "openloop", "cost")
"""The workloads of an early campaign, without a ladder."""
EVERY = (*CHARTED, "ladder", "regime", "fairness")
MODELS = ("threads", "callbacks", "generators", "async_await")
CEILING = 205_000.0
SIZES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("throughput", "waiting"), ("1", "10", "100", "1000")),
    "c10k": ("100", "1000", "5000", "10000"),
    "real": ("10",),
    "cost": ("null", "times"),
    "ladder": ("100",),
    "regime": tuple(f"{n}x{ms}ms" for n in (1, 10, 100, 1000) for ms in (1, 10)),
    "fairness": ("200",),
}
"""Workload -> what follows it in the names of its points."""


EMPTY = ("reason", "elapsed_s", "pages", "bytes", "pages_per_s", "cpu", "service_time", "ledger")
"""Fields of a trial that each kind of trial fills, or leaves empty."""

Place = tuple[int, int, str]
"""Block, position in it and label of a trial."""


@dataclass(frozen=True)
class Model:
    family: str
    rung: int
    pages_per_s: float  # at 100 slots, no delay
    at_one: float  # at one slot
    system_share: float
    user_kib: float  # per connection
    stack_kib: float
    table_kib: float
    other_kib: float
    fixed_mib: float


KNOWN = {
    "threads": Model("threads", 1, 62_000, 15_500, 0.55, 22.3, 16.0, 4.2, 6.9, 21.0),
    "callbacks": Model("callbacks", 2, 95_000, 16_500, 0.45, 2.6, 0.0, 0.05, 1.6, 19.5),
    "generators": Model("generators", 3, 72_000, 14_800, 0.38, 3.4, 0.0, 0.06, 1.6, 19.8),
    "async_await": Model("async", 4, 54_000, 12_100, 0.33, 5.3, 0.0, 0.08, 1.7, 26.2),
    "uvloop": Model("async", 5, 70_000, 14_000, 0.36, 7.7, 0.0, 0.1, 1.6, 27.0),
    "trio": Model("async", 6, 33_000, 8_600, 0.28, 6.6, 0.0, 0.1, 1.7, 30.5),
    "aiohttp": Model("async", 7, 16_000, 5_400, 0.2, 16.2, 0.0, 0.15, 1.6, 38.0),
    "gevent": Model("threads", 8, 41_000, 10_500, 0.35, 14.7, 0.0, 0.3, 1.6, 28.0),
}


def rungs(backends: Sequence[str], most: dict[str, int] | None = None) -> list[Rung]:
    """A ladder whose backends each change one thing about the one before; one is missing."""
    found = []
    for place, name in enumerate([*backends, "absent"]):
        before = backends[place - 1] if place else None
        found.append(
            Rung(
                name=name,
                family=KNOWN[name].family if name in KNOWN else "async",
                rung=10 * place,
                summary=f"how {name} waits",
                changes=f"against {before}: what {name} changes" if before else "the foot",
                against=before,
                most=(most or {}).get(name),
                missing="absent needs a library" if name == "absent" else None,
            )
        )
    return found


def environment(**changes: Any) -> Environment:
    values: dict[str, Any] = {
        "python": "CPython 3.11.9",
        "python_build": {"compiler": "GCC 12.2.0", "pgo": True, "lto": True, "debug": False},
        "implementation": "CPython",
        "packages": {"httptools": "0.6.4", "uvloop": "0.21.0", "matplotlib": "3.9.2"},
        "commit": "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d",
        "dirty": False,
        "os": "Debian GNU/Linux 12",
        "kernel": "6.1.0",
        "machine": "x86_64",
        "cpu_model": "Intel(R) Xeon(R) Processor @ 2.60GHz",
        "cpu_count": 2,
        "cpu_quota": None,
        "memory_total_bytes": 8 * 1024**3,
        "limits": {"nofile": 1_048_576, "somaxconn": 4096},
    }
    return Environment(**(values | changes))


def parity(slots: int, requests: int, most: int) -> Ledger:
    """What the server saw of slots that each kept a connection, which had so many at most."""
    return Ledger(
        requests=requests,
        distinct=requests,
        repeated=0,
        connections_opened=slots,
        peak_connections=slots,
        peak_in_flight=slots,
        requests_per_connection_max=most,
    )


class Maker:
    """Makes the trials of one campaign: its seed, running number and noise."""

    def __init__(self, seed: int, noise: float, effects: bool, samples: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.noise = noise
        self.effects = effects
        self.samples = samples
        self.number = 0

    def model(self, label: str) -> Model:
        if not self.effects:
            return KNOWN["callbacks"]
        name = Label.parse(label).name
        if name in KNOWN:
            return KNOWN[name]
        wobble = np.random.default_rng(sum(name.encode()))
        ends = ((0.4, 1.3), (0.5, 1.1), (0.2, 0.5), (3, 20), (20, 40))
        full, one, system, user, fixed = (float(wobble.uniform(*each)) for each in ends)
        base = KNOWN["async_await"]
        full, one = base.pages_per_s * full, base.at_one * one
        return Model("async", 9, full, one, system, user, 0.0, 0.1, 1.6, fixed)

    def jitter(self, scale: float = 1.0) -> float:
        return float(math.exp(self.rng.normal(0, self.noise * scale)))

    def trial(self, place: Place, point: str, **more: Any) -> TrialRecord:
        self.number += 1
        block, position, label = place
        backend = label.partition("#")[0]
        model = self.model(label)
        probe = 0.0500 * self.jitter(0.5)
        values: dict[str, Any] = {
            "trial": self.number,
            "block": block,
            "position": position,
            "workload": point.rpartition("-")[0],
            "point": point,
            "backend": backend,
            "label": label,
            "family": model.family,
            "rung": model.rung,
            "status": "ok",
            "started": f"2026-11-21T05:{(self.number // 60) % 60:02d}:{self.number % 60:02d}Z",
            "trial_s": 1.3,
            "errors": {},
            "redirects": 40,
            "digest": "d" * 64,
            "digest_expected": "d" * 64,
            "mechanism": {"threads_peak": 1, "loop": "epoll"},
            "kernel": {"ListenOverflows": 0},
            "host": HostNoise(
                probe_before_s=probe,
                probe_after_s=probe * self.jitter(0.5),
                steal_s=0.002,
                load1=1.2,
                mhz=None,
            ),
            "pinning": {"client": [0], "server": [1]},
            "seeds": {"site": 1},
        }
        values = dict.fromkeys(EMPTY) | values | more
        values["params"] = {"slots": 1, "delay": "none"} | values.get("params", {})
        values["statuses"] = {"200": values["pages"] or 0}
        if values["pages_per_s"]:
            values["elapsed_s"] = values["pages"] / values["pages_per_s"]
        return TrialRecord(**values)

    def closed(self, place: Place, point: str) -> TrialRecord:
        workload, _, size = point.rpartition("-")
        count, _, delay = size.removesuffix("ms").partition("x")
        slots = int(count)
        model = self.model(place[2])
        full = model.pages_per_s
        speed = model.at_one + (full - model.at_one) * (1 - math.exp(-(slots - 1) / 12))
        if slots >= 1000:
            speed *= 0.78 if model.family == "threads" and self.effects else 0.95
        if workload == "real":
            speed *= 0.12
        scale = 50 if workload == "waiting" else int(delay or 0)
        speed = 1 / (1 / speed + 0.0011 * scale / slots)
        speed *= self.jitter()
        pages = 2000 if workload != "waiting" else min(2000, 40 * slots)
        elapsed = pages / speed
        busy = pages / (full * (0.12 if workload == "real" else 1.0)) * self.jitter(0.5)
        middle = slots / speed
        times = self.rng.lognormal(math.log(middle), 0.28, self.samples)
        slow = self.rng.random(self.samples) < 0.004
        times[slow] *= self.rng.uniform(3, 9, int(slow.sum()))
        limiter: Limiter = "client"
        if scale >= 10 and slots <= 100:
            limiter = "schedule"
        elif speed > 0.42 * CEILING:
            limiter = "server"
        return self.trial(
            place,
            point,
            params={
                "slots": slots,
                "site": "tree:2000:10:2048",
                "delay": f"lognormal:{scale}" if scale else "none",
            },
            elapsed_s=elapsed,
            pages=pages,
            bytes=pages * 2048,
            pages_per_s=speed,
            cpu=Cpu(
                client_user_s=busy * (1 - model.system_share),
                client_system_s=busy * model.system_share,
                server_user_s=elapsed * 0.3,
                server_system_s=elapsed * 0.2,
            ),
            service_time=stats.encode_latency(times),
            ledger=parity(slots, int(pages * 1.05), int(pages * 1.2 / slots) + 1),
            shares=Shares(server_share=0.5, ceiling_share=speed / CEILING),
            limiter=limiter,
        )

    def held(self, place: Place, count: int) -> TrialRecord:
        model = self.model(place[2])
        fixed = int(model.fixed_mib * 1024 * KIB * self.jitter(0.2))

        def grow(kib: float) -> int:
            return int(kib * KIB * count * self.jitter(0.3))

        user, tables = grow(model.user_kib), grow(model.table_kib)
        stack, socket, other = grow(model.stack_kib), grow(4.6), grow(model.other_kib)
        server = grow(4.6)
        empty = MemoryParts(
            user_bytes=fixed,
            rss_bytes=fixed * 2,
            page_table_bytes=120 * KIB,
            kernel_stack_bytes=16 * KIB,
            kernel_socket_bytes=0,
            send_buffer_bytes=0,
            kernel_other_bytes=0,
            server_socket_bytes=0,
            threads=1,
            descriptors=9,
        )
        return self.trial(
            place,
            f"c10k-{count}",
            params={"connections": count, "slots": count, "site": "list:10000:512"},
            elapsed_s=1.0 + count / 5000,
            pages=count,
            pages_per_s=count / (1.0 + count / 5000),
            service_time=stats.encode_latency(self.rng.lognormal(0, 0.2, min(count, 500))),
            memory=Memory(
                connections=count,
                before=empty,
                held=altered(
                    empty,
                    user_bytes=fixed + user,
                    rss_bytes=fixed * 2 + user,
                    page_table_bytes=120 * KIB + tables,
                    kernel_stack_bytes=16 * KIB + stack,
                    kernel_socket_bytes=socket,
                    kernel_other_bytes=other,
                    server_socket_bytes=server,
                    descriptors=9 + count,
                ),
                machine_drop_bytes=int(
                    (user + tables + stack + socket + other + server) * self.jitter(2)
                ),
                sources={"user": "smaps_rollup Pss_Anon", "kernel_socket": "slabinfo"},
            ),
            ledger=parity(count, count, 1),
            limiter="schedule",
        )

    def open_loop(self, place: Place, rate: int) -> TrialRecord:
        model = self.model(place[2])
        top = 0.45 * model.pages_per_s * self.jitter()
        achieved = min(float(rate), top) * self.jitter(0.1)
        load = min(rate / top, 0.99)
        count = self.samples
        middle = 0.0008
        service = self.rng.lognormal(math.log(middle), 0.35, count)
        wait = self.rng.exponential(middle * load / (1 - load) * 0.5, count)
        if rate > top:
            wait = wait + np.linspace(0, (rate / top - 1) * 2.0, count)
        return self.trial(
            place,
            f"openloop-{rate}",
            params={"slots": 100, "rate": rate, "warmup": 200, "site": "list:10:512"},
            elapsed_s=2.0,
            pages=int(achieved * 2),
            pages_per_s=achieved,
            offered_per_s=float(rate),
            achieved_per_s=achieved,
            late_starts=int(load**8 * rate),
            service_time=stats.encode_latency(service),
            response_time=stats.encode_latency(service + wait),
            cpu=Cpu(client_user_s=1.0, client_system_s=0.6, server_user_s=0.3, server_system_s=0.2),
            limiter="client" if rate > top else "schedule",
        )

    def fair(self, place: Place, slots: int) -> TrialRecord:
        """Every slot takes about 50 ms per exchange; one in fifty threads takes much longer."""
        each = 25
        usual = np.full(slots, 0.05)
        if place[2] == "threads" and self.effects:
            usual[: slots // 50] *= 3
        times = self.rng.gamma(8, usual[:, None] / 8, (slots, each)).cumsum(axis=1)
        return self.trial(
            place,
            f"fairness-{slots}",
            params={"slots": slots, "site": "list:40000:2048", "recorder": "slots"},
            elapsed_s=float(times.max()),
            pages=slots * each,
            pages_per_s=slots * each / float(times.max()),
            fairness=fairness(np.repeat(np.arange(slots), each), times.ravel(), slots),
        )

    def cost(self, place: Place, kind: str) -> TrialRecord:
        speed = (
            self.model(place[2]).pages_per_s * (0.993 if kind == "times" else 1.0) * self.jitter()
        )
        return self.trial(
            place,
            f"cost-{kind}",
            params={"recorder": kind, "slots": 64, "site": "tree:2000:10:2048"},
            elapsed_s=2000 / speed,
            pages=2000,
            pages_per_s=speed,
        )


def campaign(
    *,
    backends: Sequence[str] = MODELS,
    blocks: int = 6,
    twin: str | None = "callbacks",
    base: str = "threads",
    workloads: Iterable[str] = CHARTED,
    ladder: Sequence[Rung] = (),
    noise: float = 0.02,
    drift: float = 0.04,
    effects: bool = True,
    seed: int = 1,
    samples: int = 2000,
    voids: int = 0,
    ended: bool = True,
    rates: Sequence[int] = (1000, 5000, 10_000, 20_000, 30_000, 40_000, 60_000),
) -> list[AnyRecord]:
    """Records of a campaign.

    ``effects=False`` makes every backend the same, so that no difference is
    true; ``voids`` turns that many trials void; ``drift`` is the spread of what
    a whole block shares (a slow minute of the machine).
    """
    make = Maker(seed, noise, effects, samples)
    labels = [*backends, *([twin_of(twin)] if twin else [])]
    sizes = SIZES | {"openloop": tuple(map(str, rates))}
    points = [f"{workload}-{size}" for workload in workloads for size in sizes.get(workload, ())]
    records: list[AnyRecord] = [
        CampaignRecord(
            campaign="20261121-051200-1a2b3c",
            created="2026-11-21T05:12:00Z",
            profile="quick",
            seed=seed,
            blocks=blocks,
            backends=list(backends),
            base=base,
            twin=twin,
            points=points,
            command=["python", "-m", "bench", "run"],
            environment=environment(),
            rungs=list(ladder),
        )
    ]
    trials: list[TrialRecord] = []
    sized = {"c10k": make.held, "openloop": make.open_loop, "fairness": make.fair}
    for block in range(blocks):
        shared = float(math.exp(make.rng.normal(0, drift)))
        records.append(
            CeilingRecord(
                block=block,
                tool="wrk 4.1.0",
                site="tree:2000:10:2048",
                connections=64,
                requests_per_s=CEILING * shared,
                server_cpu_share=0.99,
                client_cpu_share=0.7,
                errors=0,
                started="2026-11-21T05:12:30Z",
            )
        )
        for point in points:
            workload, _, size = point.rpartition("-")
            order = list(make.rng.permutation(len(labels)))
            for position, which in enumerate(order):
                label = labels[which]
                if workload in ("cost", "fairness") and "#" in label:
                    continue
                place = (block, position, label)
                if workload == "cost":
                    trial = make.cost(place, size)
                elif workload in sized:
                    trial = sized[workload](place, int(size))
                else:
                    trial = make.closed(place, point)
                    trial = altered(trial, pages_per_s=(trial.pages_per_s or 0.0) * shared)
                records.append(trial)
                trials.append(trial)
    for trial in trials[1 : 1 + 7 * voids : 7]:
        where = records.index(trial)
        records[where] = altered(trial, status="void", reason="digest differs from the site's")
    if ended:
        records.append(
            EndRecord(
                ended="2026-11-21T05:18:00Z",
                complete=True,
                reason=None,
                wall_s=330.0,
                trial_wall_s=262.0,
            )
        )
    return records


PLAIN: dict[str, str | bool | None] = {"compiler": "GCC 12.2.0", "pgo": False, "lto": False}
SILENT: dict[str, str | bool | None] = {"compiler": "GCC 16.2.0", "pgo": None, "lto": None}
INTERPRETERS = {
    "3.11.7": (PLAIN, 1.0),
    "3.12.1": (PLAIN, 1.0),
    "3.13.5t": (PLAIN, 1.5),
    "3.13.9": (SILENT, 0.8),
    "3.14.1": (SILENT, 0.6),
}
"""Name -> build, and the cost of a page and a connection relative to 3.11.7."""
AT_POINTS = ("throughput-100", "c10k-1000")


def across(**changes: Any) -> list[AnyRecord]:
    backends = on_each(MODELS, list(INTERPRETERS))
    twin = "callbacks@3.11.7"
    values: dict[str, Any] = {
        "workloads": ("throughput", "c10k"),
        "samples": 50,
        "twin": twin,
        "base": twin,
    }
    records = campaign(backends=backends, **(values | changes))
    return [_moved(r) for r in records if not isinstance(r, TrialRecord) or r.point in AT_POINTS]


def _moved(record: AnyRecord) -> AnyRecord:
    """The record adapted to its interpreter, with one point for each workload."""
    if isinstance(record, CampaignRecord):
        builds = [Interpreter(name=x, build=build) for x, (build, _) in INTERPRETERS.items()]
        missing = {"3.14t": "not found"}
        points = list(AT_POINTS)
        return altered(record, interpreters=builds, interpreters_missing=missing, points=points)
    if not isinstance(record, TrialRecord):
        return record
    name = Label.parse(record.backend).interpreter
    factor = INTERPRETERS[name][1]
    lock = {"gil": "disabled" if name.endswith("t") else "enabled"}
    jit = {"jit": "disabled"} if name == "3.14.1" else {}
    values: dict[str, Any] = {"mechanism": {**lock, **jit, "parser": "python"}}
    if record.cpu is not None:
        values["cpu__client_user_s"] = record.cpu.client_user_s * factor
        values["cpu__client_system_s"] = record.cpu.client_system_s * factor
    if record.memory is not None:
        before, held = record.memory.before.user_bytes or 0, record.memory.held.user_bytes or 0
        values["memory__held__user_bytes"] = before + int((held - before) * factor)
    return altered(record, **values)


AnyModel = TypeVar("AnyModel", bound=BaseModel)


def altered(record: AnyModel, **values: Any) -> AnyModel:
    """A copy with these values; ``a__b`` is ``b`` in what the field ``a`` holds."""
    update: dict[str, Any] = {}
    for path, value in values.items():
        name, _, rest = path.partition("__")
        if rest:
            inner = update.get(name, getattr(record, name))
            inside = isinstance(inner, BaseModel)
            value = altered(inner, **{rest: value}) if inside else {**inner, rest: value}
        update[name] = value
    if "pages" in update:  # what follows from others, as a record must have it
        update["statuses"] = {"200": update["pages"] or 0}
    pages, rate = (update.get(x, getattr(record, x, None)) for x in ("pages", "pages_per_s"))
    if rate and {"pages", "pages_per_s"} & update.keys():
        update["elapsed_s"] = pages / rate
    return record.model_copy(update=update)


def replaced(
    records: Iterable[AnyRecord], made: Callable[[TrialRecord], TrialRecord | Iterable[TrialRecord]]
) -> list[AnyRecord]:
    """The records, each trial replaced by what is made of it: one trial, none, or several."""
    found: list[AnyRecord] = []
    for record in records:
        new = made(record) if isinstance(record, TrialRecord) else [record]
        found += [new] if isinstance(new, TrialRecord) else new
    return found


def where(
    records: Iterable[AnyRecord], met: Callable[[TrialRecord], object], **values: Any
) -> list[AnyRecord]:
    """The records, with these values in trials that meet a condition; or functions of a trial."""

    def made(trial: TrialRecord) -> TrialRecord:
        own = {name: value(trial) if callable(value) else value for name, value in values.items()}
        return altered(trial, **own)

    return replaced(records, lambda trial: made(trial) if met(trial) else trial)


def in_turns(trial: TrialRecord, us: float, warm_s: float | None = WARM_S) -> TrialRecord:
    """The trial as if it had taken turns, at so many microseconds per exchange."""
    turns = Turns(
        turn_s=0.01,
        warm_s=warm_s,
        taken=60,
        counted=50,
        exchanges=1000,
        wall_s=0.5,
        cpu_s=us / 1000,
        server_cpu_s=0.1,
        steal_s=None,
        beside=[],
        spanned=0,
    )
    return trial.model_copy(update={"turns": turns})


def control(trial: TrialRecord, name: str, us: float) -> TrialRecord:
    taken = in_turns(trial, us)
    return altered(taken, kind="control", label=name, backend=name, family="control")


def extended(
    records: list[AnyRecord], points: Iterable[str], found: Iterable[AnyRecord], **head: Any
) -> list[AnyRecord]:
    """The records of a campaign with further trials, at further points."""
    first, *lines, end = records
    assert isinstance(first, CampaignRecord)
    assert isinstance(end, EndRecord)
    head["points"] = [*first.points, *points]
    return [first.model_copy(update=head), *lines, *found, end]


def gathered(lines: Iterable[AnyRecord]) -> Records:
    return sort_out(lines, Path("synthetic"))


_analysed: dict[int, tuple[Iterable[AnyRecord], Analysis]] = {}
"""The last of them, by the identity of the lines, which are kept with it."""


def analysed(lines: Iterable[AnyRecord]) -> Analysis:
    """The analysis of these lines; of a tuple, which nobody can change, the same one again."""
    if not isinstance(lines, tuple):
        return analysis_of(gathered(lines))
    if id(lines) not in _analysed:
        while len(_analysed) >= 8:
            _analysed.pop(next(iter(_analysed)))
        _analysed[id(lines)] = lines, analysis_of(gathered(lines))
    return _analysed[id(lines)][1]


def compared(
    records: Records, metric: stats.Metric = stats.PAGES_PER_S, base: str | None = None
) -> list[stats.Comparison]:
    """Every backend with the base, as a family of their own."""
    return stats.compare_pairs(records, stats.star(records, metric, base), metric)
