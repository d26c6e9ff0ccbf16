"""A fleet's ramp: connections and memory against time, up to the summit."""

from __future__ import annotations

from bench.fleet.charts import line
from bench.fleet.schema import FleetTrialRecord, told
from bench.fleet.store import FleetRecords
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.slide import EndLabel, Slide
from bench.text import GIB, count, listing, number

NAME = "fleet-ramp"
TITLE = "Connections and memory against time, up to the summit"


def summits(records: FleetRecords) -> dict[str, FleetTrialRecord]:
    """One valid trial per label, among the trials that held the most connections."""
    watched = [t for t in records.ok("hold") if t.opened_s is not None and len(t.samples) > 1]
    top = max((trial.connections for trial in watched), default=0)
    return {trial.label: trial for trial in watched if trial.connections == top}


def design(records: FleetRecords) -> Design | Skip:
    """Two panels against time: the connections held, and the memory they took."""
    trials = summits(records)
    if not trials:
        return Skip(NAME, TITLE, "no valid trial that held connections")
    top = max(trials.values(), key=lambda t: t.connections)
    finding = (
        f"{top.told}: {count(top.connections)} connections open at once, after {top.opened_s:.0f} s"
    )

    def draw(slide: Slide) -> None:
        names = [told(label) for label in trials]
        size = slide.label_size(len(names) * 2)
        room = slide.label_room(names, size)
        upper, lower = slide.panels(rows=2, right=room, sharex=True)
        held_ends: list[EndLabel] = []
        memory_ends: list[EndLabel] = []
        for label, trial in trials.items():
            xs = [sample.at_s for sample in trial.samples]
            ys = [float(sample.connections) for sample in trial.samples]
            held_ends.append(line(slide, upper, label, xs, ys))
            used = [
                (sample.at_s, max(sample.used_bytes, 0) / GIB)
                for sample in trial.samples
                if sample.used_bytes is not None
            ]
            if used:
                xs, ys = [x for x, _ in used], [y for _, y in used]
                memory_ends.append(line(slide, lower, label, xs, ys))
        held = [float(s.connections) for t in trials.values() for s in t.samples]
        gib = [max(s.used_bytes or 0, 0) / GIB for t in trials.values() for s in t.samples]
        value_axis(upper, [max(held)], words=number)
        value_axis(lower, [max(max(gib), 0.01)], words=number)
        lower.set_xlim(0, max(t.samples[-1].at_s for t in trials.values()) * 1.02)
        lower.set_xlabel("seconds since the start")
        upper.set_title("connections held, counted by the servers", color=slide.palette.muted)
        lower.set_title("additional memory of the machines, GiB", color=slide.palette.muted)
        slide.label_ends(upper, held_ends, size)
        slide.label_ends(lower, memory_ends, size)

    workers = listing([f"{trial.told} {trial.workers}" for trial in trials.values()])
    alt = "Two line charts against time. " + "; ".join(
        f"{t.told} held {count(t.connections)} connections after {t.opened_s:.1f} s"
        for t in trials.values()
    )
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle=f"The backends that held this many, with their workers: {workers}",
        alt=alt + ".",
        draw=draw,
        notes=("Memory of both ends: clients, servers and the kernel.",),
    )
